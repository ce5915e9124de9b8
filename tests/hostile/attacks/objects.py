"""Answering with objects that lie about themselves, and failing with exceptions that do."""

from hostile.attack import EXCEPTION, MEMORY, TIMEOUT, WRONG, Hostile
from instructor.mistakes.patches import Fill

SURFACES = "<script>alert(1)</script>\x1b[2J\x1b]0;passed\x07\u202edessap\u2066\u061c\x9b31m\r\x00\u200e=HYPERLINK('http://x')"


def returns(name, tries, seen, code, value, verdicts=frozenset({WRONG}), **more):
    """Make an attack in which dataset[i] returns `value`."""
    return Hostile(
        name,
        tries,
        seen,
        code,
        changes=(Fill("CharCorruptionDataset.__getitem__", f"return {value}"),),
        verdicts=verdicts,
        everywhere=False,
        sandbox=False,
        **more,
    )


def raises(name, tries, seen, code, verdicts=frozenset({EXCEPTION}), **more):
    """Make an attack that fails in a special way."""
    return Hostile(
        name, tries, seen, code, verdicts=verdicts, everywhere=False, sandbox=False, **more
    )


HOSTILE = [
    returns(
        "always-equal",
        "Answers with objects that are equal to everything, and true.",
        "An object is no tensor.",
        """
class Equal:
    __eq__ = __ge__ = __le__ = __bool__ = __contains__ = lambda self, *other: True
    __hash__ = lambda self: 0
    __len__ = lambda self: 40
    def __getattr__(self, name): return self
    def __call__(self, *arguments, **named): return self
    def __iter__(self): return iter([self, self])
""",
        "Equal(), Equal()",
        frozenset({WRONG, EXCEPTION}),
    ),
    returns(
        "tensor-that-lies",
        "Answers with a tensor subclass whose shape and dtype are what is asked for.",
        "The numbers themselves are looked at.",
        """
import torch
class Liar(torch.Tensor):
    shape = property(lambda self: torch.Size([33]))
    dtype = property(lambda self: torch.int64)
    size = dim = nelement = __len__ = lambda self, *rest: 33
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        return True
""",
        "(torch.ones(2, 3).as_subclass(Liar),) * 2",
        frozenset({WRONG, EXCEPTION}),
    ),
    returns(
        "array-that-lies",
        "Answers with a NumPy subclass that gives other bytes than it has.",
        "It is taken for what it holds.",
        """
import numpy
class Liar(numpy.ndarray):
    __array__ = lambda self, *rest, **named: numpy.zeros(33, "int64")
    tobytes = lambda self, *rest: bytes(8 * 33)
    shape, nbytes, size, ndim = (33,), 8, 1, 1
""",
        "(numpy.zeros(3).view(Liar),) * 2",
        frozenset({WRONG, EXCEPTION}),
    ),
    returns(
        "duck-that-hangs",
        "Answers with an object that looks like a tensor, and whose every method does harm.",
        "The time limit ends it.",
        """
import torch
class Duck:
    is_sparse, dtype, device, layout = False, torch.int64, "cpu", torch.strided
    def nelement(self): return 1
    def element_size(self): return 1
    def detach(self):
        while True: pass
""",
        "Duck(), Duck()",
        frozenset({TIMEOUT, EXCEPTION, WRONG}),
        seconds=2,
    ),
    returns(
        "builtin-subclasses",
        "Answers with subclasses of int, str, dict, list and tuple that compare as they like.",
        "They are described as objects of another type.",
        """
class Int(int): __eq__ = __index__ = __lt__ = lambda self, *other: True
class Str(str): __eq__ = encode = lambda self, *other: b"passed"
class Dict(dict): items = lambda self: [("value", "passed")]
class List(list): __iter__ = lambda self: iter(["passed"])
class Pair(tuple): __len__ = lambda self: 2
""",
        "Pair([Int(1), Str('x'), Dict(), List()])",
    ),
    returns(
        "endless-dict",
        "Answers with a dict whose items never end.",
        "The memory or the time limit ends it.",
        """
import itertools
class OrderedDict(dict):
    items = lambda self: itertools.repeat(("k" * 1000, "v" * 1000))
""",
        "OrderedDict(), 1",
        frozenset({MEMORY, TIMEOUT}),
        seconds=10,
        memory=200,
    ),
    returns(
        "pickle-bomb",
        "Answers with objects that run a command when they are unpickled.",
        "Nothing is ever pickled.",
        """
class Bomb:
    def __reduce__(self): return (os.system, ("touch /tmp/@MARK@ /dev/shm/@MARK@ ; echo LOOT-$(echo @MARK@ | rev)",))
    __getstate__ = __reduce_ex__ = lambda self, *protocol: self.__reduce__()
""",
        "Bomb(), [Bomb()]",
    ),
    returns(
        "names-that-write",
        "Answers with objects whose type is named with terminal escapes, HTML and bidirectional "
        "text.",
        "The report shows the characters' numbers.",
        f"""
surfaces = {SURFACES!r}
Named = type("A", (), {{}})
Named.__qualname__ = Named.__module__ = surfaces
""",
        "Named(), surfaces",
    ),
    raises(
        "error-that-writes",
        "Fails with terminal escapes, HTML and bidirectional text in message, type, function and "
        "file name.",
        "The report shows the characters' numbers.",
        f"""
surfaces = {SURFACES!r}
def fail():
    raise type(surfaces.replace(chr(0), ""), (ValueError,), {{}})(surfaces)
fail.__code__ = fail.__code__.replace(co_name=surfaces, co_filename=os.path.dirname(__file__) + "/" + surfaces.replace(chr(0), "") + ".py")
print(surfaces)
fail()
""",
    ),
    raises(
        "long-error",
        "Fails with a message of 10 MB, after printing as much.",
        "A part of it is shown.",
        """
print("x" * 10_000_000)
raise ValueError("y" * 10_000_000)
""",
    ),
    raises(
        "error-that-loops",
        "Fails with an exception whose text is never ready.",
        "The time limit ends it.",
        """
class Endless(Exception):
    def __str__(self):
        while True: pass
    __repr__ = __str__
raise Endless
""",
        frozenset({TIMEOUT}),
        seconds=2,
    ),
    raises(
        "error-in-itself",
        "Fails with an exception that is its own cause, with a traceback that goes in circles.",
        "It is an exception.",
        """
class Circle(BaseException):
    __cause__ = property(lambda self: self)
    __context__ = __cause__
    name = property(lambda self: 1 / 0)
    __traceback__ = property(lambda self: self)
raise Circle("circle")
""",
        frozenset(),
    ),
    raises(
        "syntax-error-of-others",
        "Fails with a SyntaxError that names the grader's files and lines that do not exist.",
        "It is an exception, and nothing of the file is shown.",
        """
raise SyntaxError("bad", ("@ROOT@/instructor/checks/problem1/q1c.py", 3, 1, "LINE"))
""",
        frozenset({EXCEPTION}),
    ),
]
