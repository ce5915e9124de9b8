"""Answering with objects that lie about themselves, and failing with exceptions that do."""

from hostile.attack import EXCEPTION, MEMORY, TIMEOUT, WRONG, family
from hostile.prelude import *
from instructor.mistakes.patches import Fill

HOSTILE, attack = family(verdicts={EXCEPTION}, everywhere=False, sandbox=False)


def returns(value, verdicts=frozenset({WRONG}), **more):
    """An attack in which dataset[i] returns `value`."""
    changes = (Fill("CharCorruptionDataset.__getitem__", f"return {value}"),)
    return attack(changes=changes, verdicts=verdicts, **more)


@returns("array, tensor", {WRONG, EXCEPTION})
def numbers_that_lie():
    """Answers with an array and a tensor that lie about their shape, dtype and bytes."""
    import numpy
    import torch

    class Array(numpy.ndarray):
        __array__ = lambda self, *rest, **named: numpy.zeros(33, "int64")
        tobytes = lambda self, *rest: bytes(8 * 33)
        shape, nbytes, size, ndim = (33,), 8, 1, 1

    class Tensor(torch.Tensor):
        shape = property(lambda self: torch.Size([33]))
        dtype = property(lambda self: torch.int64)
        size = dim = nelement = __len__ = lambda self, *rest: 33
        __torch_function__ = classmethod(lambda *arguments, **named: True)

    array, tensor = numpy.zeros(3).view(Array), torch.ones(2, 3).as_subclass(Tensor)


@returns("OrderedDict(), 1", {MEMORY, TIMEOUT}, memory=200)
def endless_dict():
    """Answers with a dict whose items never end."""
    import itertools

    class OrderedDict(dict):
        items = lambda self: itertools.repeat(("k" * 1000, "v" * 1000))


@returns("Bomb(), [Bomb()]")
def pickle_bomb():
    """Answers with objects that run a command when they are unpickled. Nothing is ever pickled."""

    class Bomb:
        def __reduce__(self):
            command = f"touch /tmp/{MARK} /dev/shm/{MARK}; echo LOOT-$(echo {MARK} | rev)"
            return os.system, (command,)

        __getstate__ = __reduce_ex__ = lambda self, *protocol: self.__reduce__()


@returns("Named(), SURFACES")
def names_that_write():
    """Answers with a text and an object's type in terminal escapes, HTML, bidirectional text."""
    Named = type("A", (), {})
    Named.__qualname__ = Named.__module__ = SURFACES + "\x00"


@attack()
def error_that_writes():
    """Fails with terminal escapes, HTML and bidirectional text in all that is shown."""

    def fail():
        raise type(SURFACES, (ValueError,), {})(SURFACES + "\x00=HYPERLINK('http://x')")

    file = f"{os.path.dirname(__file__)}/{SURFACES}.py"
    fail.__code__ = fail.__code__.replace(co_name=SURFACES, co_filename=file)
    print(SURFACES)
    fail()


@attack()
def long_error():
    """Fails with a message of 10 MB, after printing as much."""
    print("x" * 10_000_000)
    raise ValueError("y" * 10_000_000)


@attack(verdicts=set())
def error_in_itself():
    """Fails with an exception that is its own cause, with a traceback that goes in circles."""

    class Circle(BaseException):
        __cause__ = __context__ = __traceback__ = property(lambda self: self)
        name = property(lambda self: 1 / 0)

    raise Circle("circle")


@attack()
def syntax_error_of_others():
    """Fails with a SyntaxError that names a secret file, whose line a report might show."""
    raise SyntaxError("bad", (f"{GOLD}/canary.py", 1, 1, "LINE"))
