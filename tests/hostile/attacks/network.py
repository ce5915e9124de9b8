"""Network access: sockets of all kinds, and system calls that bypass the filter."""

from hostile.attack import BLOCKED, CRASHED, DENIED, family
from hostile.prelude import *

HOSTILE, attack = family(verdicts=DENIED)


@attack(verdicts={BLOCKED})
def calls_out():
    """Sends its answers to somebody by TCP, and as the name in a DNS question, by UDP."""
    import socket

    here = ("127.0.0.1", PORT)
    attempt(lambda: socket.create_connection(here, 2).sendall(MARK.encode()) or loot("connected"))
    name = bytes([len(MARK)]) + MARK.encode()
    question = b"\0\1\1\0\0\1\0\0\0\0\0\0" + name + b"\7invalid\0\0\1\0\1"
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, here)
    loot("sent")


@attack()
def sockets_of_every_kind():
    """Listens, makes packets by hand, and tries all rare families, such as vsock to the host."""
    import socket

    for kind, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        attempt(lambda: loot(socket.create_server((address, 0), family=kind).getsockname()))
    for domain, kind, protocol in ((2, socket.SOCK_RAW, 1), (2, 2, 1), (17, socket.SOCK_RAW, 768)):
        attempt(lambda: loot(socket.socket(domain, kind, protocol)))
    kinds = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET
    for domain in range(2, 46):
        for kind in kinds:
            attempt(lambda: loot(f"family {socket.socket(domain, kind).family}"))


@attack()
def services_of_the_machine():
    """Calls services at an abstract socket and at an open socket file, as Docker's is one."""
    import socket

    for address in ("\0" + ABSTRACT, UNIX):
        attempt(lambda: socket.socket(socket.AF_UNIX).connect(address) or loot("connected"))


@attack(verdicts=DENIED | {CRASHED})
def sockets_of_32_bit_programs():
    """Asks for a socket by the system calls of 32-bit programs, which a filter may overlook."""
    import mmap

    pushes, pops = b"\x53\x56\x57", b"\xcd\x80\x5f\x5e\x5b\xc3"
    values = zip((b"\xb8", b"\xbb", b"\xb9", b"\xba", b"\xbe"), (359, 2, 1, 0, 0))
    loads = b"".join(register + struct.pack("<I", value) for register, value in values)
    rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=rights)
    page.write(pushes + loads + pops)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    made = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if made >= 0:
        loot(f"socket {made}")
    raise OSError(-made, os.strerror(-made))


@attack(verdicts=DENIED | {CRASHED}, sandbox=False)
def sockets_of_x32_programs():
    """Asks for a socket by the numbers of the x32 interface, which a filter may overlook."""
    loot(f"socket {syscall(0x40000000 + 41, 2, 1, 0)}")
