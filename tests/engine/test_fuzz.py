"""Whatever arrives, the judge stands: random and spoiled messages, frames and zip files, with
Hypothesis.

FUZZ_CASES=100000 pytest -n 0 tests/engine/test_fuzz.py tries that many in all; by default it is a
look in passing.
"""

import io
import json
import math
import os
import queue
import stat
import struct
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_intake import Pipe, entry, forge, pack, zip64

from autograder import Failed, Submission
from autograder.answer import Answer
from autograder.explain import RemoteError, explain
from autograder.inside import wire
from autograder.intake import Limits, Refused, take
from autograder.process import FOREVER, Reply, StudentProcess
from autograder.report import harmless

TOY = Path(__file__).with_name("toy")

CASES = int(os.environ.get("FUZZ_CASES", 1500))
LIMIT = 1 << 20


def fuzz(share):
    """Settings of a test that gets this share of all cases."""
    return settings(
        max_examples=max(1, round(CASES * share)),
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )


def mostly(usual, odd, times=9):
    """The usual, and once in a while something odd."""
    return st.integers(0, times).flatmap(lambda number: usual if number < times else odd)


NASTY = "\x00\x1b\x85\u202e\u2028\ud800\udfff\ufeff/\\'{"
# st.text draws few nasty ones
TEXT = st.lists(mostly(st.characters(), st.sampled_from(NASTY)), max_size=12).map("".join)
KINDS_OF_DAMAGE = st.sampled_from(["flip", "set", "insert", "delete", "copy", "cut"])
MUTATIONS = st.lists(
    st.tuples(KINDS_OF_DAMAGE, st.integers(0, 2**16), st.binary(min_size=1, max_size=9)),
    min_size=1,
    max_size=5,
)


