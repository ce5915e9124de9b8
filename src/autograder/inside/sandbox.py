"""How a forked check sandboxes itself before it runs a submission: it drops rights for good.

On the level "bubblewrap" the process is in namespaces already, and adds a seccomp filter. On
"landlock" it switches to a user of its own, has Landlock forbid all files but a few, and adds the
same filter. On "limits" there is no sandbox.
"""

import contextlib
import ctypes
import errno
import os
import site
import socket
import struct
import sys
from pathlib import Path

# System calls that no answer needs, and that reach other processes, rarely used parts of the
# kernel, or memory that is charged to no process.
DENIED = """
ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
unshare setns mount umount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount
fspick mount_setattr
name_to_handle_at open_by_handle_at fanotify_init lookup_dcookie quotactl quotactl_fd acct swapon
swapoff
bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register keyctl add_key
request_key
init_module finit_module delete_module kexec_load kexec_file_load reboot syslog vhangup personality
modify_ldt iopl ioperm
settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname
memfd_create memfd_secret shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv
msgctl
mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify vmsplice
sched_setscheduler sched_setparam sched_setattr ioprio_set
""".split()
NEW_NAMESPACES = (0x20000, *(1 << bit for bit in range(25, 31)))  # CLONE_NEW*
SHARED_ANONYMOUS = 0x21  # mmap's MAP_SHARED and MAP_ANONYMOUS
TERMINAL_INPUT = (0x5412, 0x541C)  # ioctls TIOCSTI, TIOCLINUX: they inject terminal input

# From <linux/landlock.h>; the system call numbers are the same on all architectures.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
MAKE_CHAR, MAKE_DIR, MAKE_BLOCK = 1 << 6, 1 << 7, 1 << 11
FIRST_RIGHTS = (1 << 13) - 1  # of version 1; later versions add some
LATER_RIGHTS = ((2, 1 << 13), (3, TRUNCATE), (5, 1 << 15))
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | 1 << 15
PR_SET_DUMPABLE, PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 1, 36, 38

SYSTEM = (
    *(
        f"{top}/{name}"
        for top in ("/usr", "/usr/local")
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "share")
    ),
    *"/lib /lib32 /lib64 /bin /sbin".split(),
    *"/etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/alternatives /etc/localtime".split(),
    *"/sys/devices/system/cpu /sys/devices/system/node".split(),
)
# torch reads the processor's features; a namespace has a /proc of its own
HARDWARE = ("/proc/cpuinfo", "/proc/meminfo")
DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
SHARED_MEMORY = "/dev/shm"  # multiprocessing keeps locks there, torch the workers' batches
MOST_PROCESSES = 2**22  # that Linux can number


class SandboxError(OSError):
    """Part of the sandbox could not be set up; the message says which, and what would help."""


def prctl(option: int, value: int) -> None:
    """Make the system call; failures don't matter to its callers."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def python_folders() -> list[str]:
    """The folders that this Python imports from: its own, its virtual environment's, the user's,
    and those added by a .pth file where an installer has put packages. Neither a whole prefix nor
    anything else on sys.path: the grader itself may be there.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    paths = {
        os.path.join(prefix, name)
        for prefix in prefixes
        for name in ("bin", "lib", "lib64", "share", "etc", "ssl", "pyvenv.cfg")
    }
    paths |= {
        os.path.dirname(os.path.realpath(sys.executable)),
        *([site.getusersitepackages()] if site.ENABLE_USER_SITE else []),
    }
    paths |= {
        path
        for path in sys.path
        if os.path.isabs(path)
        and any(Path(path).glob("*.dist-info"))
        and not Path(__file__).resolve().is_relative_to(os.path.realpath(path))
    }
    return sorted(
        {
            path
            for given in paths
            for path in (given, os.path.realpath(given))
            if os.path.exists(path)
        }
    )


