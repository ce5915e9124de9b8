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
from toy_course import TOY

from autograder import Failed, Submission
from autograder.answer import Answer
from autograder.explain import RemoteError, explain
from autograder.inside import wire
from autograder.intake import Limits, Refused, take
from autograder.process import FOREVER, Reply, StudentProcess
from autograder.report import harmless

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


# st.text draws few nasty ones
NASTY = st.sampled_from("\x00\x1b\x85\u202e\u2028\ud800\udfff\ufeff/\\'{")
TEXT = st.lists(mostly(st.characters(), NASTY), max_size=12).map("".join)
BYTES = st.binary(max_size=9)
SPLICES = st.tuples(mostly(st.integers(0, 9), st.just(2**16)), BYTES)
SPLICES |= BYTES.map(lambda new: (len(new), new))
MUTATIONS = st.lists(st.tuples(st.integers(0, 2**16), SPLICES), min_size=1, max_size=5)


def mutate(data, mutations):
    """Bytes of which some are replaced: from each place on, so many by new ones."""
    data = bytearray(data)
    for place, (length, new) in mutations:
        place %= len(data) + 1
        data[place : place + length] = new
    return bytes(data)


# Messages

NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats()
PLAIN = st.none() | st.booleans() | NUMBERS | TEXT
SHAPES = st.lists(st.integers(0, 4), max_size=4)
DTYPES = st.sampled_from(wire.DTYPES)
ARRAYS = st.builds(np.ones, SHAPES, DTYPES)
WORDS = st.sampled_from("value error dict tuple other array pickle".split())
ODD = st.sampled_from(["object", "O", ">f4", "U9", "bfloat16", 2**31, 2**40, 2**63, 10**400, -1])


def nested(leaves, keys):
    """Lists, tuples and dicts of such values, in each other."""
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.lists(inner, max_size=4).map(tuple)
            | st.dictionaries(keys, inner, max_size=4)
        ),
        max_leaves=12,
    )


KEYS = TEXT | st.integers(0, 9)
JSON, VALUES = nested(PLAIN, KEYS), nested(PLAIN | ARRAYS | ARRAYS.map(torch.from_numpy), KEYS)
LINES = mostly(st.integers(0, 999), NUMBERS | st.sampled_from(["12", "9" * 4301, "١٢"]))
KINDS = """
TooLarge NotImplementedError ImportError ModuleNotFoundError MemoryError SystemExit PermissionError
OSError RuntimeError KeyError toy toy.part.other toy. .
"""
SAID = """
cannot import name 'answer' from 'toy'|module 'toy.x' has no attribute 'answer'|[Errno 11] x
module 'toy' has no attribute 'a'|[Errno 99999999999] x|[Errno ١١] x|None|not enough memory
can't start new thread
"""
SAID = st.sampled_from([*re.split(r"[|\n]", SAID), "x" * 5000]) | TEXT
KINDS = st.sampled_from(KINDS.split())
FRAMES = st.lists(st.tuples(TEXT, LINES, TEXT, TEXT), max_size=3)
FIELDS = {  # what the student's process says of an exception, more or less
    **dict.fromkeys(("type", "name"), KINDS | TEXT),
    "message": SAID,
    "kinds": st.lists(KINDS, max_size=4),
    "frames": mostly(FRAMES | FRAMES.map(lambda frames: 15 * frames), VALUES),
}
FIELDS = {key: mostly(strategy, VALUES, 20) for key, strategy in FIELDS.items()}
ERRORS = mostly(st.fixed_dictionaries(FIELDS), st.fixed_dictionaries({}, optional=FIELDS))
SENT = VALUES.map(lambda value: {"value": value}) | ERRORS.map(lambda error: {"error": error})
SENT = SENT.map(lambda content: wire.encode(content, LIMIT))


def message(tree, rest):
    """A message with this JSON."""
    text = json.dumps(tree).encode()
    return struct.pack("<I", len(text)) + text + rest


OF_ARRAYS = dict.fromkeys(("kind", "device", "dtype", "stored"), DTYPES | ODD)
OF_ARRAYS["shape"] = mostly(SHAPES, st.lists(ODD | SHAPES) | ODD)
FORGED = st.fixed_dictionaries(OF_ARRAYS).map(lambda fields: {"array": fields})
FORGED = nested(PLAIN | WORDS | ODD | FORGED, WORDS)
FORGED = st.builds(message, FORGED, st.binary(max_size=40))
LONE = [[name, "\udfff"] for name in ("type", "message", "name")]  # half a character
LONE += [["kinds", ["\udfff"]], ["frames", [["\udfff", 1, "\udfff", "\udfff"]]]]
MANY_DIGITS = {"type": "", "message": "", "name": "", "frames": [("", "9" * 4300, "", "")] * 20}


