"""Exceeding a check's limits: time, memory, processes, files, disk, output. All bombs here stop
shortly beyond the limit.
"""

from hostile.attack import BLOCKED, MEMORY, MISSING, TIMEOUT, Hostile

LIMIT = 300  # MiB, of the memory attacks

# Says whether all processes together got half as much memory again as they may.
MANY = '''
import mmap
shared = open("reports", "w+b")
shared.truncate(4096)
reports = mmap.mmap(shared.fileno(), 4096)


def children(number, work):
    """Run work(i) in forks; loot if all of them finish it."""
    for i in range(number):
        if os.fork() == 0:
            try:
                kept = work(i)
                reports[i] = 1
                time.sleep(5)
            finally:
                os._exit(0)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if sum(reports[:number]) == number:
            loot(f"{number} processes did it")
        time.sleep(0.01)
'''


def hang(name, tries, code, seen="The time limit ends it.", verdicts=frozenset({TIMEOUT}), **more):
    """Make an attack that takes time."""
    return Hostile(
        name, tries, seen, code, verdicts=verdicts, **{"sandbox": False, "seconds": 2, **more}
    )


def memory(
    name,
    tries,
    code,
    seen="It is ended, and the verdict says how much it may use.",
    verdicts=frozenset({MEMORY}),
    **more,
):
    """Make an attack that takes memory."""
    return Hostile(
        name,
        tries,
        seen,
        code,
        verdicts=verdicts,
        **{"sandbox": False, "seconds": 8, "memory": LIMIT, **more},
    )


def exceed(
    name,
    tries,
    code,
    says="",
    seen="It is ended, and the verdict names the limit.",
    verdicts=frozenset({BLOCKED}),
    **more,
):
    """Make an attack that takes too much of something else."""
    return Hostile(
        name,
        tries,
        seen,
        code,
        verdicts=verdicts,
        says=says,
        **{"sandbox": False, "seconds": 10, **more},
    )


TIME = [
    hang(
        "endless-c-loop",
        "Consumes an endless iterator in C, where Python looks for no signal.",
        """
import collections, itertools
collections.deque(itertools.repeat(0), maxlen=0)
""",
    ),
    hang(
        "endless-kernel",
        "Reads and writes in the kernel without end, from many threads.",
        """
import threading
def copy():
    with open("/dev/zero", "rb") as zeros, open("/dev/null", "wb") as nothing:
        while True:
            nothing.write(zeros.read(1 << 24))
for _ in range(7):
    threading.Thread(target=copy).start()
copy()
""",
    ),
    hang(
        "stop-itself",
        "Stops itself, as Ctrl-Z does, so that it uses no CPU time.",
        """
import signal
os.kill(os.getpid(), signal.SIGSTOP)
""",
    ),
    hang(
        "busy-children",
        "Computes in eight processes at once, each of which starts another before its time is "
        "over.",
        """
for _ in range(8):
    if os.fork() == 0:
        while True:
            born = time.monotonic()
            while time.monotonic() < born + 0.3:
                pass
            if os.fork():
                os._exit(0)
time.sleep(60)
""",
    ),
]

