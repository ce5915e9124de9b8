"""Traces that attacks leave: processes, files, kernel objects; and the judge's state, which none
may change.
"""

import ctypes
import os
import resource
import shutil
import signal
import site
import sys
import tempfile
import time
from pathlib import Path

from proof import ROOT

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


def descendants() -> dict[int, str]:
    """Return the living processes below this one: pid to name."""
    names, children = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                head, _, rest = (
                    Path("/proc", entry, "stat")
                    .read_text(encoding="utf-8", errors="replace")
                    .rpartition(")")
                )
            except OSError:
                continue
            state, parent = rest.split()[:2]
            children.setdefault(int(parent), []).append(int(entry))
            if state not in "ZX":
                names[int(entry)] = head.partition("(")[2]
    found, unseen = {}, [os.getpid()]
    while unseen:
        for pid in children.get(unseen.pop(), []):
            unseen.append(pid)
            if pid in names:
                found[pid] = names[pid]
    return found


def processes(known: set[int], patience: float = 1.0) -> list[str]:
    """Return the unknown processes below this one, after giving them a moment to end."""
    deadline = time.monotonic() + patience
    while True:
        found = [
            f"process {pid} ({name})" for pid, name in descendants().items() if pid not in known
        ]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def files(mark: str, since: float, folder: Path) -> list[Path]:
    """Return the files with a mark in their name, or (small ones, changed recently) in their text,
    except those in `folder`, the submission's.
    """
    found = set()
    for place, depth in PLACES:
        for parent, folders, names in os.walk(place):
            below = parent[len(place) :].count(os.sep) + 1 if parent != place else 0
            folders[:] = [
                name
                for name in folders
                if below + 1 < depth
                and name not in SKIPPED
                and os.path.join(parent, name) != str(folder)
            ]
            for name in (*names, *folders):
                path = os.path.join(parent, name)
                if mark in name or (name in names and _mentions(path, mark, since)):
                    found.add(Path(path))
    return sorted(found)


def remove(paths: list[Path], mark: str) -> None:
    """Remove files with the mark in their name, so that a failure leaves nothing behind."""
    for path in paths:
        if mark in path.name:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _mentions(path, mark, since):
    try:
        status = os.lstat(path)
        if (
            max(status.st_mtime, status.st_ctime) < since - 1
            or status.st_size > SMALL
            or not os.path.isfile(path)
        ):
            return False
        return mark.encode() in Path(path).read_bytes()
    except OSError:
        return False


def key(mark: str) -> int:
    """Return the first of 20 keys that an attack may use in the kernel."""
    return int(mark[1:8], 16)


def queues(mark: str) -> list[str]:
    """Return and remove the remaining shared memory and message queues."""
    found, libc = [], ctypes.CDLL(None)
    for kind, remove in (
        ("shm", lambda id: libc.shmctl(id, 0, None)),
        ("msg", lambda id: libc.msgctl(id, 0, None)),
    ):
        try:
            rows = [
                line.split()
                for line in Path("/proc/sysvipc", kind).read_text(encoding="utf-8").splitlines()[1:]
            ]
        except OSError:
            continue
        for number, id in ((int(row[0]), int(row[1])) for row in rows):
            if key(mark) <= number < key(mark) + 20:
                remove(id)
                found.append(f"System V {kind}")
    # SYS_mq_unlink of x86-64: what can be removed was there.
    if sys.platform.startswith("linux") and ctypes.CDLL(None).syscall(241, mark.encode()) == 0:
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
        "processes": list(descendants()),
    }


def _open_files():
    opened = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            opened[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:  # the folder's own
            pass
    # matplotlib keeps fonts open, and closes them when it likes
    return {fd: path for fd, path in opened.items() if not path.endswith((".otf", ".ttf"))}
