"""A Python that finds this on its path lacks what Windows lacks, and refuses what Windows refuses, as
far as another system can play it: functions, modules, signals, /proc, waiting for pipes, removing
and renaming what is open. Its children find it, too. Not run on Windows itself.
"""

import enum
import errno
import io
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# what chooses by the system when it is imported, or needs what is removed below
import asyncio  # noqa: E402, F401
import multiprocessing.popen_fork  # noqa: E402
import multiprocessing.popen_spawn_posix  # noqa: E402, F401
import multiprocessing.resource_tracker  # noqa: E402
import select  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import stat  # noqa: E402
import subprocess  # noqa: E402
import sysconfig  # noqa: E402
import threading  # noqa: E402

import pytest  # noqa: E402, F401
import torch  # noqa: E402, F401

KILL = signal.SIGKILL
FUNCTIONS = """fork forkpty register_at_fork posix_spawn posix_spawnp killpg setsid getsid setpgid
getpgid getpgrp tcgetpgrp wait wait3 wait4 waitid getuid geteuid getgid getegid getgroups getresuid
getresgid setuid seteuid setgid setegid setgroups setresuid setresgid initgroups chown fchown lchown
fchmod sched_getaffinity sched_setaffinity sysconf getloadavg mkfifo mknod pipe2
pread pwrite sendfile uname nice getpriority setpriority chroot""".split()
FLAGS = "O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_PATH O_DIRECTORY O_SYNC".split()
MODULES = "fcntl resource pwd grp termios tty pty syslog pyseccomp".split()
SIGNALS = "SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM".split()
WAITING = "alarm setitimer getitimer pause pthread_kill pthread_sigmask sigwait sigpending".split()
HIDDEN = ("/proc", "/sys", "/dev/shm")
REFUSED_IN_NAMES = set('<>:"|?*')
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def remove(module, names):
    """Take names out of a module."""
    for name in names:
        if hasattr(module, name):
            delattr(module, name)


def wait_for_sockets(*lists):
    """As select.select, which on Windows takes nothing but sockets."""
    for file in sum(map(list, lists[:3]), []):
        number = file if isinstance(file, int) else file.fileno()
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            raise OSError(10038, "An operation was attempted on something that is not a socket")
    return select_any(*lists)


class Popen(subprocess.Popen):
    """As on Windows: start_new_session is ignored, the functions of POSIX are refused, and the only
    signals are the end and Ctrl-C, which reaches all who share the console.
    """

    def __init__(self, *args, preexec_fn=None, pass_fds=(), start_new_session=False, **options):
        if preexec_fn or pass_fds:
            raise ValueError("preexec_fn and pass_fds are not supported on Windows")
        environment = dict(os.environ if options.get("env") is None else options["env"])
        options["env"] = {**environment, "PYTHONPATH": HERE}
        super().__init__(*args, **options)

    def send_signal(self, sig):
        """Signal 0 is CTRL_C_EVENT there."""
        if self.poll() is None and sig == 0:
            os.kill(os.getpid(), signal.SIGINT)
        elif self.poll() is None and sig != signal.SIGTERM:
            raise ValueError(f"Unsupported signal: {sig}")
        else:
            self.kill()

    def kill(self):
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, KILL)

    terminate = kill


class Console(io.FileIO):
    """As Python's stream for a console, which fails once its descriptor is something else's."""

    def write(self, data):
        """Write to the console."""
        if not os.isatty(self.fileno()):
            raise OSError(6, "The handle is invalid")
        return super().write(data)


def users(path):
    """Processes that have a file open, or are in a folder."""
    try:
        wanted = os.stat(path, follow_symlinks=False)
        processes = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for process in processes:
        try:
            files = [] if stat.S_ISDIR(wanted.st_mode) else os.listdir(f"/proc/{process}/fd")
        except OSError:
            continue
        for link in (f"/proc/{process}/cwd", *(f"/proc/{process}/fd/{name}" for name in files)):
            try:
                if os.path.samestat(os.stat(link), wanted):
                    yield process
            except OSError:
                pass


def refuse(event, arguments):
    """An audit hook: raise what Windows would."""
    if getattr(looking, "now", False):
        return
    if event == "import" and arguments[0] in ("common", "inside"):  # Python has chosen its own ways
        sys.platform = "win32"
    if event in ("open", "os.listdir", "os.scandir"):
        path = arguments[0]
        path = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else ""
        if path.startswith(HIDDEN):
            raise FileNotFoundError(errno.ENOENT, "not on Windows", path)
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
            if REFUSED_IN_NAMES & set(os.path.basename(path)):
                raise OSError(errno.EINVAL, "a name that Windows does not allow", path)
    elif event in ("os.remove", "os.rename", "os.rmdir"):
        if sys._getframe(1).f_code.co_name in (
            "opener",
            "TemporaryFile",
        ):  # nameless: tempfile's own
            return
        looking.now = True
        try:
            for path in arguments[: 2 if event == "os.rename" else 1]:
                there = os.path.lexists(path)
                if there and event == "os.remove" and not os.lstat(path).st_mode & 0o200:
                    raise PermissionError(errno.EACCES, "a read-only file", path)
                if there and (process := next(users(path), None)):
                    who = "this process" if process == str(os.getpid()) else "another process"
                    raise PermissionError(errno.EACCES, f"{who} is using the file", path)
        finally:
            looking.now = False


sysconfig.get_config_vars()
looking = threading.local()
remove(os, FUNCTIONS + FLAGS)
remove(
    signal,
    [
        name
        for name in dir(signal)
        if name.startswith("SIG") and "_" not in name and name not in SIGNALS
    ]
    + WAITING,
)
signal.Signals = enum.IntEnum("Signals", {name: int(getattr(signal, name)) for name in SIGNALS})
multiprocessing.resource_tracker._HAVE_SIGMASK = False
multiprocessing.popen_fork.Popen.kill = lambda self: self._send_signal(KILL)
multiprocessing.popen_fork.Popen.terminate = multiprocessing.popen_fork.Popen.kill
select_any, select.select = select.select, wait_for_sockets
remove(select, ["poll", "epoll"])
subprocess.Popen = Popen
shutil._use_fd_functions = shutil._USE_CP_SENDFILE = False
for name in ("stdout", "stderr"):
    if (stream := getattr(sys, name)) is not None and stream.isatty():
        raw = io.BufferedWriter(Console(stream.fileno(), "w", closefd=False))
        setattr(sys, name, io.TextIOWrapper(raw, "utf-8", write_through=True))
for name in MODULES:
    sys.modules[name] = None
sys.addaudithook(refuse)