def mutate(data, mutations):
    """Bytes with some of them changed, added, lost or repeated."""
    data = bytearray(data)
    for kind, place, extra in mutations:
        place %= len(data) + 1
        length = len(extra)
        if kind == "flip" and place < len(data):
            data[place] ^= 1 << extra[0] % 8
        elif kind == "set":
            data[place : place + length] = extra
        elif kind == "insert":
            data[place:place] = extra
        elif kind == "delete":
            del data[place : place + length]
        elif kind == "copy":
            data[place:place] = data[place // 2 : place // 2 + 8 * length]
        elif kind == "cut" and extra[0] < 64:
            del data[place:]
    return bytes(data)


# Messages


def message(tree, rest=b""):
    """A message of JSON that the writer would never write."""
    text = json.dumps(tree).encode()
    return struct.pack("<I", len(text)) + text + rest


def size_of(node):
    """The bytes of the arrays in a tree, for most trees."""
    if isinstance(node, dict):
        array = node.get("array")
        if isinstance(array, dict) and array.get("stored") in wire.DTYPES:
            sizes = [n for n in array["shape"] if type(n) is int]
            return np.dtype(array["stored"]).itemsize * math.prod(sizes)
        return sum(map(size_of, node.values()))
    return sum(map(size_of, node)) if isinstance(node, list) else 0


HUGE = [0, 1, 3, 2**31, 2**40 - 1]
SMALL_SHAPES = st.lists(st.integers(0, 4), max_size=4)
EMPTY_SHAPES = st.lists(st.sampled_from(HUGE), max_size=15).flatmap(
    lambda sizes: st.permutations([0, *sizes])
)
ODD_SIZES = st.integers(0, 4) | st.sampled_from([*HUGE, -1, 2**40, 2**64, True, None, "3", 1.0])
LIES_OF_ARRAYS = {
    "kind": TEXT,
    "dtype": st.just("bfloat16") | TEXT,
    "shape": st.lists(ODD_SIZES, max_size=18),
    "stored": st.sampled_from(["object", "O", ">f4", "datetime64", "", "U9"]),
}


@st.composite
def arrays(draw, odd):
    """A description of an array: right, or perhaps not."""
    stored = draw(st.sampled_from(wire.DTYPES))
    content = {
        "kind": draw(st.sampled_from(["tensor", "ndarray"])),
        "dtype": stored,
        "device": draw(mostly(st.just("cpu"), TEXT)),
        "stored": stored,
        "shape": draw(SMALL_SHAPES | EMPTY_SHAPES),
    }
    lies = draw(st.fixed_dictionaries({}, optional=LIES_OF_ARRAYS)) if odd else {}
    return {"array": content | lies}


def branches(children):
    """What can hold other values."""
    items = st.lists(children, max_size=4)
    pairs = st.lists(st.tuples(mostly(TEXT, children), children).map(list), max_size=4)
    tuples = items.map(lambda items: {"tuple": items})
    return items | tuples | pairs.map(lambda items: {"dict": items})


def odd_branches(children):
    """And what only seems to."""
    kinds = st.sampled_from(["tuple", "dict", "array", "other", "pickle"])
    return branches(children) | st.dictionaries(kinds, children, max_size=2)


NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats()
OTHERS = TEXT.map(lambda text: {"other": text})
LEAVES = st.none() | st.booleans() | NUMBERS | TEXT | arrays(False) | OTHERS
ODD_LEAVES = LEAVES | arrays(True) | st.sampled_from([2**63, -(2**63), 10**400])
SOUND = st.recursive(LEAVES, branches, max_leaves=12)
TREES = SOUND | st.recursive(ODD_LEAVES, odd_branches, max_leaves=12)
LINES = mostly(st.integers(0, 999), NUMBERS | st.sampled_from(["12", "9" * 4300, "9" * 4301, "١٢"]))
SAID = TEXT | st.sampled_from(
    [
        "cannot import name 'answer' from 'toy'",
        *("module 'toy.x' has no attribute 'answer'", "module 'toy' has no attribute 'a'"),
        *("[Errno 11] x", "[Errno 99999999999] x", "[Errno ١١] x"),
        *("not enough memory", "can't start new thread", "None", "x" * 5000),
    ]
)
KINDS = st.sampled_from(
    """
    TooLarge NotImplementedError ImportError ModuleNotFoundError MemoryError SystemExit
    PermissionError OSError RuntimeError KeyError
    """.split()
)
NAMES = st.sampled_from(["toy", "toy.part.other", "toy.", ".", ""]) | TEXT


@st.composite
def errors(draw):
    """What the student's process says of an exception, more or less."""
    frame = st.tuples(TEXT, LINES, TEXT, TEXT).map(lambda items: {"tuple": list(items)})
    many = st.lists(frame, max_size=2).map(lambda items: 15 * items)
    frames = st.lists(mostly(frame, TREES, 30), max_size=3) | many
    fields = {
        "type": KINDS | TEXT,
        "message": SAID,
        "name": NAMES,
        "kinds": st.lists(KINDS, max_size=4),
        "frames": frames,
    }
    missing = draw(mostly(st.none(), st.sampled_from(list(fields))))
    given = {key: mostly(fields[key], SOUND, 20) for key in fields if key != missing}
    return {"dict": [[key, draw(strategy)] for key, strategy in given.items()]}


@st.composite
def messages(draw, trees=TREES):
    """Messages in the format, or nearly."""
    tree = draw(trees)
    size = min(max(0, size_of(tree)), 4096)
    rest = mostly(st.binary(min_size=size, max_size=size), st.binary(max_size=64))
    return message(tree, draw(rest))


def error_of(type, message, *frames):
    """What the student's process says of an exception of that type."""
    kinds = [type, "LookupError"]
    return {"type": type, "message": message, "name": "toy", "kinds": kinds, "frames": [*frames]}


SENT = [
    {"a": np.arange(6.0).reshape(2, 3), "b": ["text", (1, 2.5, None, True)], 3: np.float32(1)},
    (np.array(True), np.zeros((0, 3)), np.array([1 + 2j, np.nan]), np.array([-0.0], "float16")),
    [{"id": "\u2047", "n": float("nan")}, [[[[[["deep"]]]]]], {}, np.array(2**64 - 1, "uint64")],
]
RAISED = [
    error_of("KeyError", "'x'", ("toy.py", 3, "answer", "return x")),
    error_of("ImportError", "cannot import name 'a' from 'toy'"),
]
VALID = [wire.encode({"value": value}, LIMIT) for value in SENT]
VALID += [wire.encode({"error": error}, LIMIT) for error in RAISED]


def speakable(text):
    """It can be shown and written, and is no flood."""
    assert isinstance(text, str) and len(text) < 20_000
    text.encode()
    shown = harmless(text)
    shown.encode()
    json.dumps(shown, ensure_ascii=False).encode()


def use(value, depth=0):
    """Everything that a verdict may ask of an answer: a plain value, or Failed with a sentence."""
    speakable(wire.describe(value))
    answer = Answer(value, "the result")
    speakable(answer.describe())
    asked = [
        answer.present,
        answer.array,
        answer.number,
        answer.flag,
        answer.text,
        answer.texts,
        lambda: answer["a"],
        lambda: answer.items(2),
        lambda: answer.array(finite=False),
        lambda: answer.array("int64", (None, 3)),
        lambda: answer.array("float32", ()),
        lambda: answer.array(shape=(2, 3), finite=False),
        lambda: answer.raw("float64", 2),
        lambda: answer.named("it").array("float32"),
    ]
    for ask in asked:
        came = attempt(ask)
        if isinstance(came, np.ndarray):
            assert came.dtype.name in wire.DTYPES
            assert came.dtype != bool or came.view("uint8").max(initial=0) <= 1
        if isinstance(came, str):
            came.encode()
    inner = (attempt(answer.items) or []) + list((attempt(answer.entries) or {}).values())
    for item in inner[:5] if depth < 4 else ():
        speakable(item.name)
        use(item.value, depth + 1)


def attempt(ask):
    """What comes, or None if it is Failed."""
    try:
        return ask()
    except Failed as failed:
        speakable(failed.message)


def receive(raw):
    """Do with a message what the judge does; nothing but WireError and Failed may come out of
    it.
    """
    try:
        value = wire.decode(raw)
    except wire.WireError as error:
        speakable(str(error))
        return
    use(value)
    try:
        error = RemoteError.read(value["error"])
    except Exception:  # as documented; student.py takes it for a disturbance
        return
    failed = explain(error, Submission((), TOY, "toy", "torch"), 512)
    assert isinstance(failed, Failed)
    speakable(failed.message)


@fuzz(0.25)
@given(st.sampled_from(VALID), MUTATIONS)
@example(message({"value": 1})[:3], [])
def test_spoiled_messages(raw, mutations):
    receive(mutate(raw, mutations))


TWO_AS_A_FLAG = {"kind": "tensor", "dtype": "bool", "device": "cpu", "stored": "bool", "shape": [1]}


@fuzz(0.2)
@given(messages())
@example(message({"array": TWO_AS_A_FLAG}, b"\2"))
def test_random_trees(raw):
    receive(raw)


@fuzz(0.15)
@given(messages(errors().map(lambda error: {"dict": [["error", error]]})))
@example(wire.encode({"error": error_of("", "", *[("", "9" * 4300, "", "")] * 20)}, LIMIT))
def test_random_errors(raw):
    receive(raw)


# Frames


class Trickle(io.RawIOBase):
    """A stream that gives few bytes at a time, as a pipe may."""

    def __init__(self, data, sizes):
        self.data, self.sizes = io.BytesIO(data), sizes

    def readinto(self, buffer):
        self.sizes = self.sizes[1:] + self.sizes[:1]
        return self.data.readinto(buffer[: self.sizes[0]])


@fuzz(0.1)
@given(
    st.lists(st.binary(max_size=40), max_size=3),
    mostly(MUTATIONS, st.just([]), 2),
    st.binary(max_size=20),
    st.lists(st.integers(1, 9), min_size=1),
    st.integers(0, 50),
)
def test_random_streams(parts, mutations, rest, sizes, limit):
    whole = io.BytesIO()
    wire.write_frame(whole, *parts)
    stream = Trickle(mutate(whole.getvalue(), mutations) + rest, sizes)
    got = []
    try:
        while True:
            got.append(wire.read_frame(stream, limit))
            assert len(got[-1]) <= limit
    except (EOFError, wire.WireError):
        pass
    if not mutations and all(len(part) <= limit for part in parts):
        assert got[: len(parts)] == parts


class Scripted(StudentProcess):
    """A StudentProcess to which no process belongs: its frames are given. `script` makes them of
    the request that was sent.
    """

    def __init__(self, script):
        self.script, self.fork = script, True

    def start(self):
        self.requests = io.BytesIO()
        self._process = SimpleNamespace(stdin=self.requests, kill=lambda: None)
        self.frames = None

    def close(self):
        self._process = None

    def _next_frame(self, seconds):
        if self.frames is None:
            sent = json.loads(wire.read_frame(io.BytesIO(self.requests.getvalue()), LIMIT))
            self.frames = iter(self.script(sent["request"]))
        for frame in self.frames:
            return frame
        raise queue.Empty


ENDED = {
    "ended": st.sampled_from(["answered", "died", "too large"]) | TEXT,
    "code": mostly(st.integers(-70, 300), LINES | TREES),
    "output": mostly(SAID, TREES),
    **dict.fromkeys(("seconds", "cpu", "waited"), mostly(st.floats(), TREES)),
}
NO_REPLIES = st.fixed_dictionaries({}, optional=ENDED) | st.binary(max_size=40) | st.none() | TREES
REPLIES = mostly(st.fixed_dictionaries(ENDED), NO_REPLIES)


@fuzz(0.1)
@given(REPLIES, mostly(st.binary(max_size=40), st.none()), mostly(st.just(True), st.just(False)))
@example(
    {"ended": "answered", "code": 0, "output": "\ud800", "seconds": 1, "cpu": 1, "waited": 0},
    b"",
    True,
)
def test_random_replies(first, second, knows_number):
    """A forged reply, by somebody who may have found out the request's number."""

    def script(number):
        ended = {**first, "request": number} if knows_number and isinstance(first, dict) else first
        raw = ended is None or isinstance(ended, bytes)
        return [ended if raw else json.dumps(ended).encode(), second]

    reply = Scripted(script).call({"inputs": {}}, 5, 512)
    assert isinstance(reply, Reply)
    assert isinstance(reply.message, bytes) and isinstance(reply.code, int)
    assert all(0 <= seconds <= FOREVER for seconds in (reply.seconds, reply.cpu, reply.waited))
    speakable(reply.output[-1000:])


# Zip files

WANTED = {"model.py": 2000, "helper.py": 300}
LIMITS = Limits(total=2100)


LINES_OF_CODE = {"model.py": b"x = 1\n" * 20, "helper.py": b"y"}
OF_A_MAC = {"a/": b"", "a/model.py": b"x = 1\n", "__MACOSX/a/._model.py": b"1", "a/runs/b": b"2"}
LONG = entry("model.py", b"x = 1\n" * 300)
ZIPS = [
    pack(LINES_OF_CODE),
    pack(LINES_OF_CODE, compression=zipfile.ZIP_STORED),
    pack(LINES_OF_CODE, Pipe),
    pack(OF_A_MAC),
    forge(LONG, entry("Übung.txt", b"", 0), entry("helper.py", b"y", 0)),
    forge(entry("a\\b\\model.py"), entry("a\\Icon\r", b"", 0), entry("a\\b\\c\\")),
    zip64(LINES_OF_CODE),
]
GOOD_NAMES = st.sampled_from(
    ["model.py", "helper.py", "a", "runs/b", "c/", "__MACOSX/._model.py", ".git/x"]
)
BAD_NAMES = st.sampled_from(
    """
    ../model.py /model.py C:\\model.py con . model.py/ MODEL.py ./model.py submission\\model.py
    submission/helper.py a/model.py b/helper.py a:b
    """.split()
    + ["model.py\x00", "Icon\r"]
)
NUMBER = st.integers(0, 2**32 - 1)
SHORT = st.integers(0, 2**16 - 1)
LIES = {
    "method": st.sampled_from([0, 0, 8, 9, 12, 14]) | SHORT,
    "flags": SHORT,
    "size": st.integers(0, 3000) | NUMBER,
    "crc": NUMBER,
    "mode": st.sampled_from([0o100644, 0o120777, 0o40755, 0]) | SHORT,
    "packed": st.binary(max_size=50),
    "at": st.integers(0, 300) | NUMBER,
}


@st.composite
def forged_zips(draw):
    """Zips that lie in a few places."""
    once = draw(mostly(st.just(True), st.just(False)))
    names = st.lists(mostly(GOOD_NAMES, BAD_NAMES | TEXT), max_size=4, unique=once)
    data, lies_here = st.binary(max_size=30) | st.integers(0, 3000).map(bytes), st.integers(0, 12)
    return forge(
        *(
            entry(name, draw(data), **{key: draw(LIES[key]) for key in LIES if not draw(lies_here)})
            for name in draw(names)
        )
    )


def reads(archive, name):
    """What zipfile reads, or None."""
    try:
        return archive.read(name)
    except Exception:
        return None


def hand_in(raw):
    """Take in a zip: refused with a sentence, or what is taken is what it should be; nothing else
    is there afterwards.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source, into = folder / "work.zip", folder / "taken"
        source.write_bytes(raw)
        try:
            notices = take(source, into, WANTED, LIMITS)
        except Refused as refused:
            speakable(str(refused))
            assert str(refused).isprintable() and len(str(refused)) < 500
            assert os.listdir(folder) == ["work.zip"]
            return
        for notice in notices:
            speakable(notice)
        assert sorted(os.listdir(folder)) == ["taken", "work.zip"] and source.read_bytes() == raw
        sizes = {}
        with zipfile.ZipFile(source) as archive:
            for path in into.iterdir():
                status = path.lstat()
                assert stat.S_ISREG(status.st_mode) and status.st_nlink == 1
                bases = {name: name.replace("\\", "/") for name in archive.namelist()}
                same = [name for name in bases if PurePosixPath(bases[name]).name == path.name]
                assert any(reads(archive, name) == path.read_bytes() for name in same)
                sizes[path.name] = status.st_size
        assert sizes and all(size <= WANTED[name] for name, size in sizes.items())
        assert sum(sizes.values()) <= LIMITS.total


@fuzz(0.12)
@given(st.sampled_from(ZIPS), MUTATIONS)
def test_spoiled_zips(raw, mutations):
    hand_in(mutate(raw, mutations))


@fuzz(0.08)
@given(forged_zips(), mostly(st.just([]), MUTATIONS, 3))
def test_forged_zips(raw, mutations):
    hand_in(mutate(raw, mutations))


def test_the_seeds_are_good():
    """What fuzzing starts from is taken as it is."""
    for raw in ZIPS:
        hand_in(raw)
    for raw in VALID:
        assert set(wire.decode(raw)) <= {"value", "error"}
