"""Measure and end a check's processes, through Linux's /proc. On other systems only the time by the
clock, what is printed, and the files in the scratch folder are measured.
"""

import contextlib
import os
import signal
import stat
import time

from . import sandbox

# In KiB, in /proc/PID/status and smaps_rollup, where a page of n processes counts 1/n in each.
# Mapped files are not among them.
MEMORY = ("RssAnon", "RssShmem", "VmSwap", "VmPTE")
SHARES = ("Pss_Anon", "Pss_Shmem", "SwapPss")
TOLERANCE = 1.05  # on the memory of all processes together; the kernel limits a single one
FILES_SECONDS = 0.2  # between two looks at the files
LONG_PATH = 3000  # characters; the system allows at most 4095


class Watched:
    """A fork that is about to start and its descendants, beside their limits.

    Args:
        limits, level, user: see fork.Server.
        folders: those that it may write to.
        output: the descriptor of the file with what it prints.

    Attributes:
        seconds, cpu: up to the last look, of wall time and of CPU time.
    """

    def __init__(self, limits: dict, level: str, user: int | None, folders: list[str], output: int):
        self.limits = limits
        self.level = level
        self.user = user
        self.folders = folders
        self.output = output
        self.seconds = self.cpu = 0.0
        self.times = {}  # CPU seconds of each process that was seen, without its children
        self.started, self.ended = time.monotonic(), _cpu_of_ended()
        self.next_files = self.started + FILES_SECONDS
        self.before = _used(folders) if level == "bubblewrap" else (0, 0)
        self.own = _resident(os.getpid())  # each fork begins with our memory

    def broken(self, ended: bool) -> str | None:
        """The limit that they exceed together: timeout, processes, memory, output or disk.

        Args:
            ended: the fork has ended, so this is the last look.
        """
        limits, pids = self.limits, descendants()
        self.seconds = time.monotonic() - self.started
        # A child whose parent ignores its end takes its time with it, so what was seen counts, too.
        found = [cpu for cpu in map(_cpu_of, pids) if cpu]
        self.times |= {process: own for process, own, _ in found}
        now = sum(own + ended for _, own, ended in found)
        self.cpu = max(self.cpu, now + _cpu_of_ended() - self.ended, sum(self.times.values()))
        if self.cpu > limits["seconds"] or self.seconds > limits["clock"]:
            return "timeout"
        if sum(_threads(pid) for pid in pids) > limits["processes"]:
            return "processes"
        if self._memory(pids) > TOLERANCE * (limits["memory"] << 20) + self.own:
            return "memory"
        if os.fstat(self.output).st_size > limits["output"] << 20:
            return "output"
        if ended or time.monotonic() > self.next_files:
            size, files = self._files(pids)
            self.next_files = time.monotonic() + FILES_SECONDS
            if size > limits["disk"] << 20 or files > limits["disk_files"]:
                return "disk"
        return None

    def _memory(self, pids):
        """Bytes: those of one process; of several, together with ours, each page once."""
        if len(pids) < 2:
            return sum(map(_resident, pids))
        with sandbox.acting_as(self.user):
            return memory_of([os.getpid(), *pids])

    def _files(self, pids):
        """Bytes and number of files."""
        if self.level == "bubblewrap":  # its folders are file systems of their own
            size, files = _used(self.folders)
            return size - self.before[0], files - self.before[1]
        size, files = _content(self.folders, self.limits["disk_files"])
        for path in files_of(self.user):
            with contextlib.suppress(OSError):
                size, files = size + os.stat(path).st_blocks * 512, files + 1
        with sandbox.acting_as(self.user):
            return size + _nameless(pids), files


def descendants(root: int | None = None) -> list[int]:
    """The direct and indirect child processes of `root` (this process by default); for a subreaper,
    also those whose parents have ended.
    """
    found, waiting = [], [os.getpid() if root is None else root]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):  # it has ended in the meantime; or there is no /proc
            for task in os.listdir(f"/proc/{pid}/task"):
                with (
                    contextlib.suppress(OSError),
                    open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as children,
                ):
                    new = [int(child) for child in children.read().split()]
                    found += new
                    waiting += new
    return found


def fields(path: str, names: tuple[str, ...]) -> dict[str, int]:
    """The numbers in a /proc file with lines NAME: NUMBER; none if the process has ended or the
    file is not readable.
    """
    found = {}
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name in names:
                found[name] = int(value.split()[0])
    return found


def _threads(pid):
    return fields(f"/proc/{pid}/status", ("Threads",)).get("Threads", 0)


def _resident(pid):
    """Bytes of a process's memory."""
    found = fields(f"/proc/{pid}/status", MEMORY)
    if "RssAnon" not in found:  # its first thread has ended, but others may be running
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                found = max(found, fields(f"/proc/{pid}/task/{task}/status", MEMORY), key=len)
    return sum(found.values()) << 10


def memory_of(pids: list[int]) -> int:
    """Bytes of memory that processes use together, each page once. Takes milliseconds for each."""
    return sum(map(_share, pids))


def _share(pid):
    """As _resident, less what other processes have of its pages; a process that hides its use gets
    no such discount.
    """
    found = fields(f"/proc/{pid}/smaps_rollup", SHARES)
    if "Pss_Anon" not in found:
        return _resident(pid)
    return sum((found | fields(f"/proc/{pid}/status", ("VmPTE",))).values()) << 10


def _cpu_of(pid):
    """A process's number and start, its CPU seconds, and those of its ended children; None if it
    has ended.
    """
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        fields = [int(field) for field in file.read().rpartition(b")")[2].split()[1:]]
        tick = os.sysconf("SC_CLK_TCK")
        return (pid, fields[18]), sum(fields[10:12]) / tick, sum(fields[12:14]) / tick
    return None


def _cpu_of_ended():
    """CPU seconds of this process's ended children."""
    import resource  # Windows has none

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _used(folders):
    """Bytes and number of the files on the file systems of folders."""
    systems = [os.statvfs(folder) for folder in folders]
    return (
        sum((system.f_blocks - system.f_bfree) * system.f_frsize for system in systems),
        sum(system.f_files - system.f_ffree for system in systems),
    )


def _content(folders, most):
    """Bytes and number of the files in folders. Counting stops at `most` files; a path that is too
    long to be scanned counts as that many.
    """
    size, files, waiting = 0, 0, list(folders)
    while waiting and files <= most:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                files += 1
                if files > most:
                    break
                with contextlib.suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        files += most if len(entry.path) > LONG_PATH else 0
                        waiting.append(entry.path)
    return size, files


def files_of(user: int | None) -> list[str]:
    """The files in shared memory that belong to a user; none if it is None."""
    found = []
    with contextlib.suppress(OSError), os.scandir(sandbox.SHARED_MEMORY) as entries:
        for entry in entries if user is not None else ():
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == user:
                    found.append(entry.path)
    return found


def _nameless(pids):
    """Bytes in deleted files that processes hold open."""
    sizes = {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with contextlib.suppress(OSError):
                    status = descriptor.stat()
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


def end_all(kill) -> bool:
    """Kill all descendants and wait for them; returns whether none is left.

    Args:
        kill: a function that kills all of them at once, where that is possible, so that none can
            fork in the meantime.
    """
    deadline = time.monotonic() + 5
    while left := descendants():
        kill()
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if time.monotonic() > deadline:
            return False
        time.sleep(0.0005)
    return True
