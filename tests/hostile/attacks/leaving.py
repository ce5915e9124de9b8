"""Outliving the check: processes, signals, and everything that could carry state from one check to
the next.
"""

from hostile.attack import BLOCKED, CRASHED, DENIED, EXCEPTION, MISSING, TIMEOUT, Hostile

TWO = ("1c-0-basic", "1c-1-basic")

# Runs a function in a daemon, as those of a system are started.
DAEMON = """
def daemon(work):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                work()
            finally:
                os._exit(0)
        os._exit(0)
"""


def leaves(name, tries, seen, code, verdicts=frozenset({MISSING}), **more):
    """Make an attack that leaves a process behind."""
    return Hostile(
        name,
        tries,
        seen,
        DAEMON + code,
        verdicts=verdicts,
        **{"sandbox": False, "checks": TWO, **more},
    )


PROCESSES = [
    leaves(
        "daemon-wakes-later",
        "Leaves a daemon that sleeps until the grading is over, and then writes files.",
        "It is ended with the check, and writes nothing.",
        """
def wake():
    for number in range(256):
        attempt(lambda: os.close(number))
    time.sleep(3)
    for folder in ("/tmp", "/dev/shm", "/var/tmp", "@FOLDER@", "@HOME@", "."):
        attempt(lambda: os.close(os.open(folder + "/@MARK@", os.O_CREAT | os.O_WRONLY)))
daemon(wake)
""",
        waits=2,
    ),
    leaves(
        "daemon-with-another-name",
        "Leaves a daemon that closes all its files and calls itself as a thread of the kernel.",
        "It is ended with the check.",
        """
def hide():
    os.closerange(0, 4096)
    _c.prctl(15, b"kworker/0:1")
    _c.prctl(36, 1)
    _c.prctl(1, 0)
    os.chdir("/")
    time.sleep(60)
daemon(hide)
time.sleep(0.1)
""",
    ),
    leaves(
        "daemon-spoils-the-next-check",
        "Leaves a daemon that stops whatever its parent's parent starts next.",
        "It is ended before the next check begins.",
        """
import signal
server, check = os.getppid(), os.getpid()
def spoil():
    spared = check, os.getpid()
    for _ in range(3000):
        try:
            children = open(f"/proc/{server}/task/{server}/children").read().split()
        except OSError:
            children = []
        for child in map(int, children):
            attempt(lambda: child in spared or os.kill(child, signal.SIGSTOP))
        time.sleep(0.001)
daemon(spoil)
time.sleep(0.1)
""",
    ),
    leaves(
        "child-of-the-parent",
        "Starts a process with clone(CLONE_PARENT), which is the grader's child and not its own.",
        "It is ended with the check.",
        """
if syscall(56, 0x8000 | 17, 0, 0, 0, 0) == 0:
    os.setsid()
    time.sleep(60)
    os._exit(0)
time.sleep(0.1)
""",
    ),
    leaves(
        "generations",
        "Forks and ends all the time, so that no list of processes is ever up to date.",
        "All are ended with the check.",
        """
def run():
    started = time.monotonic()
    while time.monotonic() < started + 30:
        if os.fork():
            os._exit(0)
        os.setsid()
for _ in range(3):
    daemon(run)
""",
    ),
    leaves(
        "holds-the-pipe",
        "Leaves a process that keeps the pipe for the answer open, so that the grader waits for "
        "its end.",
        "It is ended with the check, at once.",
        """
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
    os._exit(0)
""",
    ),
]