MEMORY_ATTACKS = [
    memory(
        "memory-shared-map",
        "Allocates memory that is shared between processes, which counts as nobody's data.",
        f"""
import mmap
kept = mmap.mmap(-1, {2 * LIMIT} << 20)
for start in range(0, len(kept), 4096):
    kept[start] = 1
time.sleep(0.5)
loot(f"{{len(kept) >> 20}} MiB")
""",
        verdicts=frozenset({MEMORY, BLOCKED}),
    ),
    memory(
        "memory-in-dev-shm",
        "Fills /dev/shm, which is memory.",
        f"""
with open("/dev/shm/@MARK@", "wb") as file:
    for _ in range({2 * LIMIT}):
        file.write(bytes(1 << 20))
    file.flush()
    time.sleep(0.5)
    loot("{2 * LIMIT} MiB")
""",
        verdicts=frozenset({MEMORY, BLOCKED}),
        sandbox=True,
    ),
    memory(
        "memory-behind-descriptors",
        "Keeps memory in files without a name (memfd_create), mapped by nobody.",
        f"""
for i in range({2 * LIMIT // 50}):
    kept = os.memfd_create("@MARK@")
    os.write(kept, bytes(50 << 20))
time.sleep(0.5)
loot("{2 * LIMIT} MiB")
""",
        verdicts=frozenset({MEMORY, BLOCKED}),
    ),
    memory(
        "memory-deleted-files",
        "Keeps memory in files of /dev/shm that it has deleted, so that no name shows them.",
        f"""
kept = []
for i in range(2 * {LIMIT} // 10):
    kept.append(os.open(f"/dev/shm/@MARK@{{i}}", os.O_RDWR | os.O_CREAT | os.O_EXCL))
    os.unlink(f"/dev/shm/@MARK@{{i}}")
    os.write(kept[-1], bytes(10 << 20))
time.sleep(0.5)
loot("{2 * LIMIT} MiB")
""",
        verdicts=frozenset({MEMORY, BLOCKED}),
    ),
    memory(
        "memory-system-v",
        "Keeps memory in System V segments, attached by nobody, which outlive all processes.",
        f"""
_c.shmat.restype = ctypes.c_void_p
kept = []
for i in range({2 * LIMIT // 50}):
    kept.append(libc("shmget", @KEY@ + i, 50 << 20, 0o1600))
    address = _c.shmat(kept[-1], None, 0)
    ctypes.memset(address, 1, 50 << 20)
    _c.shmdt(ctypes.c_void_p(address))
time.sleep(0.5)
for segment in kept:
    _c.shmctl(segment, 0, None)
loot("{2 * LIMIT} MiB")
""",
        verdicts=frozenset({MEMORY, BLOCKED}),
        sandbox=True,
    ),
    memory(
        "memory-in-page-tables",
        "Reads one byte in every 2 MiB of a huge empty map, so that only the kernel's tables of it "
        "grow.",
        """
import mmap
kept = mmap.mmap(-1, 300 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
kept.madvise(mmap.MADV_NOHUGEPAGE)
for start in range(0, len(kept), 2 << 20):
    kept[start]
time.sleep(0.5)
loot("600 MiB of page tables")
""",
        verdicts=frozenset({MEMORY, BLOCKED}),
    ),
    memory(
        "memory-in-a-flash",
        "Lets forty processes allocate at the same moment, faster than anybody looks.",
        """
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
    if len(os.listdir(".")) > 4 * 300 // 4:
        loot("four times as much as it may")
""",
    ),
    memory(
        "memory-in-pipes",
        "Keeps memory in pipes and socket buffers, which count for no process.",
        """
import fcntl
kept = 0
for _ in range(100):
    reader, writer = os.pipe()
    attempt(lambda: fcntl.fcntl(writer, 1031, 1 << 20))
    os.set_blocking(writer, False)
    attempt(lambda: [os.write(writer, bytes(1 << 16)) for _ in range(16)])
    kept += fcntl.fcntl(writer, 1032)
if kept > 450 << 20:
    loot(f"{kept >> 20} MiB in pipes")
""",
        "Descriptors are limited, and with them what can be kept so.",
        frozenset({MISSING, BLOCKED}),
    ),
]

OTHERS = [
    exceed(
        "fork-and-hide",
        "Forks children that fork and end, so that each has another parent and session.",
        """
for _ in range(150):
    if os.fork() == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                time.sleep(5)
        finally:
            os._exit(0)
    time.sleep(0.001)
time.sleep(3)
loot("150 processes")
""",
        "process",
    ),
    exceed(
        "reserved-files",
        "Reserves disk for files without writing to them, which takes no time.",
        """
for number in range(20):
    os.posix_fallocate(os.open(str(number), os.O_WRONLY | os.O_CREAT), 0, 36 << 20)
time.sleep(1)
loot("720 MiB")
""",
        "file|disk|written",
    ),
    exceed(
        "sparse-file",
        "Makes a file of a terabyte that takes no room, to fill the disk of whoever copies it.",
        """
os.truncate(os.open("sparse", os.O_RDWR | os.O_CREAT), 1 << 40)
loot("a terabyte")
""",
        "file",
    ),
    exceed(
        "raise-own-limits",
        "Lifts its own limits again, and makes itself more important than others.",
        """
import resource
for name in ("NPROC", "NOFILE", "FSIZE", "CPU", "DATA"):
    kind = getattr(resource, "RLIMIT_" + name)
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        attempt(lambda: resource.setrlimit(kind, (hard * 2, hard * 2)) or loot(f"{name} beyond {hard}"))
attempt(lambda: loot(f"nice {os.nice(-20)}"), lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) or loot("real time"))
""",
        seen="Limits can only be lowered.",
        verdicts=frozenset({MISSING}),
        sandbox=True,
    ),
    exceed(
        "hide-from-the-oom-killer",
        "Tells the kernel not to end it first when memory is short.",
        """
def adjust():
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("0")
    loot("it is no longer the first to be ended")
attempt(adjust)
""",
        seen="It cannot be lowered.",
        verdicts=frozenset({MISSING, BLOCKED}),
        sandbox=True,
    ),
]

HOSTILE = TIME + MEMORY_ATTACKS + OTHERS
