"""Measure and end a check's processes, through Linux's /proc. On other systems this finds
nothing.
"""

import contextlib
import os
import signal
import stat
import time

SOCKET_BYTES, PIPE_BYTES = 208 << 10, 64 << 10  # Linux's default buffer sizes
LONG_PATH = 3000  # characters; the system allows at most 4095


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


def usage(pids: list[int]) -> tuple[int, int]:
    """Upper bounds on the total use of processes: bytes of memory (including swap and shared memory
    but not mapped files; what forks share is counted in each), and the number of processes and
    threads.
    """
    memory = tasks = 0
    for pid in pids:
        fields = _memory_fields(f"/proc/{pid}")
        if "RssAnon" not in fields:  # its first thread has ended, but others may be running
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{pid}/task"):
                    fields = max(fields, _memory_fields(f"/proc/{pid}/task/{task}"), key=len)
        tasks += fields.pop("Threads", 0)
        memory += sum(fields.values()) << 10
    return memory, tasks


def _memory_fields(folder):
    return _fields(folder + "/status", ("RssAnon", "RssShmem", "VmSwap", "VmPTE", "Threads"))


def exact_memory(pids: list[int]) -> int:
    """Bytes of memory that processes use together: a page shared by n processes counts 1/n in each.
    Takes milliseconds per process; one that hides its use counts as in usage().
    """
    memory = 0
    for pid in pids:
        fields = _fields(f"/proc/{pid}/smaps_rollup", ("Pss_Anon", "Pss_Shmem", "SwapPss"))
        fields |= _fields(f"/proc/{pid}/status", ("VmPTE",))
        memory += sum(fields.values()) << 10 if "Pss_Anon" in fields else usage([pid])[0]
    return memory


def times(pids: list[int]) -> tuple[float, float]:
    """CPU seconds of processes and their ended children, and the longest that one of their threads
    has waited for a CPU: because of other programs, or because a quota was used up.
    """
    ticks, waited = 0, 0.0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
            ticks += sum(map(int, file.read().rpartition(b")")[2].split()[11:15]))
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                waited = max(waited, _waited(f"/proc/{pid}/task/{task}"))
    return ticks / os.sysconf("SC_CLK_TCK"), waited


def _waited(folder):
    """Seconds that a thread has waited for a CPU; 0 if the system doesn't report it."""
    with contextlib.suppress(OSError, IndexError), open(f"{folder}/schedstat", "rb") as file:
        return int(file.read().split()[1]) / 1e9
    return 0.0


class Clock:
    """Measures a fork and its descendants; create it right after the fork.

    Attributes:
        times: up to the last look, the `seconds` of wall time, of CPU time (`cpu`), and of waiting
            for a CPU (`waited`).
    """

    def __init__(self):
        self.times = dict.fromkeys(("seconds", "cpu", "waited"), 0.0)
        self._started = time.monotonic()
        self._ended = _cpu_of_ended()
        self._cpu = self._lost = 0.0
        self._own = _waited("/proc/self")

    def over(self, seconds: float, wall: float) -> bool:
        """Whether more than `seconds` count, or more than `wall` have passed. What counts is CPU
        time, or wall time less the waiting if that is longer, as when the code hangs.
        """
        passed, cpu, waited = self.times.values()
        return max(cpu, passed - waited) > seconds or passed > wall

    def look(self, pids: list[int]) -> None:
        """Measure; `pids` are the fork and its descendants."""
        seconds = time.monotonic() - self._started
        cpu, waited = times(pids)
        # Threads that ended since the last look, or are still waiting, are missed. The last look
        # is long ago only if this process itself had to wait.
        before, self._own = self._own, _waited("/proc/self")
        waited = min(seconds, max(self.times["waited"], waited + self._own - before))
        cpu += _cpu_of_ended() - self._ended
        # Less than at both looks before: a child ended whose time nobody got, since its parent
        # ignores SIGCHLD. (At one look, it may just pass from a child to its parent.)
        last, self._cpu = self._cpu, cpu
        cpu = max(cpu, last) + self._lost
        if cpu < self.times["cpu"]:
            self._lost += self.times["cpu"] - cpu
            cpu = self.times["cpu"]
        self.times = {"seconds": seconds, "cpu": cpu, "waited": waited}


def _cpu_of_ended():
    """CPU seconds of this process's ended children."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def open_files(pids: list[int]) -> tuple[int, int]:
    """The bytes in deleted files that processes hold open, and the most bytes that their sockets
    and pipes may hold.
    """
    sizes, buffers = {}, {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with contextlib.suppress(OSError):
                    status = descriptor.stat()
                    key = status.st_dev, status.st_ino
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        sizes[key] = status.st_blocks * 512
                    elif stat.S_ISSOCK(status.st_mode) or stat.S_ISFIFO(status.st_mode):
                        buffers[key] = SOCKET_BYTES if stat.S_ISSOCK(status.st_mode) else PIPE_BYTES
    return sum(sizes.values()), sum(buffers.values())


def _fields(path, names):
    """The numbers in a /proc file with lines NAME: NUMBER; none if the process has ended or the
    file is not readable.
    """
    fields = {}
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name in names:
                fields[name] = int(value.split()[0])
    return fields


def folder_usage(folders: list[str], most_files: int) -> tuple[int, int]:
    """Bytes and number of the files in folders, except what is mounted there. Counting stops at
    `most_files`; a path that is too long to be scanned counts as that many.
    """
    devices = {os.stat(folder).st_dev for folder in folders}
    size, files, waiting = 0, 0, list(folders)
    while waiting and files <= most_files:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                files += 1
                if files > most_files:
                    break
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    size += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode) and status.st_dev in devices:
                        files += most_files if len(entry.path) > LONG_PATH else 0
                        waiting.append(entry.path)
    return size, files


def shared_memory(folder: str, user: int) -> int:
    """Bytes of the files that belong to `user` in /dev/shm."""
    size = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                size += status.st_blocks * 512 if status.st_uid == user else 0
    return size


def end_all(kill, seconds: float = 5.0) -> bool:
    """Kill all descendants and wait for them.

    Args:
        kill: a function that sends SIGKILL to all of them at once, so that none can fork in the
            meantime; None to kill them one by one.

    Returns:
        Whether none is left.
    """
    deadline = time.monotonic() + seconds
    while left := descendants():
        if kill is not None:
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
