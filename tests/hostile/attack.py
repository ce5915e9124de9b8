"""Defines a hostile submission and the helpers that its code may use."""

from collections.abc import Callable
from dataclasses import dataclass, field

from instructor.mistakes.patches import Fill

# Questions 1c and 1d (train) without a solution: points for them mean cheating.
STUB = (Fill("CharCorruptionDataset.__getitem__", 'raise NotImplementedError("1c: __getitem__")'),)

BLOCKED, CRASHED, EXCEPTION, MEMORY, MISSING, PASSED, TIMEOUT, WRONG = (
    "blocked by the sandbox",
    "crashed",
    "exception",
    "out of memory",
    "not implemented",
    "passed",
    "timeout",
    "wrong answer",
)
# The outcome of an attack that hits a wall and then answers nothing.
DENIED = frozenset({BLOCKED, EXCEPTION, MISSING})


@dataclass(frozen=True)
class Hostile:
    """A hostile submission: the reference with changes, and code that runs when it is imported.

    In all its text, harness.py replaces @MARK@ (a new token, which everything that the attack
    leaves must contain) and the names in scene.Scene.places.

    Args:
        name: short.
        tries: what it attempts, in a sentence.
        seen: what must be observed instead, in a sentence.
        code: put at the beginning of `file`, after PRELUDE.
        checks: ids or questions to grade.
        points: the most that it may earn on them, for its honest part.
        changes: Edits and Fills of the reference.
        files: additional files, or replacements of the reference's.
        prepare: (folder, names of places), for links, results and the like.
        verdicts: the checks' allowed verdicts; empty for any but a grader error.
        says: a regular expression that the details of every failed check contain.
        refused: the intake must refuse the whole submission.
        seconds, memory: the limits of each check, instead of the manifest's.
        waits: seconds after which something left behind would show.
        lasting: it might affect processes started later, so an honest submission is graded on a new
            one, too.
        everywhere: it reaches the sandbox, so it is tried at every isolation level; others at one.
        sandbox: only the sandbox stops it. Without one it succeeds, which shows that it is real;
            the others are stopped by the grader's design.
    """

    name: str
    tries: str
    seen: str
    code: str = ""
    file: str = "dataset.py"
    checks: tuple[str, ...] = ("1c-0-basic",)
    points: float = 0
    changes: tuple = STUB
    files: dict[str, str | bytes] = field(default_factory=dict)
    prepare: Callable | None = None
    verdicts: frozenset = frozenset()
    says: str = ""
    refused: bool = False
    seconds: float = 8
    memory: int | None = None
    waits: float = 0
    lasting: bool = False
    everywhere: bool = True
    sandbox: bool = True


# Precedes every attack's code. The process gets the mark as its name, which its children inherit.
PRELUDE = '''
import ctypes, os, struct, sys, time

_c = ctypes.CDLL(None, use_errno=True)


class Loot(BaseException):
    pass


def loot(text="it worked"):
    """Called with what an attack got and should not have got. The sign is nowhere in the source, so no traceback shows it."""
    line = f"LOOT-{'@MARK@'[::-1]} {text}"[:300]
    os.write(1, (line + "\\n").encode("utf-8", "replace"))
    raise Loot(line)


def libc(name, *arguments):
    """Call a C function, which returns -1 where it fails."""
    result = getattr(_c, name)(*arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    return result


def syscall(number, *arguments):
    """Make a system call (numbers are those of x86-64)."""
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return libc("syscall", ctypes.c_long(number), *words)


def attempt(*ways):
    """Try every way in turn; an exception is a wall."""
    for way in ways:
        try:
            way()
        except Exception:
            pass


def parents():
    """The processes above this one, as far as they can be seen, up to the judge."""
    pid = os.getppid()
    while pid > 0:
        yield pid
        if pid == int("@JUDGE@"):
            return
        try:
            with open(f"/proc/{pid}/stat") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            return


if hasattr(_c, "prctl"):
    _c.prctl(15, b"@MARK@")
os.environ["HOSTILE_MARK"] = "@MARK@"
'''
