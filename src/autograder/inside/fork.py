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
from .output import flush, redirect, tail

LOOK_SECONDS, FILES_SECONDS = 0.01, 0.2  # between checks of a fork's usage, and of its files
# On the memory limit of all processes together. The kernel enforces the limit for a single one.
TOLERANCE = 1.05
STACK_SECONDS, STACK_BYTES = 0.05, 20_000  # for faulthandler to write where a fork is, at a timeout
PRIVATE = ("/tmp", sandbox.SHARED_MEMORY)  # the writable folders in bubblewrap's namespace


class Server:
    """Serves one request at a time.

    Args:
        level: "bubblewrap", "landlock" or "limits".
        readable: what a fork may read besides Python and the system.
        channel: the descriptor that requests come from. If it becomes readable during a request,
            the judge is gone.
    """

    def __init__(self, level: str, readable: list[str], channel: int):
        self.level = level
        self.readable = [*sandbox.SYSTEM, *sandbox.HARDWARE, *sandbox.python_folders(), *readable]
        self.channel = channel
        # cleanup failed: this process should serve no more requests
        self.spoiled = False
        self.linux = sys.platform.startswith("linux")
        self.filter = (
            None if level == "limits" else sandbox.build_filter(unix_sockets=level == "bubblewrap")
        )
        self.user, self.killer = sandbox.free_users(2) if level == "landlock" else (None, None)
        if self.user is not None:
            os.chmod(tempfile.gettempdir(), 0o711)  # so that it can reach its scratch folder
        if self.linux:
            sandbox.prctl(sandbox.PR_SET_CHILD_SUBREAPER, 1)
            # a fork of the same user can neither trace us nor open our files in /proc
            sandbox.prctl(sandbox.PR_SET_DUMPABLE, 0)
        self.kept = _entries(PRIVATE) if level == "bubblewrap" else set()

    def serve(self, order: dict, request: bytearray) -> tuple[dict, bytes]:
        """Serve one request; returns how it ended and the message (empty if there is none).

        Args:
            order: the limits: seconds (see watch.Clock.over) and wall, in seconds; memory, disk
                and output in MiB; processes (including threads), files and disk_files, as counts;
                message_limit and output_limit in bytes.
            request: the message for execute(). Only the fork decodes it; here it is wiped, so that
                a later check's fork, which has a copy of our memory, cannot find it.
        """
        read_end, write_end = os.pipe()
        with tempfile.TemporaryFile() as output:
            scratch = tempfile.mkdtemp()
            if self.user is not None:
                os.chown(scratch, self.user, self.user)
            self.own_memory, _ = watch.usage([os.getpid()])
            pid = os.fork()
            if pid == 0:
                self._run(order, request, write_end, output.fileno(), scratch)
            self.clock = watch.Clock()
            request[:] = bytes(len(request))
            os.close(write_end)
            with open(read_end, "rb", buffering=0) as answer:
                ended, message = self._wait(pid, answer, output.fileno(), scratch, order)
            self._clean(scratch)
            if ended["ended"] == "judge gone":
                os._exit(1)
            return {**ended, "output": tail(output, order["output_limit"])}, message

    # In the fork

    def _run(self, order, request, write_end, output, scratch):
        """Everything that happens in the fork; never returns."""
        code = 1
        try:
            os.setsid()
            redirect(output)
            faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)  # see _wait
            # Leave neither the judge's channel nor anything else open to the submission.
            os.closerange(3, write_end)
            os.closerange(write_end + 1, os.sysconf("SC_OPEN_MAX"))
            self.enter(order, scratch)
            message = execute(wire.decode(request), order["message_limit"])
            flush()
            with open(write_end, "wb") as stream:
                stream.write(message)
            code = 0
        except sandbox.SandboxError as error:
            print(error, file=sys.stderr, flush=True)
            code = 3
        finally:
            os._exit(code)

    def enter(self, limits: dict, scratch: str) -> None:
        """Apply the limits and the sandbox to this process, and make `scratch` its working
        directory.
        """
        self._limit(limits)
        os.chdir(scratch)
        os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = scratch
        if self.user is not None:
            sandbox.become(self.user)
            sandbox.restrict_files(self.readable, [scratch])
        if self.linux:
            sandbox.prctl(sandbox.PR_SET_PDEATHSIG, signal.SIGKILL)
            sandbox.prctl(sandbox.PR_SET_DUMPABLE, 1)  # subprocess reads its own /proc/self
        if self.filter is not None:
            self.filter.load()

    def _limit(self, limits):
        """Set the limits that the kernel enforces per process (fewer on macOS)."""
        import resource

        with contextlib.suppress(OSError, StopIteration):  # /proc is Linux
            with open("/proc/self/status", encoding="utf-8") as status:
                used = next(
                    int(line.split()[1]) << 10 for line in status if line.startswith("VmData")
                )
            _set_limit(resource.RLIMIT_DATA, used + (limits["memory"] << 20))
        _set_limit(resource.RLIMIT_CPU, 2 * int(limits["seconds"]) + 4)
        _set_limit(resource.RLIMIT_FSIZE, limits["disk"] << 20)
        _set_limit(resource.RLIMIT_NOFILE, limits["files"])
        _set_limit(resource.RLIMIT_CORE, 0)
        if self.user is not None:  # it counts all processes of the user, which are all ours
            _set_limit(resource.RLIMIT_NPROC, limits["processes"])

    # In the server

    def _wait(self, pid, answer, output, scratch, limits):
        """Read what the fork writes until it ends, then kill any processes that it left."""
        chunks, size, status, why = [], 0, None, "answered"
        next_look, next_files = time.monotonic() + LOOK_SECONDS, time.monotonic() + FILES_SECONDS
        while True:
            now = time.monotonic()
            if now > next_look:
                if broken := self._broken(limits, output, scratch if now > next_files else None):
                    why = broken
                    break
                next_look, next_files = (
                    time.monotonic() + LOOK_SECONDS,
                    now + FILES_SECONDS if now > next_files else next_files,
                )
            # A descendant may hold the pipe open after the fork has ended, so wait for both.
            patience = LOOK_SECONDS if status is None else 0
            ready = select.select([answer, self.channel], [], [], patience)[0]
            if self.channel in ready:
                why = "judge gone"
                break
            if answer in ready:
                chunk = answer.read(1 << 20)
                if not chunk:
                    break
                chunks.append(chunk)
                size += len(chunk)
                if size > limits["message_limit"] + 1024:
                    why = "too large"
                    break
            elif status is not None:
                break
            if status is None:
                status = _reap(pid, os.WNOHANG)
        while why == "answered" and status is None:  # it has closed the pipe and should exit soon
            status = _reap(pid, os.WNOHANG)
            if status is None and (broken := self._broken(limits, output, None)):
                why = broken
            elif select.select([self.channel], [], [], 0.0005 if status is None else 0)[0]:
                why = "judge gone"
        if why == "answered":  # it may have been too quick for the periodic check
            why = self._broken(limits, output, None) or why
        printed = os.fstat(output).st_size
        with contextlib.suppress(OSError):
            if why == "timeout" and status is None:  # it prints where it is
                os.kill(pid, signal.SIGUSR1)
                time.sleep(STACK_SECONDS)
            os.killpg(pid, signal.SIGKILL)
        if status is None:
            status = _reap(pid, 0)
        if not watch.end_all(lambda: self._signal_others(signal.SIGKILL)):
            self.spoiled = True
        if why == "answered" and status != 0:
            why = "died"
        code = os.waitstatus_to_exitcode(status)
        if why == "died" and code == -signal.SIGXCPU:
            why = "timeout"
        stack = os.pread(output, STACK_BYTES, printed).decode("utf-8", "replace")
        os.ftruncate(output, printed)
        ended = {"ended": why, "code": code, "stack": stack, **self.clock.times}
        return ended, b"".join(chunks) if why == "answered" else b""

    def _broken(self, limits, output, scratch):
        """The limit that the fork's processes together have exceeded, or None; the folder `scratch`
        is measured if given.
        """
        pids, files = watch.descendants(), 0
        self.clock.look(pids)
        if self.clock.over(limits["seconds"], limits["wall"]):
            return "timeout"
        if self.level == "bubblewrap":
            files = _used(sandbox.SHARED_MEMORY)
        elif self.user is not None:
            files = watch.shared_memory(sandbox.SHARED_MEMORY, self.user)
        # the forks share our memory with us
        most = TOLERANCE * (limits["memory"] << 20) + self.own_memory - files
        memory, tasks = watch.usage(pids)
        if tasks > limits["processes"]:
            return "processes"
        if os.fstat(output).st_size > limits["output"] << 20:
            return "output"
        if memory <= most:
            return self._broken_by_files(limits, scratch, pids, most - memory)
        # The bound may be far too high. An exact measurement takes milliseconds per process, in
        # which many processes could allocate gigabytes, so they are stopped meanwhile.
        self._signal_others(signal.SIGSTOP)
        pids = watch.descendants()
        with sandbox.acting_as(self.user):
            memory = watch.exact_memory([os.getpid(), *pids])
        broken = (
            "memory"
            if memory > most
            else self._broken_by_files(limits, scratch, pids, most - memory)
        )
        if broken is None:  # otherwise they are killed while stopped
            self._signal_others(signal.SIGCONT)
        return broken

    def _broken_by_files(self, limits, scratch, pids, most_buffers):
        """As _broken, for files, and for sockets and pipes, which may hold `most_buffers` bytes."""
        if scratch is None:
            return None
        folders = PRIVATE if self.level == "bubblewrap" else [scratch]
        size, files = watch.folder_usage(folders, limits["disk_files"])
        with sandbox.acting_as(self.user):
            nameless, buffers = watch.open_files(pids)
        if buffers > most_buffers:
            return "memory"
        if self.level != "bubblewrap":  # its file systems have a size limit of their own
            size += nameless
        return "disk" if size > limits["disk"] << 20 or files > limits["disk_files"] else None

    def _signal_others(self, number):
        """Signal all processes of the fork at once, where that is possible without hitting
        others.
        """
        if self.level == "bubblewrap":
            with contextlib.suppress(OSError):
                os.kill(-1, number)  # all in this namespace but its first process and ourselves
        elif self.user is not None:
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(OSError):
                    # It may signal that user's processes, but they may not signal it.
                    os.setresuid(self.killer, self.user, self.killer)
                    os.kill(-1, number)
                os._exit(0)
            os.waitpid(pid, 0)

    def _clean(self, scratch):
        """Remove what the fork wrote."""
        _remove(scratch)
        if self.level == "bubblewrap":
            left = _entries(PRIVATE) - self.kept
            _remove(*(path for path in left if os.path.dirname(path) not in left))
            self.spoiled = self.spoiled or bool(_entries(PRIVATE) - self.kept)
        elif self.user is not None:
            with os.scandir(sandbox.SHARED_MEMORY) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        if entry.stat(follow_symlinks=False).st_uid == self.user:
                            os.unlink(entry.path)
        self.spoiled = self.spoiled or os.path.lexists(scratch)


def _set_limit(kind, value):
    import resource

    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _reap(pid, flags):
    """The wait status of a child that has ended, else None."""
    done, status = os.waitpid(pid, flags)
    return status if done else None


def _used(folder):
    """Bytes used on the file system of a folder."""
    status = os.statvfs(folder)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def _entries(folders):
    """All paths beneath folders that are on the same file system: neither mounted folders nor their
    contents.
    """
    found = set()
    for folder in folders:
        device, waiting = os.stat(folder).st_dev, [folder]
        while waiting:
            with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):
                        if entry.stat(follow_symlinks=False).st_dev == device:
                            found.add(entry.path)
                            if entry.is_dir(follow_symlinks=False):
                                waiting.append(entry.path)
    return found


def _remove(*paths):
    """Remove files and folders, however deep, even if their owner may not write to them.
    (shutil.rmtree recurses, and fails at a depth that a submission can reach.)
    """
    for path in paths:
        with contextlib.suppress(OSError):
            os.rmdir(path)  # usually it is an empty folder
    for command in (["rm", "-rf"], ["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        if left := [path for path in paths if os.path.lexists(path)]:
            subprocess.run(
                [*command, "--", *left], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
            )
