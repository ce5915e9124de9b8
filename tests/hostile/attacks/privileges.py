"""Privilege escalation: namespaces, mounts, capabilities, programs that run as root, and rarely
used parts of the kernel.
"""

from hostile.attack import BLOCKED, DENIED, MISSING, Hostile


def refused(
    name,
    tries,
    code,
    seen="The system call is refused.",
    verdicts=frozenset({BLOCKED, MISSING}),
    **more,
):
    """Make an attack by system calls that are refused."""
    return Hostile(name, tries, seen, code, verdicts=verdicts, **more)


HOSTILE = [
    refused(
        "new-namespaces",
        "Makes itself root of a user namespace, by unshare, clone and clone3, and of each other "
        "kind.",
        """
kinds = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "uts": 0x4000000, "ipc": 0x8000000,
         "cgroup": 0x2000000}
def clone(flags):
    if syscall(56, flags | 17, 0, 0, 0, 0) == 0:
        os._exit(0)
    loot(f"clone {flags:x}")
def clone3(flags):
    if syscall(435, struct.pack("<11Q", flags, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88) == 0:
        os._exit(0)
    loot(f"clone3 {flags:x}")
for name, flag in kinds.items():
    attempt(lambda: loot(f"unshare {name} {libc('unshare', flag)}"), lambda: clone(flag), lambda: clone3(flag))
""",
    ),
    refused(
        "enter-namespaces",
        "Enters the namespaces of the processes above it.",
        """
for pid in (*parents(), 1):
    for kind in ("mnt", "net", "pid", "ipc", "user"):
        attempt(lambda: loot(libc("setns", os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), 0)))
    attempt(lambda: loot(libc("setns", syscall(434, pid, 0), 0x20000)))
""",
    ),
    refused(
        "mount",
        "Mounts and unmounts: by the old system calls, and by the new ones.",
        """
def mount(source, kind, flags):
    here = os.getcwd().encode()
    libc("mount", source, here, kind, flags, None)
    libc("umount2", here, 2)
    loot(f"mounted {source}")
attempt(lambda: mount(b"none", b"tmpfs", 0), lambda: mount(b"/", None, 0x1000), lambda: loot(libc("umount2", b"/proc", 2)),
        lambda: loot(syscall(430, b"tmpfs", 0)), lambda: loot(syscall(428, -100, b"/", 1)))
""",
    ),
    refused(
        "chroot",
        "Changes its root, to climb out of it with a descriptor that it kept.",
        """
attempt(lambda: os.chroot(".") or loot(os.listdir("/")), lambda: loot(libc("pivot_root", b".", b".")))
""",
    ),
    refused(
        "setuid-programs",
        "Runs the programs that become root for whoever starts them.",
        """
import subprocess
if _c.prctl(39, 0, 0, 0, 0) != 1:
    loot("programs may still gain rights")
for command in (["su", "-c", "true"], ["sudo", "-n", "true"], ["pkexec", "true"], ["mount", "/mnt"], ["newgrp", "root"]):
    attempt(lambda: subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=2).returncode == 0 and loot(command))
""",
        "They have no effect: no program started here can gain rights.",
    ),
    refused(
        "become-root",
        "Becomes root, or any other user, and takes capabilities.",
        """
import grp
attempt(lambda: os.getuid() and (os.setresuid(0, 0, 0) or loot("root")), lambda: os.setgroups([0]) or loot("groups"),
        lambda: os.setresuid(1, 1, 1) or loot("another user"), lambda: os.setresgid(2, 2, 2) or loot("another group"))
header, sets = struct.pack("<Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
syscall(125, header, sets)
if any(struct.unpack("<6I", sets.raw)[i] for i in (0, 1, 3, 4)):
    loot(f"capabilities {sets.raw.hex()}")
""",
        "It has none of these rights.",
    ),
    refused(
        "watch-the-kernel",
        "Loads programs into the kernel, and measures other processes with its counters.",
        """
attempt(lambda: loot(syscall(321, 0, struct.pack("<IIIIIIIIIIII", 1, 4, 4, 1, *[0] * 8), 48)),
        lambda: loot(syscall(298, struct.pack("<IIQQQQ", 1, 112, 0, 0, 0, 0) + bytes(72), 0, -1, -1, 0)))
""",
    ),
    refused(
        "page-faults",
        "Stops the kernel in the midst of a system call by handling page faults itself, as many "
        "exploits do.",
        """
loot(f"descriptor {syscall(323, 0)}")
""",
    ),
    refused(
        "kernel-modules",
        "Loads a module, another kernel, and swaps.",
        """
def refused(number, *arguments):
    try:
        syscall(number, *arguments)
    except PermissionError:
        return
    except OSError as error:
        loot(f"system call {number}: {error}")      # it was looked at
    loot(f"system call {number}")
refused(175, None, 0, b"")
refused(246, 0, 0, None, 0)
refused(167, b"/nowhere", 0)
refused(172, 3)
""",
    ),
    refused(
        "name-the-machine",
        "Changes the name of the machine, and its clock (to what they are).",
        """
import socket
attempt(lambda: socket.sethostname(socket.gethostname()) or loot("name"),
        lambda: time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME)) or loot("clock"))
""",
    ),
    refused(
        "device-files",
        "Makes device files of its own, to read the disk with.",
        """
attempt(lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)) or loot("a block device"),
        lambda: os.mknod("memory", 0o20600, os.makedev(1, 1)) or loot("a character device"))
""",
    ),
    refused(
        "system-switches",
        "Opens the switches of the kernel in /proc and /sys for writing.",
        """
import glob
for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches",
             "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/kernel/mm/transparent_hugepage/enabled",
             *glob.glob("/sys/fs/cgroup/*/cgroup.procs")[:5]):
    attempt(lambda: os.close(os.open(path, os.O_WRONLY)) or loot(path))
""",
        "They cannot be opened.",
        DENIED,
    ),
    refused(
        "type-into-the-terminal",
        "Types a command into the terminal of whoever runs the grader.",
        """
import fcntl
attempt(lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK), 0x5412, b" ") or loot("typed"))
for number in range(3):
    attempt(lambda: fcntl.ioctl(number, 0x5412, b" ") or loot(number))
""",
        "There is no terminal.",
        DENIED,
        sandbox=False,
    ),
]