SIGNALS = [
    leaves(
        "kill-the-parent",
        "Kills the process that forked it.",
        "The check fails, and no other.",
        """
os.kill(os.getppid(), 9)
time.sleep(1)
raise ValueError("still here")
""",
        frozenset({CRASHED, BLOCKED, EXCEPTION}),
        checks=("1c-0-basic",),
    ),
    leaves(
        "stop-the-parent",
        "Stops the process that forked it, so that no limit is kept.",
        "The judge keeps a limit of its own.",
        """
os.kill(os.getppid(), 19)
time.sleep(1)
raise ValueError("still here")
""",
        frozenset({TIMEOUT, BLOCKED, EXCEPTION}),
        checks=("1c-0-basic",),
        seconds=2,
    ),
    leaves(
        "kill-the-judge",
        "Sends the judge a signal, changes its priority, and moves it to a single processor.",
        "It cannot be reached.",
        """
import resource
judge = int("@JUDGE@")
attempt(lambda: os.kill(judge, 0) or loot("the judge can be signalled"),
        lambda: os.setpriority(os.PRIO_PROCESS, judge, os.getpriority(os.PRIO_PROCESS, judge)) or loot("priority"),
        lambda: os.sched_setaffinity(judge, os.sched_getaffinity(judge)) or loot("processors"),
        lambda: resource.prlimit(judge, resource.RLIMIT_NOFILE) and loot("limits"))
""",
        sandbox=True,
    ),
    leaves(
        "kill-its-group",
        "Kills its process group.",
        "It has crashed.",
        """
os.killpg(0, 9)
""",
        frozenset({CRASHED}),
    ),
    leaves(
        "kill-everything",
        "Kills every process that it may.",
        "It reaches only itself.",
        """
try:
    os.kill(int("@JUDGE@"), 0)
except OSError:
    pass
else:
    loot("the judge can be signalled")
os.kill(-1, 9)
time.sleep(60)
""",
        frozenset({CRASHED, EXCEPTION, TIMEOUT}),
        sandbox=True,
        seconds=2,
        checks=("1c-0-basic",),
    ),
]

