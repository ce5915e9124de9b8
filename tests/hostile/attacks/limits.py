"""Exceeding a check's limits: time, memory, its own settings. All bombs here stop shortly beyond
the limit. tests/engine/test_isolation.py has others.
"""

from functools import partial

from hostile.attack import BLOCKED, MEMORY, MISSING, TIMEOUT, family
from hostile.prelude import *

HOSTILE, attack = family(sandbox=False)
hang = partial(attack, verdicts={TIMEOUT}, seconds=2)
hoard = partial(attack, verdicts={MEMORY, BLOCKED}, memory=LIMIT)


@hang()
def endless():
    """Stops the clocks, and works without end in C, where signals wait, and in the kernel."""
    import collections
    import itertools
    import threading

    def copy():
        with open("/dev/zero", "rb") as zeros, open("/dev/null", "wb") as nothing:
            while True:
                nothing.write(zeros.read(1 << 24))

    for name in ("time", "monotonic", "perf_counter", "process_time"):
        setattr(time, name, lambda: 0.0)
    for _ in range(7):
        threading.Thread(target=copy).start()
    collections.deque(itertools.repeat(0), maxlen=0)


@hang()
def stop_itself():
    """Stops itself, as Ctrl-Z does, so that it uses no CPU time."""
    import signal

    os.kill(os.getpid(), signal.SIGSTOP)


@hang()
def busy_children():
    """Computes in eight processes, each of which starts another before its time is over."""
    for _ in range(8):
        if os.fork() == 0:
            while True:
                born = time.monotonic()
                while time.monotonic() < born + 0.3:
                    pass
                if os.fork():
                    os._exit(0)
    time.sleep(60)


@hoard()
def memory_in_a_shared_map():
    """Allocates memory that is shared between processes, which counts as nobody's data."""
    import mmap

    kept = mmap.mmap(-1, 2 * LIMIT << 20)
    for start in range(0, len(kept), 4096):
        kept[start] = 1
    held("shared memory")


@hoard()
def memory_in_deleted_files():
    """Keeps memory in files of /dev/shm that it has deleted, so that no name shows them."""
    for number in range(2 * LIMIT // 10):
        name = f"/dev/shm/{MARK}{number}"
        kept = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        os.unlink(name)
        os.write(kept, bytes(10 << 20))
    held("deleted files")


@hoard(sandbox=True)
def memory_in_dev_shm():
    """Fills /dev/shm, which is memory."""
    with open(f"/dev/shm/{MARK}", "wb") as file:
        for _ in range(2 * LIMIT):
            file.write(bytes(1 << 20))
        file.flush()
        held("files")


@hoard()
def memory_behind_descriptors():
    """Keeps memory in files without a name, mapped by nobody."""
    for _ in range(2 * LIMIT // 50):
        os.write(os.memfd_create(MARK), bytes(50 << 20))
    held("files without a name")


@hoard(sandbox=True)
def memory_in_system_v():
    """Keeps memory in System V segments, attached by nobody, which outlive all processes."""
    C.shmat.restype = ctypes.c_void_p
    kept = []
    for i in range(2 * LIMIT // 50):
        kept.append(libc("shmget", KEY + i, 50 << 20, 0o1600))
        address = C.shmat(kept[-1], None, 0)
        ctypes.memset(address, 1, 50 << 20)
        C.shmdt(ctypes.c_void_p(address))
    time.sleep(0.5)
    for segment in kept:
        C.shmctl(segment, 0, None)
    loot("segments")


@hoard()
def memory_in_page_tables():
    """Reads one byte in every 2 MiB of a huge empty map, so that only the kernel's tables grow."""
    import mmap

    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
    kept = mmap.mmap(-1, LIMIT << 30, flags=flags, prot=mmap.PROT_READ)
    kept.madvise(mmap.MADV_NOHUGEPAGE)
    for start in range(0, len(kept), 2 << 20):
        kept[start]
    held("page tables of 600 MiB")


@hoard(verdicts={MEMORY})
def memory_in_a_flash():
    """Lets forty processes allocate at the same moment, faster than anybody looks."""

    def bomb():
        while not os.path.exists("go"):
            time.sleep(0.001)
        kept = bytearray()
        for n in range(10):
            kept += bytes(4 << 20)
            open(f"{os.getpid()}-{n}", "x").close()
        time.sleep(5)

    for _ in range(40):
        if os.fork() == 0:
            bomb()
            os._exit(0)
    open("go", "x").close()
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        if len(os.listdir(".")) > 4 * LIMIT // 4:
            loot("four times as much as it may")


@hoard(verdicts={MISSING, BLOCKED})
def memory_in_pipes():
    """Keeps memory in pipes, which count for no process; but descriptors are limited."""
    import fcntl

    kept = 0
    for _ in range(100):
        reader, writer = os.pipe()
        attempt(lambda: fcntl.fcntl(writer, 1031, 1 << 20))
        os.set_blocking(writer, False)
        attempt(lambda: [os.write(writer, bytes(1 << 16)) for _ in range(16)])
        kept += fcntl.fcntl(writer, 1032)
    if kept > 3 * LIMIT / 2 * (1 << 20):
        loot(f"{kept >> 20} MiB in pipes")


@attack(verdicts={MISSING, BLOCKED}, sandbox=True)
def raise_own_limits():
    """Lifts its own limits, and asks for more processor time and to be spared at a shortage."""
    import resource

    def adjust():
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("0")
        loot("it is no longer the first to be ended")

    for name in ("NPROC", "NOFILE", "FSIZE", "CPU", "DATA"):
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            attempt(lambda: resource.setrlimit(kind, (hard * 2, hard * 2)) or loot(name))
    first = os.sched_param(1)
    attempt(
        lambda: loot(f"nice {os.nice(-20)}"),
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, first) or loot("real time"),
        adjust,
    )
