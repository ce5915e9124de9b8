"""What attacks may use: harness.py puts this file before each attack's code, with values for the
names at the top.
"""

import ctypes
import json
import os
import struct
import sys
import time

# A new token for each attack, which all that it leaves must contain; folders; sockets' addresses
MARK = ROOT = HIDDEN = GOLD = OTHER = FOLDER = HOME = UNIX = ABSTRACT = ""
JUDGE = KEY = PORT = 0  # a process; the first of 20 keys in the kernel; a TCP socket's port
LIMIT = 300  # MiB, of the attacks on memory
SURFACES = (
    "<script>alert(1)</script>\x1b[2J\x1b]0;passed\x07\u202edessap\u2066\u061c\x9b31m\r\u200e"
)

C = ctypes.CDLL(None, use_errno=True)


def begin():
    """Give this process and its children the mark as their name."""
    C.prctl(15, MARK.encode())
    os.environ["HOSTILE_MARK"] = MARK


class Loot(BaseException):
    pass


def loot(text="it worked"):
    """Called with what an attack got and should not have got. The sign is nowhere in the source, so
    no traceback shows it.
    """
    line = f"LOOT-{MARK[::-1]} {text}"[:300]
    os.write(1, (line + "\n").encode("utf-8", "replace"))
    raise Loot(line)


def attempt(*ways):
    """Try every way in turn; an exception is a wall."""
    for way in ways:
        try:
            way()
        except Exception:
            pass


def opened(path, flags=os.O_WRONLY):
    """Loot if a file can be opened, by default to write."""
    attempt(lambda: os.close(os.open(path, flags | os.O_NONBLOCK)) or loot(path))


def held(what):
    """Loot if it may be held for half a second."""
    time.sleep(0.5)
    loot(what)


def libc(name, *arguments):
    """Call a C function, which returns -1 where it fails."""
    result = getattr(C, name)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return result


def syscall(number, *arguments):
    """Make a system call (numbers are those of x86-64)."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return libc("syscall", ctypes.c_long(number), *words)


def parents():
    """The processes above this one, as far as they can be seen, up to the judge."""
    pid = os.getppid()
    while pid > 0:
        yield pid
        if pid == JUDGE:
            return
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            return


def daemon(work):
    """Run a function in a process that is started as those of a system are."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                work()
            finally:
                os._exit(0)
        os._exit(0)


def callers():
    """The frames that called this."""
    frame = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back


def overwrite(model):
    """Overwrite all weights that the callers have with those of a model."""
    import torch

    right = model.state_dict()
    for kept in [value for frame in callers() for value in [*frame.f_locals.values()]]:
        if isinstance(kept, torch.nn.Module):
            kept = kept.state_dict()
        for name in right if isinstance(kept, dict) else ():
            if torch.is_tensor(kept.get(name)):
                kept[name].data.copy_(right[name])


def write(data):
    """Write to the pipe for the answer: all that is open, but for standard input and output."""
    for number in range(3, 256):
        try:
            rest = data
            while rest:
                rest = rest[os.write(number, rest) :]
        except OSError:
            pass


# a message as a probe's answer would be, that says 'passed'
GRADE = [["verdict", "passed"], ["passed", True], ["score", 2], ["id", "1c-0-basic"]]
TEXT = json.dumps({"dict": [["value", {"dict": GRADE}]]}).encode()
GRADED = struct.pack("<I", len(TEXT)) + TEXT
