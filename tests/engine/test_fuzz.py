"""Whatever arrives, the judge stands: random and spoiled messages, frames and zip files, with
Hypothesis.

FUZZ_CASES=100000 pytest -n 0 tests/engine/test_fuzz.py tries that many in all; by default it is a
look in passing.
"""

import io
import json
import os
import re
import stat
import struct
import tempfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
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

NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats()
PLAIN = st.none() | st.booleans() | NUMBERS | TEXT
SHAPES = st.lists(st.integers(0, 4), max_size=4)
ARRAYS = st.builds(np.ones, SHAPES, st.sampled_from(wire.DTYPES))
TENSORS = ARRAYS.map(torch.from_numpy)


def nested(leaves):
    """Lists, tuples and dicts of such values, in each other."""
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(inner, max_size=4).map(tuple)
            | st.dictionaries(TEXT | st.integers(0, 9), inner, max_size=4)
        ),
        max_leaves=12,
    )


JSON, VALUES = nested(PLAIN), nested(PLAIN | ARRAYS | TENSORS)
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
FRAMES = st.lists(st.tuples(TEXT, LINES, TEXT, TEXT), max_size=3)
FIELDS = {  # what the student's process says of an exception, more or less
    "type": KINDS | TEXT,
    "message": SAID,
    "name": st.sampled_from(["toy", "toy.part.other", "toy.", ".", ""]) | TEXT,
    "kinds": st.lists(KINDS, max_size=4),
    "frames": mostly(FRAMES | FRAMES.map(lambda frames: 15 * frames), VALUES),
}
ODD_FIELDS = {key: mostly(strategy, VALUES, 20) for key, strategy in FIELDS.items()}
ERRORS = mostly(st.fixed_dictionaries(ODD_FIELDS), st.fixed_dictionaries({}, optional=ODD_FIELDS))
MANY_DIGITS = {"type": "", "message": "", "name": "", "frames": [("", "9" * 4300, "", "")] * 20}

TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+.\w]+')
ODD_TOKENS = (
    rb"""
-1 0 1 3 true null 1.5 1e999 NaN 2147483648 1099511627775 1099511627776 9223372036854775808
"" "object" "O" ">f4" "datetime64" "U9" "bfloat16" "int64" "bool" "tuple" "dict" "array" "other"
"pickle" "3" "\ud800" [] {} [[[],1]] {"tuple":3} {"dict":[1]} {"array":{}} {"other":[]}
""".split()
    + [b"9" * 400, b"9" * 4301, b"[" * 3000, b'{"tuple":[' * 500 + b"1" + b"]}" * 500]
)
SWAPS = st.lists(st.tuples(st.integers(0, 2**16), st.sampled_from(ODD_TOKENS)), max_size=3)


def swapped(raw, swaps):
    """A message with some words and numbers of its JSON replaced by odd ones."""
    (length,) = struct.unpack_from("<I", raw)
    text, rest = raw[4 : 4 + length], raw[4 + length :]
    for place, token in swaps:
        places = [match.span() for match in TOKEN.finditer(text)] or [(0, len(text))]
        start, end = places[place % len(places)]
        text = text[:start] + token + text[end:]
    return struct.pack("<I", len(text)) + text + rest


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


@fuzz(0.45)
@given(VALUES, SWAPS, mostly(st.just([]), MUTATIONS, 3))
@example(torch.ones(1, dtype=torch.bool), [], [("set", -2, b"\2")])
@example(1, [], [("cut", 3, b"\0")])
def test_random_messages(value, swaps, mutations):
    raw = wire.encode({"value": value}, LIMIT)
    assert "value" in wire.decode(raw)
    receive(mutate(swapped(raw, swaps), mutations))


@fuzz(0.15)
@given(ERRORS, SWAPS)
@example(MANY_DIGITS, [])
def test_random_errors(error, swaps):
    receive(swapped(wire.encode({"error": error}, LIMIT), swaps))


# Frames


class Trickle(io.RawIOBase):
    """A stream that gives few bytes at a time, as a pipe may."""

    def __init__(self, data, sizes):
        self.data, self.sizes = io.BytesIO(data), sizes

    def readinto(self, buffer):
        self.sizes = self.sizes[1:] + self.sizes[:1]
        return self.data.readinto(buffer[: self.sizes[0]])


class Scripted(StudentProcess):
    """A StudentProcess to which no process belongs: what it replies is given."""

    def __init__(self, reply, sizes):
        self.reply, self.sizes, self.fork = reply, sizes, True

    def start(self):
        stdout = Trickle(self.reply, self.sizes)
        self._process = SimpleNamespace(stdin=io.BytesIO(), stdout=stdout, kill=lambda: None)

    def close(self):
        self._process = None


ENDED = {
    "ended": st.sampled_from(["answered", "died", "too large"]) | TEXT,
    "code": mostly(st.integers(-70, 300), LINES | JSON),
    **dict.fromkeys(("seconds", "cpu"), mostly(st.floats(), JSON)),
}
NO_REPLIES = st.fixed_dictionaries({}, optional=ENDED) | st.binary(max_size=40) | JSON
REPLIES = mostly(st.fixed_dictionaries(ENDED), NO_REPLIES)
CONTENT = st.binary(max_size=40) | st.integers(0, 30_000).map(bytes)


@fuzz(0.2)
@given(
    REPLIES,
    mostly(st.tuples(CONTENT, CONTENT, CONTENT), st.lists(CONTENT, max_size=4)),
    mostly(st.just([]), MUTATIONS),
    st.lists(st.integers(1, 9000), min_size=1),
)
def test_random_replies(ended, frames, mutations, sizes):
    """A forged reply, in pieces."""
    stream = io.BytesIO()
    for frame in (ended if isinstance(ended, bytes) else json.dumps(ended).encode(), *frames):
        wire.write_frame(stream, frame)
    reply = Scripted(mutate(stream.getvalue(), mutations), sizes).call({"inputs": {}}, 5, 25, 512)
    assert isinstance(reply, Reply)
    assert isinstance(reply.message, bytes | bytearray) and isinstance(reply.code, int)
    assert all(0 <= seconds <= FOREVER for seconds in (reply.seconds, reply.cpu))
    speakable(reply.output[-1000:])
    speakable(reply.stack[-1000:])


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
        source, into = Path(folder, "work.zip"), Path(folder, "taken")
        source.write_bytes(raw)
        try:
            notices = take(source, into, WANTED.get, LIMITS)
        except Refused as refused:
            speakable(str(refused))
            assert str(refused).isprintable() and len(str(refused)) < 500
            assert os.listdir(folder) == ["work.zip"]
            return
        for notice in notices:
            speakable(notice)
        assert sorted(os.listdir(folder)) == ["taken", "work.zip"] and source.read_bytes() == raw
        assert all(stat.S_ISREG(path.lstat().st_mode) for path in into.iterdir())
        taken = {path.name: path.read_bytes() for path in into.iterdir()}
        with zipfile.ZipFile(source) as archive:
            for taken_name, data in taken.items():
                assert len(data) <= WANTED[taken_name]
                names = [n for n in archive.namelist() if re.split(r"[/\\]", n)[-1] == taken_name]
                assert any(reads(archive, name) == data for name in names)
        assert taken and sum(map(len, taken.values())) <= LIMITS.total


@fuzz(0.2)
@given(st.sampled_from(ZIPS), MUTATIONS)
def test_spoiled_zips(raw, mutations):
    hand_in(mutate(raw, mutations))


def test_the_seeds_are_good():
    """What fuzzing starts from is taken as it is."""
    for raw in ZIPS:
        hand_in(raw)
