"""Serve requests in forks: each starts in milliseconds, is watched, and leaves nothing behind."""

import contextlib
import faulthandler
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

from . import sandbox, watch, wire
from .execute import execute
from .output import flush, redirect

LOOK_SECONDS = 0.05  # between two looks at what a fork uses
STACK_SECONDS = 0.05  # for faulthandler to write where a fork is, at a timeout
PRIVATE = ("/tmp", sandbox.SHARED_MEMORY)  # the writable folders in bubblewrap's namespace


class Server:
    """Serves one request at a time; create it when the modules are imported.

    Args:
        level: "bubblewrap", "landlock" or "limits".
        readable: what a fork may read besides Python and the system.
        channel: the descriptor that requests come from. If it becomes readable during a request,
            the judge is gone.

    Attributes:
        spoiled: something of a fork is left, so this process should serve no more requests.
    """

    def __init__(self, level: str, readable: list[str], channel: int):
        if level != "limits" and not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            raise sandbox.SandboxError(
                "what a submission's processes use cannot be measured: this kernel has no "
                "/proc/PID/task/TID/children"
            )
        self.level = level
        self.readable = [*sandbox.SYSTEM, *sandbox.HARDWARE, *sandbox.python_folders(), *readable]
        self.channel = channel
        self.spoiled = False
        self.filter = (
            None if level == "limits" else sandbox.build_filter(unix_sockets=level == "bubblewrap")
        )
        self.user, self.killer = sandbox.free_users(2) if level == "landlock" else (None, None)
        if self.user is not None:
            os.chmod(tempfile.gettempdir(), 0o711)  # so that it can reach its scratch folder
        if sys.platform.startswith("linux"):
            sandbox.prctl(sandbox.PR_SET_CHILD_SUBREAPER, 1)
            # a fork of the same user can neither trace us nor open our files in /proc
            sandbox.prctl(sandbox.PR_SET_DUMPABLE, 0)
        if level == "bubblewrap":  # imports have left folders, in which a fork could leave a note
            for folder in PRIVATE:
                device = os.stat(folder).st_dev  # what is mounted there stays, and is read-only
                _remove(*(entry.path for entry in os.scandir(folder) if _device(entry) == device))
        self.kept = self._state()
        # A child's end interrupts our waiting by a byte in this pipe.
        self.wake, write_end = os.pipe()
        for end in (self.wake, write_end):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the judge

    def serve(self, limits: dict, request, message, output, stack) -> dict:
        """Serve one request; returns how it ended, as process.Reply says.

        Args:
            limits: seconds of CPU time and of wall time (clock); memory, disk and output in MiB;
                processes (including threads), files and disk_files, as counts; message_limit in
                bytes.
            request, message, output, stack: files: the message for execute(), its answer, what is
                printed, and where the code is at a timeout.
        """
        scratch = tempfile.mkdtemp()
        if self.user is not None:
            os.chown(scratch, self.user, self.user)
        folders = PRIVATE if self.level == "bubblewrap" else [scratch]
        watched = watch.Watched(limits, self.level, self.user, folders, output.fileno())
        pid = os.fork()
        if pid == 0:
            self._run(limits, request, message, output, stack, scratch)
        broken, status = self._wait(pid, watched)
        if status is None:
            with contextlib.suppress(OSError):
                if broken == "timeout":  # it writes where it is
                    os.kill(pid, signal.SIGUSR1)
                    time.sleep(STACK_SECONDS)
                os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
        if not watch.end_all(self._kill_others):
            self.spoiled = True
        self._clean(scratch)
        if broken == "judge gone":
            os._exit(1)
        code = os.waitstatus_to_exitcode(status)
        if not broken and message.seek(0, os.SEEK_END) > limits["message_limit"] + 1024:
            broken = "too large"  # it wrote there itself
        ended = broken or ("answered" if code == 0 else "died")
        if ended != "answered":
            message.truncate(0)
        return {"ended": ended, "code": code, "seconds": watched.seconds, "cpu": watched.cpu}

    # In the fork

    def _run(self, limits, request, message, output, stack, scratch):
        """Everything that happens in the fork; never returns."""
        code = 1
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            redirect(output.fileno())
            faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
            request.seek(0)
            content = request.read()
            # Leave neither the judge's channel nor anything else open to the submission.
            kept = sorted({2, message.fileno(), stack.fileno()})
            for fd, following in zip(kept, [*kept[1:], os.sysconf("SC_OPEN_MAX")]):
                os.closerange(fd + 1, following)
            self._enter(limits, scratch)
            answer = execute(wire.decode(content), limits["message_limit"])
            flush()
            message.write(answer)
            code = 0
        except sandbox.SandboxError as error:
            print(error, file=sys.stderr, flush=True)
            code = 3
        finally:
            os._exit(code)

    def _enter(self, limits, scratch):
        """Apply the limits and the sandbox to this process, and make `scratch` its working
        directory.
        """
        self._limit(limits)
        os.chdir(scratch)
        os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = scratch
        if self.user is not None:
            sandbox.become(self.user)
            sandbox.restrict_files(self.readable, [scratch])
        if sys.platform.startswith("linux"):
            sandbox.prctl(sandbox.PR_SET_PDEATHSIG, signal.SIGKILL)
            sandbox.prctl(sandbox.PR_SET_DUMPABLE, 1)  # subprocess reads its own /proc/self
        if self.filter is not None:
            self.filter.load()

    def _limit(self, limits):
        """Set the limits that the kernel enforces per process (fewer on macOS)."""
        import resource

        def limit(kind, value):
            with contextlib.suppress(OSError, ValueError):
                hard = resource.getrlimit(kind)[1]
                value = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.setrlimit(kind, (value, value))

        if used := watch.fields("/proc/self/status", ["VmData"]):
            limit(resource.RLIMIT_DATA, (used["VmData"] << 10) + (limits["memory"] << 20))
        limit(resource.RLIMIT_FSIZE, limits["disk"] << 20)
        limit(resource.RLIMIT_NOFILE, limits["files"])
        limit(resource.RLIMIT_CORE, 0)
        if self.user is not None:  # it counts all processes of the user, which are all ours
            limit(resource.RLIMIT_NPROC, limits["processes"])

    # In the server

    def _wait(self, pid, watched):
        """Wait until the fork ends or breaks a limit: (the limit, or None; its status, or None)."""
        next_look, status = 0.0, None
        while True:
            if self.channel in select.select([self.channel, self.wake], [], [], LOOK_SECONDS)[0]:
                return "judge gone", None
            with contextlib.suppress(BlockingIOError):
                os.read(self.wake, 4096)
            while status is None and (child := os.waitpid(-1, os.WNOHANG))[0]:  # orphans, too
                status = child[1] if child[0] == pid else None
            # at its end, too: it may have been quick
            ended = status is not None
            if ended or time.monotonic() > next_look:
                if (broken := watched.broken(ended)) or ended:
                    return broken, status
                next_look = time.monotonic() + LOOK_SECONDS

    def _kill_others(self):
        """Kill all processes of the fork at once, where that is possible without hitting others."""
        if self.level == "bubblewrap":
            with contextlib.suppress(OSError):
                os.kill(-1, signal.SIGKILL)  # all in this namespace but its first and ourselves
        elif self.user is not None:
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(OSError):
                    # It may signal that user's processes, but they may not signal it.
                    os.setresuid(self.killer, self.user, self.killer)
                    os.kill(-1, signal.SIGKILL)
                os._exit(0)
            os.waitpid(pid, 0)

    def _clean(self, scratch):
        """Remove what the fork wrote; if anything is left, this process is spoiled."""
        _remove(scratch)
        if self.user is not None:
            for path in watch.files_of(self.user):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        self.spoiled |= os.path.lexists(scratch) or self._state() != self.kept

    def _state(self):
        """What a fork may change for those that come later: in bubblewrap's private folders, which
        belong to its user, and of this process, which is of the same user.
        """
        if self.level != "bubblewrap":
            return None
        folders = [(os.listdir(f), os.stat(f).st_mode, os.listxattr(f)) for f in PRIVATE]
        return folders, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)


def _device(entry):
    return entry.stat(follow_symlinks=False).st_dev


def _remove(*paths):
    """Remove files and folders, even if their owner may not write to them, and however deep:
    shutil.rmtree recurses, and fails at a depth that a submission can reach.
    """
    for path in paths:
        with contextlib.suppress(OSError):
            os.rmdir(path)  # usually it is an empty folder
        for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            if os.path.lexists(path):
                subprocess.run([*command, "--", path], stderr=subprocess.DEVNULL)
