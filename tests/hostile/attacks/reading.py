"""Reading secrets: checks, answers, other submissions, the judge's environment and memory."""

from hostile.attack import BLOCKED, DENIED, family
from hostile.prelude import *

HOSTILE, attack = family(verdicts=DENIED)


@attack()
def open_secrets():
    """Opens hidden checks, answers, others' solutions, the grader, passwords and devices."""
    names = "canary.py q1c.py problem1/q1c.py laptop/birth_test.tsv dataset.py"
    for folder in (HIDDEN, GOLD, OTHER, f"{ROOT}/instructor/checks", f"{ROOT}/instructor/gold"):
        for name in names.split():
            opened(f"{folder}/{name}", os.O_RDONLY)
        attempt(lambda: loot(os.listdir(folder)))
    for name in "src/checks/manifest.toml src/autograder/judge.py pyproject.toml .git/HEAD".split():
        opened(f"{ROOT}/{name}", os.O_RDONLY)
    for name in ".bashrc .profile .gitconfig .ssh/id_rsa".split():
        opened(f"{HOME}/{name}", os.O_RDONLY)
    closed = "etc/shadow etc/gshadow dev/mem dev/kmsg proc/kcore dev/vda dev/sda dev/nvme0n1"
    for path in closed.split():
        opened("/" + path, os.O_RDONLY)
    attempt(lambda: loot(f"a log of {syscall(103, 10, 0, 0)} bytes"))


@attack()
def by_another_path():
    """Goes to the secrets by descriptors instead of names, and by links in /proc."""

    def climb(place):
        here = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        for _ in range(12):
            here = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            for target in (GOLD, f"{ROOT}/instructor"):
                attempt(lambda: loot(os.listdir(os.open(target[1:], os.O_RDONLY, dir_fd=here))))

    for place in (".", os.path.dirname(__file__), "/tmp", "/usr"):
        attempt(lambda: climb(place))
    for pid in [*parents(), 1, "self", "thread-self"]:
        for link in ("root", "cwd"):
            opened(f"/proc/{pid}/{link}{GOLD}/canary.py", os.O_RDONLY)
            opened(f"/proc/{pid}/{link}{ROOT}/pyproject.toml", os.O_RDONLY)


@attack()
def search_the_disk():
    """Searches the places where graders keep things for file names that look like a secret."""
    own = os.path.dirname(os.path.dirname(__file__))
    secret = {"canary.py", "birth_test.tsv", "q1c.py", "manifest.toml"}
    tops = ("/tmp", "/var/tmp", "/autograder", "/home", "/srv", "/opt", os.path.dirname(ROOT))
    for top in tops:
        for parent, folders, names in os.walk(top):
            if parent.count("/") > top.count("/") + 3:
                folders.clear()
            if secret & {*names} and not parent.startswith(own):
                loot(parent)


@attack(verdicts={BLOCKED})
def open_by_handle():
    """Opens the root of the disk by a file handle, past all names, as an escape from Docker did."""

    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.create_string_buffer(4)
    libc("name_to_handle_at", -100, b"/usr", handle, mount, 0)
    disk = os.open("/usr", os.O_RDONLY)
    loot(os.listdir(libc("open_by_handle_at", disk, handle, os.O_RDONLY)))


@attack(sandbox=False)
def what_it_was_started_with():
    """Looks for the judge's environment, and for descriptors beyond its answer and stack."""
    import stat

    for place in ("self", os.getppid()):
        attempt(
            lambda: b"HOSTILE_CANARY" in open(f"/proc/{place}/environ", "rb").read() and loot(place)
        )
    secret = ("HOSTILE_CANARY", "KEY", "TOKEN", "SECRET")
    if any(word in name for name in os.environ for word in secret):
        loot(sorted(os.environ))
    kinds = []
    for number in range(3, 4096):
        attempt(lambda: kinds.append(stat.S_IFMT(os.fstat(number).st_mode)))
    if kinds != [stat.S_IFREG] * 2:
        loot(f"{len(kinds)} descriptors are open")


@attack()
def processes_in_proc():
    """Opens the memory and descriptors of the processes above it, and all about the judge."""
    for pid in parents():
        opened(f"/proc/{pid}/mem", os.O_RDWR)
        opened(f"/proc/{pid}/mem", os.O_RDONLY)
        attempt(lambda: loot(open(f"/proc/{pid}/maps").read()[:80]))
        attempt(
            lambda: [opened(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
        )
    for name in ("environ", "maps", "cmdline", "status"):
        attempt(lambda: loot(f"{name}: {open(f'/proc/{JUDGE}/{name}', 'rb').read()[:80] or 1 / 0}"))
    attempt(lambda: loot(os.readlink(f"/proc/{JUDGE}/cwd")))


@attack(verdicts={BLOCKED})
def debug_the_parents():
    """Reads, writes and attaches to the processes above it by calls made for debuggers."""

    # a fork has its modules where its parent has them
    content = ctypes.create_string_buffer(ctypes.string_at(id(sys), 8), 8)
    spans = struct.pack("QQ", ctypes.addressof(content), 8), 1, struct.pack("QQ", id(sys), 8), 1, 0
    seize = 0x4206
    for pid in parents():
        attempt(
            lambda: loot(libc("process_vm_readv", pid, *spans)),
            lambda: loot(libc("process_vm_writev", pid, *spans)),
            lambda: loot(libc("ptrace", seize, pid, None, None)),
        )
        for number in range(20):
            attempt(lambda: loot(f"descriptor {syscall(438, syscall(434, pid, 0), number, 0)}"))
    libc("ptrace", seize, os.getppid(), None, None)