STATE = [
    leaves(
        "state-in-files",
        "Leaves a note for the next check in every folder that it may write to, hidden and "
        "protected.",
        "The next check finds none.",
        """
home = os.environ.get("HOME", ".")
for folder in (".", "..", home, os.path.dirname(home), "/tmp", "/dev/shm", "/var/tmp", "/run/user", os.path.dirname(__file__)):
    if os.path.exists(folder + "/.@MARK@") or os.path.exists(folder + "/@MARK@.d/note"):
        loot("a note in " + folder)
for folder in (".", "..", home, os.path.dirname(home), "/tmp", "/dev/shm", "/var/tmp", "/run/user", os.path.dirname(__file__)):
    attempt(lambda: open(folder + "/.@MARK@", "x").close(), lambda: os.mkdir(folder + "/@MARK@.d"),
            lambda: open(folder + "/@MARK@.d/note", "x").close(), lambda: os.chmod(folder + "/@MARK@.d", 0o500))
""",
        lasting=True,
        sandbox=True,
    ),
    leaves(
        "state-in-folders-of-imports",
        "Leaves a note for the next check in the folders that imports have made.",
        "The next check finds none.",
        """
for top in ("/tmp", "/dev/shm"):
    for folder, _, _ in os.walk(top):
        if os.path.exists(folder + "/@MARK@"):
            loot("a note in " + folder)
        if folder not in (top, os.getcwd()):
            attempt(lambda: open(folder + "/@MARK@", "x").close())
""",
        lasting=True,
        verdicts=frozenset(),
        points=4,
        checks=(*TWO, "1d"),  # whose optimizer needs imports that make folders
    ),
    leaves(
        "state-in-the-folders-themselves",
        "Leaves notes for the next check in attributes of /tmp and /dev/shm, and has all that is "
        "made there closed to everybody; keeps the server to one core, and gives it no priority.",
        "The next check finds none, and has a folder of its own.",
        """
import signal, struct
closed = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, 0, 2**32 - 1) for tag in (1, 4, 32))
if os.getpriority(os.PRIO_PROCESS, 0) > 0 or os.sched_getaffinity(0) == {0}:
    loot("the server is slower")
for folder in ("/tmp", "/dev/shm"):
    attempt(lambda: os.getxattr(folder, "user.note") and loot("a note at " + folder))
    if not os.stat(folder).st_mode & 0o200:
        loot("no writing in " + folder)
for folder in ("/tmp", "/dev/shm"):
    attempt(lambda: os.setxattr(folder, "user.note", b"@MARK@"), lambda: os.setxattr(folder, "system.posix_acl_default", closed),
            lambda: os.chmod(folder, 0o500))
attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19), lambda: os.sched_setaffinity(os.getppid(), {0}), lambda: os.kill(os.getppid(), signal.SIGINT))
""",
        lasting=True,
    ),
    leaves(
        "state-in-moved-folders",
        "Renames the folders above those that it can only read, and puts others in their places.",
        "The next check finds all as it was.",
        """
import json, torch
attempt(lambda: open("@ROOT@/pyproject.toml").close() or loot("no sandbox"))      # then it would do harm
places = [os.path.dirname(__file__), json.__file__, torch.__file__, sys.prefix + "/x", os.getcwd()]
places += [os.path.dirname(place) for _ in range(3) for place in places]
for place in places:
    if os.path.exists(place + "/@MARK@"):
        loot("another folder at " + place)
def swap(place):
    os.rename(place, place + "2")
    os.mkdir(place)
    open(place + "/@MARK@", "x").close()
for place in places:
    attempt(lambda: swap(place))
""",
        DENIED,
        sandbox=True,
    ),
    leaves(
        "state-in-links",
        "Leaves links, FIFOs and sockets in shared memory, which a cleaner of files may pass over.",
        "The next check finds none.",
        r"""
import socket
if any("@MARK@" in name for name in os.listdir("/dev/shm")):
    loot("something in /dev/shm")
attempt(lambda: os.symlink("/nowhere", "/dev/shm/@MARK@1"), lambda: os.mkfifo("/dev/shm/@MARK@2"),
        lambda: socket.socket(socket.AF_UNIX).bind("/dev/shm/@MARK@3"), lambda: os.mkdir("/dev/shm/@MARK@4"),
        lambda: os.mkdir("/dev/shm/@MARK@4/\n\udcff -rf"), lambda: os.chmod("/dev/shm/@MARK@4", 0))
""",
        verdicts=DENIED,
        lasting=True,
        sandbox=True,
    ),
    leaves(
        "state-in-system-v",
        "Leaves a note in System V shared memory, which is no file.",
        "The system calls are refused.",
        """
if (old := _c.shmget(@KEY@, 16, 0)) >= 0:
    _c.shmctl(old, 0, None)
    loot("a note in shared memory")
libc("shmget", @KEY@, 16, 0o1666)
""",
        frozenset({BLOCKED, MISSING}),
        sandbox=True,
    ),
    leaves(
        "state-in-queues",
        "Leaves a message in a POSIX and in a System V message queue.",
        "The system calls are refused.",
        """
if (old := _c.syscall(240, b"@MARK@", os.O_RDWR)) >= 0:
    _c.syscall(241, b"@MARK@")
    loot("a message queue")
attempt(lambda: syscall(240, b"@MARK@", os.O_RDWR | os.O_CREAT, 0o666, None))
if (old := _c.msgget(@KEY@, 0)) >= 0:
    _c.msgctl(old, 0, None)
    loot("a message queue")
""",
        frozenset({BLOCKED, MISSING}),
        sandbox=True,
    ),
    leaves(
        "state-in-keys",
        "Leaves a note in the kernel's keyring.",
        "The system call is refused.",
        """
loot(f"key {syscall(248, b'user', b'@MARK@', b'note', 4, -2)}")
""",
        frozenset({BLOCKED}),
        sandbox=True,
        checks=("1c-0-basic",),
    ),
    leaves(
        "state-in-sockets",
        "Leaves a process that hands a note on by an abstract socket.",
        "It is ended with the check.",
        """
import socket
def serve():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\\0@MARK@")
    listener.listen()
    time.sleep(60)
try:
    socket.socket(socket.AF_UNIX).connect("\\0@MARK@")
    loot("somebody answers")
except OSError:
    daemon(serve)
time.sleep(0.1)
""",
    ),
    leaves(
        "state-in-the-process",
        "Changes the environment, the working directory, the umask and the modules for the next "
        "check.",
        "The next check runs in a fork of its own.",
        """
if "note" in os.environ or hasattr(sys, "note") or os.umask(0o777) == 0o777 or "note" in sys.modules:
    loot("a note in the process")
os.environ["note"] = sys.note = "@MARK@"
sys.modules["note"] = sys
os.chdir("/")
os.nice(5)
""",
    ),
]

HOSTILE = PROCESSES + SIGNALS + STATE