def build_filter(unix_sockets: bool):
    """The seccomp filter, as an object with load().

    Args:
        unix_sockets: whether the process may connect to Unix sockets; only if it can reach no
            others than its own.

    Raises:
        SandboxError: libseccomp or pyseccomp is missing.
    """
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError) as error:
        raise SandboxError(
            f"seccomp: {error} (pip install pyseccomp; apt install libseccomp2)"
        ) from None
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    refuse = seccomp.ERRNO(errno.EPERM)

    def add(action, name, *conditions):
        # unknown on this architecture, or to an older libseccomp
        with contextlib.suppress(OSError, ValueError):
            rules.add_rule(action, name, *conditions)

    for name in DENIED:
        add(refuse, name)
    # its flags are in memory, which a filter can't read; libc then falls back to clone
    add(seccomp.ERRNO(errno.ENOSYS), "clone3")
    for flag in NEW_NAMESPACES:
        add(refuse, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    add(refuse, "socket", seccomp.Arg(0, seccomp.NE, socket.AF_UNIX))
    if not unix_sockets:  # connected pairs and listening remain
        add(refuse, "connect")
        for name in ("socket", "socketpair"):  # a datagram carries its own address
            add(refuse, name, seccomp.Arg(1, seccomp.MASKED_EQ, 0xF, socket.SOCK_DGRAM))
    for name in ("prlimit64", "migrate_pages", "move_pages"):  # of any other process
        add(refuse, name, seccomp.Arg(0, seccomp.NE, 0))
    add(refuse, "setpriority", seccomp.Arg(1, seccomp.NE, 0))
    # so that its resource use stays visible
    add(refuse, "prctl", seccomp.Arg(0, seccomp.EQ, PR_SET_DUMPABLE))
    # shared anonymous memory persists while nothing maps it
    add(refuse, "mmap", seccomp.Arg(3, seccomp.MASKED_EQ, SHARED_ANONYMOUS, SHARED_ANONYMOUS))
    for request in TERMINAL_INPUT:
        add(refuse, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, 0xFFFFFFFF, request))
    return rules


def landlock_version() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    return max(0, _syscall(CREATE_RULESET, None, 0, 1))


def _syscall(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(
        ctypes.c_long(number), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments)
    )


def restrict_files(read: list[str], write: list[str]) -> None:
    """Use Landlock to restrict this process, from now on, to files and folders beneath `read`,
    `write` and SHARED_MEMORY; and, if the kernel is new enough, to forbid TCP, signals to other
    processes, and their abstract sockets.

    Raises:
        SandboxError: the kernel has no Landlock.
    """
    version = landlock_version()
    if not version:
        raise SandboxError(
            "Landlock: this kernel lacks it or has it disabled (it needs Linux 5.13)"
        )
    rights = FIRST_RIGHTS | sum(right for since, right in LATER_RIGHTS if version >= since)
    # files; TCP bind and connect; sockets and signals
    fields = [rights] + [0b11] * (version >= 4) + [0b11] * (version >= 6)
    attributes = struct.pack(f"<{len(fields)}Q", *fields)
    ruleset = _syscall(CREATE_RULESET, attributes, len(attributes), 0)
    reading = EXECUTE | READ_FILE | READ_DIR
    writing = rights & ~(EXECUTE | MAKE_CHAR | MAKE_BLOCK)
    allowed = [(path, reading) for path in read] + [(path, writing) for path in write]
    # without subfolders, so that it can be measured and cleaned quickly
    allowed += [(SHARED_MEMORY, writing & ~MAKE_DIR)]
    allowed += [(path, READ_FILE | WRITE_FILE) for path in DEVICES]
    for path, access in allowed:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # it doesn't exist
        if not os.path.isdir(path):
            access &= OF_FILES
        rule = struct.pack("<Qi", access & rights, handle)
        failed = _syscall(ADD_RULE, ruleset, 1, rule, 0)
        os.close(handle)
        if failed:
            raise SandboxError(f"Landlock: no rule for {path}: {os.strerror(ctypes.get_errno())}")
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if ruleset < 0 or _syscall(RESTRICT_SELF, ruleset, 0):
        raise SandboxError(f"Landlock: {os.strerror(ctypes.get_errno())}")
    os.close(ruleset)


def free_users(count: int) -> list[int]:
    """User ids that no account and no process uses, and no other server: they depend on our number
    among the processes.

    Raises:
        SandboxError: none is free, or we are not root.
    """
    import pwd  # Windows has none

    if os.getuid() != 0:
        raise SandboxError("another user: only root can become one")
    taken = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended in the meantime
            taken.add(os.stat(path).st_uid)

    def is_free(user):
        try:
            pwd.getpwuid(user)
        except KeyError:
            return user not in taken
        return False

    known = Path("/proc/self/uid_map").read_text(encoding="utf-8").split()
    # a container may know the first 65,536 ids alone; then servers may meet, however rarely
    first, room = (10**9, 10**9) if int(known[0]) + int(known[2]) > 2**31 else (20_000, 40_000)
    for attempt in range(100):
        start = first + count * (os.getpid() + attempt * MOST_PROCESSES) % room
        if all(map(is_free, users := range(start, start + count))):
            return [*users]
    raise SandboxError("another user: no user id is free")


@contextlib.contextmanager
def acting_as(user: int | None):
    """Act as the user while root reads /proc about the user's processes: a container's root may
    lack the right to inspect others.
    """
    if user is None:
        yield
        return
    os.setegid(user)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def become(user: int) -> None:
    """Switch to the user for good, without any groups or capabilities."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
