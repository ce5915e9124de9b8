"""Privilege escalation: namespaces, mounts, capabilities, setuid programs, rare system calls."""

from hostile.attack import BLOCKED, DENIED, MISSING, family
from hostile.prelude import *

HOSTILE, attack = family(verdicts={BLOCKED, MISSING})


@attack()
def namespaces():
    """Makes new namespaces of each kind in three ways, and enters those of other processes."""

    def clone(flags):
        if syscall(56, flags | 17, 0, 0, 0, 0) == 0:
            os._exit(0)
        loot(f"clone {flags:x}")

    def clone3(flags):
        if syscall(435, struct.pack("<11Q", flags, 0, 0, 0, 17, *[0] * 6), 88) == 0:
            os._exit(0)
        loot(f"clone3 {flags:x}")

    user, mount, pid, net = 0x10000000, 0x20000, 0x20000000, 0x40000000
    uts, ipc, cgroup = 0x4000000, 0x8000000, 0x2000000
    for flag in (user, mount, pid, net, uts, ipc, cgroup):
        attempt(
            lambda: loot(f"unshare {flag:x} {libc('unshare', flag)}"),
            lambda: clone(flag),
            lambda: clone3(flag),
        )
    for pid in (*parents(), 1):
        for kind in ("mnt", "net", "pid", "ipc", "user"):
            attempt(lambda: loot(libc("setns", os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), 0)))
        attempt(lambda: loot(libc("setns", syscall(434, pid, 0), mount)))


@attack()
def mounts():
    """Mounts and unmounts, by the old system calls and by the new ones; changes its root."""

    def mount(source, kind, flags):
        here = os.getcwd().encode()
        libc("mount", source, here, kind, flags, None)
        libc("umount2", here, 2)
        loot(f"mounted {source}")

    attempt(
        lambda: mount(b"none", b"tmpfs", 0),
        lambda: mount(b"/", None, 0x1000),
        lambda: loot(libc("umount2", b"/proc", 2)),
        lambda: loot(syscall(430, b"tmpfs", 0)),
        lambda: loot(syscall(428, -100, b"/", 1)),
        lambda: os.chroot(".") or loot(os.listdir("/")),
        lambda: loot(libc("pivot_root", b".", b".")),
    )


@attack()
def rights_of_root():
    """Becomes another user, makes device files, and sets the machine's name and clock."""
    import socket

    now = time.CLOCK_REALTIME
    attempt(
        lambda: os.getuid() and (os.setresuid(0, 0, 0) or loot("root")),
        lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)) or loot("a block device"),
        lambda: os.mknod("memory", 0o20600, os.makedev(1, 1)) or loot("a character device"),
        lambda: socket.sethostname(socket.gethostname()) or loot("name"),
        lambda: time.clock_settime(now, time.clock_gettime(now)) or loot("clock"),
        lambda: os.setgroups([0]) or loot("groups"),
        lambda: os.setresuid(1, 1, 1) or loot("another user"),
        lambda: os.setresgid(2, 2, 2) or loot("another group"),
    )
    header, sets = struct.pack("<Ii", 0x20080522, 0), ctypes.create_string_buffer(24)
    syscall(125, header, sets)
    if any(struct.unpack("<6I", sets.raw)[i] for i in (0, 1, 3, 4)):
        loot(f"capabilities {sets.raw.hex()}")


@attack()
def setuid_programs():
    """Runs the programs that become root for whoever starts them."""
    import subprocess

    if C.prctl(39, 0, 0, 0, 0) != 1:
        loot("programs may still gain rights")
    for command in ("su -c true", "sudo -n true", "pkexec true", "mount /mnt", "newgrp root"):
        run = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 2}
        attempt(lambda: subprocess.run(command.split(), **run).returncode == 0 and loot(command))


@attack()
def calls_into_the_kernel():
    """Loads modules and programs into the kernel, measures others, and opens io_uring."""
    program = struct.pack("<12I", 1, 4, 4, 1, *[0] * 8)
    counter = struct.pack("<IIQQQQ", 1, 112, 0, 0, 0, 0) + bytes(72)
    calls = {  # init_module, kexec_load, swapon, iopl, bpf, perf_event_open, userfaultfd, io_uring
        175: (None, 0, b""),
        246: (0, 0, None, 0),
        167: (b"/nowhere", 0),
        172: (3,),
        321: (0, program, 48),
        298: (counter, 0, -1, -1, 0),
        323: (0,),
        425: (8, ctypes.create_string_buffer(248)),
    }
    for number, arguments in calls.items():
        try:
            syscall(number, *arguments)
        except PermissionError:
            continue
        except OSError as error:  # it was looked at
            loot(f"system call {number}: {error}")
        loot(f"system call {number}")


@attack(verdicts=DENIED, sandbox=False)
def type_into_the_terminal():
    """Types a command into the terminal of whoever runs the grader. There is none."""
    import fcntl

    terminal = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK
    attempt(lambda: fcntl.ioctl(os.open("/dev/tty", terminal), 0x5412, b" ") or loot("typed"))
    for number in range(3):
        attempt(lambda: fcntl.ioctl(number, 0x5412, b" ") or loot(number))
