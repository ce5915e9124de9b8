"""Traces that attacks leave: processes, files, kernel objects; and the judge's state, which none
may change.
"""

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import site
import sys
import tempfile
from pathlib import Path

from proof import ROOT

from helpers import command_of, descendants, is_running, wait_until

PR_SET_CHILD_SUBREAPER = 36
SMALL = 64 << 10  # bytes of a file that is read through

# Where a submission might leave a file, and how many folders deep to look.
PLACES = [
    (tempfile.gettempdir(), 3),
    ("/dev/shm", 3),
    ("/var/tmp", 3),
    ("/run", 2),
    ("/etc", 2),
    ("/usr/local", 2),
    ("/", 1),
    (str(Path.home()), 2),
    (os.getcwd(), 2),
    (str(ROOT), 9),
    *((folder, 2) for folder in site.getsitepackages()),
]
SKIPPED = {"proc", "sys", "objects", "__pycache__", ".venv"}


def adopt_orphans() -> None:
    """Make this process the parent of orphans below it, so that none escapes."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def processes(known: set[int]) -> list[str]:
    """Return the unknown processes below this one, after giving them a moment to end."""

    def unknown():
        return [pid for pid in {*descendants()} - known if is_running(pid)]

    with contextlib.suppress(AssertionError):
        wait_until(lambda: not unknown(), 5)
    return [f"process {pid} ({command_of(pid)})" for pid in unknown()]


def files(mark: str, since: float, folder: Path) -> list[Path]:
    """Return the files with a mark in their name, or (small ones, changed recently) in their text,
    except those in `folder`, the submission's.
    """
    paths = (path for place, depth in PLACES for path in _below(place, depth, folder))
    return sorted({path for path in paths if mark in path.name or _mentions(path, mark, since)})


def _below(place, depth, left_out):
    """All paths below a folder, so deep."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            path = Path(entry.path)
            if path != left_out:
                yield path
                deeper = depth > 1 and entry.is_dir(follow_symlinks=False)
                if deeper and entry.name not in SKIPPED:
                    yield from _below(path, depth - 1, left_out)


def remove(paths: list[Path], mark: str) -> None:
    """Remove files with the mark in their name, so that a failure leaves nothing behind."""
    for path in paths:
        if mark in path.name:
            shutil.rmtree(path, ignore_errors=True)  # only folders
            with contextlib.suppress(OSError):
                path.unlink()


def _mentions(path, mark, since):
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        new = max(status.st_mtime, status.st_ctime) >= since - 1
        if new and status.st_size <= SMALL and os.path.isfile(path):
            return mark.encode() in Path(path).read_bytes()
    return False


def key(mark: str) -> int:
    """Return the first of 20 keys that an attack may use in the kernel."""
    return int(mark[1:8], 16)


def queues(mark: str) -> list[str]:
    """Return and remove the remaining shared memory and message queues."""
    found, libc = [], ctypes.CDLL(None)
    for kind, remove in (("shm", libc.shmctl), ("msg", libc.msgctl)):
        table = Path("/proc/sysvipc", kind).read_text(encoding="utf-8").splitlines()[1:]
        for number, id in (map(int, row.split()[:2]) for row in table):
            if key(mark) <= number < key(mark) + 20:
                remove(id, 0, None)
                found.append(f"System V {kind}")
    # SYS_mq_unlink of x86-64: what can be removed was there
    if libc.syscall(241, mark.encode()) == 0:
        found.append("message queue")
    return found


def judge() -> dict:
    """Return the state of this process and those below it that no attack may change."""
    with open("/proc/self/oom_score_adj", encoding="utf-8") as file:
        score = file.read()
    # values may be secret
    environment = {
        name: hash(value) for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"
    }
    return {
        "environment": environment,
        "folder": os.getcwd(),
        "signal mask": signal.pthread_sigmask(signal.SIG_BLOCK, []),
        "handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "processors": os.sched_getaffinity(0),
        "oom_score_adj": score,
        "open files": _open_files(),
        "modules": sorted(name for name in sys.modules if name.split(".")[0] == "submission"),
        "limits": {
            name: resource.getrlimit(getattr(resource, name))
            for name in dir(resource)
            if name.startswith("RLIMIT_")
        },
    }


def _open_files():
    opened = {}
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the folder's own
            opened[fd] = os.readlink(f"/proc/self/fd/{fd}").partition(":[")[0]  # pipes are alike
    # matplotlib keeps fonts open, and closes them when it likes
    return {fd: path for fd, path in opened.items() if not path.endswith((".otf", ".ttf"))}
