"""Reading secrets: checks, answers, other submissions, seeds, the judge's environment and
memory.
"""

from hostile.attack import BLOCKED, DENIED, Hostile

HOSTILE = [
    Hostile(
        "read-secrets",
        "Opens the hidden checks, the answers of the test questions, another student's solution, "
        "and in the grader's own folder its manifest and verdicts.",
        "The files do not exist, or cannot be opened.",
        """
ours = ["@ROOT@/instructor/checks", "@ROOT@/instructor/gold"]
for folder in ("@HIDDEN@", "@GOLD@", "@OTHER@", *ours):
    for name in ("canary.py", "q1c.py", "problem1/q1c.py", "laptop/birth_test.tsv", "dataset.py"):
        attempt(lambda: loot(open(f"{folder}/{name}").read()))
    attempt(lambda: loot(os.listdir(folder)))
for path in ("src/checks/manifest.toml", "src/autograder/judge.py", "pyproject.toml", ".git/HEAD"):
    attempt(lambda: loot(open("@ROOT@/" + path).read()))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "read-by-openat",
        "Walks up from its own folder, by descriptors instead of names, until it meets a secret.",
        "Above its own folder, nothing of the grader's can be seen.",
        """
def climb(place):
    here = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(12):
        here = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        for target in ("@GOLD@", "@ROOT@/instructor"):
            attempt(lambda: loot(os.listdir(os.open(target[1:], os.O_RDONLY, dir_fd=here))))
for place in (".", os.path.dirname(__file__), "/tmp", "/usr"):
    attempt(lambda: climb(place))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "search-the-disk",
        "Searches the places where graders keep things for file names that look like a secret.",
        "No such name is found.",
        """
for top in ("/tmp", "/var/tmp", "/autograder", "/home", "/srv", "/opt", os.path.dirname("@ROOT@")):
    for parent, folders, names in os.walk(top):
        if parent.count("/") > top.count("/") + 3:
            folders.clear()
        if parent.startswith(os.path.dirname(os.path.dirname(__file__))):
            continue
        for name in names:
            if name in ("canary.py", "birth_test.tsv", "q1c.py", "manifest.toml"):
                loot(os.path.join(parent, name))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "read-through-proc-root",
        "Goes to the secrets by way of other processes' roots and working directories in /proc.",
        "Those links cannot be followed, or lead to the same sandbox.",
        """
for pid in [*parents(), 1, "self", "thread-self"]:
    for link in ("root", "cwd"):
        attempt(lambda: loot(open(f"/proc/{pid}/{link}@GOLD@/canary.py").read()),
                lambda: loot(open(f"/proc/{pid}/{link}@ROOT@/pyproject.toml").read()))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "open-by-handle",
        "Opens the root of the disk by a file handle, past all names, as an escape from Docker "
        "once did.",
        "The system call is refused.",
        """
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 128)]
handle, mount = Handle(128), ctypes.c_int()
libc("name_to_handle_at", -100, b"/usr", ctypes.byref(handle), ctypes.byref(mount), 0)
loot(os.listdir(libc("open_by_handle_at", os.open("/usr", os.O_RDONLY), ctypes.byref(handle), os.O_RDONLY)))
""",
        verdicts=frozenset({BLOCKED}),
    ),
    Hostile(
        "read-own-environment",
        "Looks for what the judge's environment left in its own, and in that of the process above.",
        "There is a PATH and a few more names, and no token.",
        """
for place in ("self", os.getppid()):
    attempt(lambda: b"HOSTILE_CANARY" in open(f"/proc/{place}/environ", "rb").read() and loot("the judge's token"))
if "HOSTILE_CANARY" in os.environ or any("KEY" in name or "TOKEN" in name or "SECRET" in name for name in os.environ):
    loot(sorted(os.environ))
""",
        verdicts=DENIED,
        sandbox=False,
    ),
    Hostile(
        "read-judge-in-proc",
        "Reads the judge's environment, memory map, working directory and command line, in which a "
        "seed may stand.",
        "There is no such process to be seen.",
        """
for name in ("environ", "maps", "cmdline", "status"):
    attempt(lambda: loot(f"{name}: {open(f'/proc/@JUDGE@/{name}', 'rb').read()[:80] or 1 / 0}"))
attempt(lambda: loot(os.readlink("/proc/@JUDGE@/cwd")))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "parent-memory",
        "Opens the memory of the process that forked it, to read requests and to write into later "
        "checks.",
        "It cannot be opened.",
        """
for pid in parents():
    attempt(lambda: loot(open(f"/proc/{pid}/mem", "r+b", buffering=0)), lambda: loot(open(f"/proc/{pid}/mem", "rb", buffering=0)),
            lambda: loot(open(f"/proc/{pid}/maps").read()[:80]))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "process-vm-readv",
        "Reads and writes the memory of the processes above it by system calls made for debuggers.",
        "The system calls are refused.",
        """
class Span(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
mine, theirs = ctypes.create_string_buffer(8), Span(id(sys), 8)        # a fork has its modules where its parent has them
mine.raw = ctypes.string_at(id(sys), 8)
for pid in parents():
    for call in ("process_vm_readv", "process_vm_writev"):
        attempt(lambda: loot(f"{libc(call, pid, ctypes.byref(Span(ctypes.addressof(mine), 8)), 1, ctypes.byref(theirs), 1, 0)} bytes"))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "ptrace-parent",
        "Attaches to the processes above it as a debugger.",
        "The system call is refused.",
        """
SEIZE = 0x4206
for pid in parents():
    attempt(lambda: loot(libc("ptrace", SEIZE, pid, None, None)))
libc("ptrace", SEIZE, os.getppid(), None, None)
""",
        verdicts=frozenset({BLOCKED}),
    ),
    Hostile(
        "parent-descriptors",
        "Opens the parent's descriptors in /proc, among which is the channel to the judge.",
        "They cannot be listed or opened.",
        """
for pid in parents():
    attempt(lambda: [os.close(os.open(f"/proc/{pid}/fd/{name}", os.O_WRONLY | os.O_NONBLOCK)) or loot(f"descriptor {name} of {pid}")
                     for name in os.listdir(f"/proc/{pid}/fd")])
""",
        verdicts=DENIED,
    ),
    Hostile(
        "steal-descriptors",
        "Takes the parent's descriptors over with pidfd_getfd.",
        "The system call is refused.",
        """
parent = syscall(434, os.getppid(), 0)
for number in range(20):
    attempt(lambda: loot(f"descriptor {syscall(438, parent, number, 0)}"))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "descriptors-left-open",
        "Looks at every descriptor that it was started with.",
        "Two are open besides standard input and output: files for its own answer and stack.",
        """
import stat
kinds = []
for number in range(3, 4096):
    attempt(lambda: kinds.append(stat.S_IFMT(os.fstat(number).st_mode)))
if kinds != [stat.S_IFREG] * 2:
    loot(f"{len(kinds)} descriptors are open")
""",
        verdicts=DENIED,
        sandbox=False,
    ),
    Hostile(
        "read-passwords",
        "Opens the system's password file and the grader's home.",
        "They cannot be opened.",
        """
for path in ("/etc/shadow", "/etc/gshadow", "@HOME@/.bashrc", "@HOME@/.profile", "@HOME@/.gitconfig", "@HOME@/.ssh/id_rsa"):
    attempt(lambda: open(path).close() or loot(path))
""",
        verdicts=DENIED,
    ),
    Hostile(
        "read-kernel",
        "Opens the machine's memory, its disks and the kernel's log.",
        "They cannot be opened.",
        """
for path in ("/dev/mem", "/dev/kmsg", "/proc/kcore", "/dev/vda", "/dev/sda", "/dev/nvme0n1"):
    attempt(lambda: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK)) or loot(path))
attempt(lambda: loot(f"a log of {syscall(103, 10, 0, 0)} bytes"))
""",
        verdicts=DENIED,
    ),
]