def speakable(text):
    """It can be shown and written, and is no flood."""
    assert isinstance(text, str) and len(text) < 20_000
    text.encode()
    json.dumps(harmless(text), ensure_ascii=False).encode()


def use(value, depth=0):
    """Everything that a verdict may ask of an answer: a plain value, or Failed with a sentence."""
    speakable(wire.describe(value))
    answer = Answer(value, "the result")
    speakable(answer.describe())
    asked = [
        *(answer.present, answer.array, answer.number, answer.flag, answer.text, answer.texts),
        lambda: answer["a"],
        lambda: answer.items(2),
        lambda: answer.array("int64", (None, 3)),
        lambda: answer.array(shape=(2, 3), finite=False),
        lambda: answer.raw("float64", 2),
    ]
    for came in map(attempt, asked):
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


@fuzz(0.6)
@given(SENT | FORGED | st.builds(mutate, SENT | FORGED, MUTATIONS))
@example(wire.encode({"value": torch.ones(1, dtype=torch.bool)}, LIMIT)[:-1] + b"\2")
@example(wire.encode({"value": 1}, LIMIT)[:3])
@example(wire.encode({"error": MANY_DIGITS}, LIMIT))
@example(message({"dict": [["error", {"dict": LONE}]]}, b""))
def test_random_messages(raw):
    """Nothing but WireError and Failed comes of what the judge does with a message."""
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


# Frames


class Scripted(StudentProcess):
    """A StudentProcess to which no process belongs: what it replies is given."""

    def __init__(self, reply):
        self.reply, self.fork = reply, True

    def start(self):
        stdin, stdout = io.BytesIO(), io.BytesIO(self.reply)
        self._process = SimpleNamespace(stdin=stdin, stdout=stdout, kill=lambda: None)

    def close(self):
        self._process = None


ENDED = {
    "ended": st.sampled_from(["answered", "died", "too large"]) | TEXT,
    "code": mostly(st.integers(-70, 300), LINES | JSON),
    **dict.fromkeys(("seconds", "cpu"), mostly(st.floats(), JSON)),
}
REPLIES = mostly(st.fixed_dictionaries(ENDED), st.fixed_dictionaries({}, optional=ENDED) | JSON)
CONTENTS = st.lists(st.binary(max_size=40), min_size=2, max_size=4)


@fuzz(0.2)
@given(REPLIES, CONTENTS, mostly(st.just([]), MUTATIONS))
def test_random_replies(ended, contents, mutations):
    """Of a forged one, a Reply is made."""
    stream = io.BytesIO()
    for frame in (json.dumps(ended).encode(), *contents):
        wire.write_frame(stream, frame)
    reply = Scripted(mutate(stream.getvalue(), mutations)).call({"inputs": {}}, 5, 25, 512)
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


@fuzz(0.2)
@given(st.sampled_from(ZIPS), mostly(MUTATIONS, st.just([])))
def test_spoiled_zips(raw, mutations):
    """Refused with a sentence, or what is taken is what it should be; nothing else is there."""
    raw = mutate(raw, mutations)
    with tempfile.TemporaryDirectory() as folder:
        source, into = Path(folder, "work.zip"), Path(folder, "taken")
        source.write_bytes(raw)
        try:
            notices = take(source, into, WANTED.get, LIMITS)
        except Refused as refused:
            assert mutations
            speakable(str(refused))
            assert str(refused).isprintable() and len(str(refused)) < 500
            assert os.listdir(folder) == ["work.zip"]
            return
        for notice in notices:
            speakable(notice)
        assert sorted(os.listdir(folder)) == ["taken", "work.zip"] and source.read_bytes() == raw
        assert all(stat.S_ISREG(path.lstat().st_mode) for path in into.iterdir())
        sizes = {path.name: path.stat().st_size for path in into.iterdir()}
        assert all(size <= WANTED[name] for name, size in sizes.items())
        assert sizes and sum(sizes.values()) <= LIMITS.total
