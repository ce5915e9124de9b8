"""Rounds: calls of a probe with the replies of the reference and of known mistakes.

Staff make them beforehand: a student's copy has a few of each basic check, and staff have others,
which no student sees. A check draws one round.
"""

import contextlib
import functools
import hashlib
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autograder.inside import wire
from common.files import UserError

MADE_FROM = "made-from"  # an entry that says what the rounds were made from
MOST = 100_000  # entries of a reply that tell a mistake
RELEASED = Path(__file__).resolve().parents[1] / "cases"


@dataclass(frozen=True)
class Call:
    """A call of an Asked's probe.

    Attributes:
        asked: the Asked's name.
        inputs: its keyword arguments: numbers, strings, arrays, lists and dicts of them.
        remark: on the inputs, for messages: ", where queries may attend to nothing".
        right: the reference's reply, as it came (see wire.py); None if it raised an exception.
        raises: the name of that exception.
        wrong: (sentence, key of the reply, Sketch) of known mistakes, as far as they give another
            reply.
    """

    asked: str
    inputs: dict
    remark: str = ""
    right: object = None
    raises: str | None = None
    wrong: list[tuple[str, str, "Sketch"]] = field(default_factory=list)


@dataclass(frozen=True)
class Sketch:
    """What is kept of a known mistake's reply: enough to recognize it.

    text: all that is not a number in an array: types, shapes, strings. numbers: of the arrays'
    entries the norm, and weighted sums, float32.
    """

    text: str
    numbers: np.ndarray

    @classmethod
    def of(cls, value) -> "Sketch":
        """The sketch of a decoded reply, or of a part of one."""
        texts, entries = [], []
        _collect(value, texts, entries)
        entries = np.concatenate([np.zeros(0), *entries])[:MOST]
        finite = np.abs(entries) < 1e30  # float32 holds little more
        if not finite.all():
            texts.append(f"{np.flatnonzero(~finite).tolist()} are not finite")
        entries = np.where(finite, entries, 0)
        numbers = np.array([np.sqrt((entries**2).sum()), *(_weights(entries.size) @ entries)])
        return cls(" ".join(texts)[:2000], numbers.astype(np.float32))

    def matches(self, other: "Sketch") -> bool:
        """Whether two replies are the same, but for rounding."""
        off = np.abs(self.numbers.astype(float) - other.numbers)
        return self.text == other.text and bool((off <= 1e-5 * self.numbers[0] + 1e-9).all())


def _collect(value, texts, entries):
    """Sort the leaves of a reply into texts and flat arrays."""
    if isinstance(value, wire.Array):
        texts.append(wire.describe(value))
        entries.append(np.real(value.data).ravel().astype(float))
    elif isinstance(value, np.ndarray):  # of inputs
        texts.append(f"{value.dtype} {value.shape}")
        entries.append(value.ravel().astype(float))
    elif isinstance(value, dict):
        for key, item in value.items():
            texts.append(f"{key}:")
            _collect(item, texts, entries)
    elif isinstance(value, (list, tuple)):
        texts.append(f"{type(value).__name__} of {len(value)}")
        for item in value:
            _collect(item, texts, entries)
    elif isinstance(value, float):
        texts.append("float")
        entries.append(np.array([value]))
    else:
        texts.append(repr(value))


@functools.lru_cache(maxsize=64)
def _weights(size):
    """Random signs and sizes, the same for the same size: any change of an entry shows."""
    return np.random.default_rng(size).uniform(-1, 1, (3, size)).round(3)


class Rounds:
    """Rounds in the files of a folder, one for each question: a zip with an entry for each round.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path = RELEASED):
        self.folder = folder
        self._kept: dict[str, list[bytes]] = {}

    def require(self, questions: Iterable[str]) -> None:
        """Raise UserError if the file of one of these questions is damaged; some have none."""
        for question in questions:
            if (self.folder / f"{question}.zip").exists():
                with self._open(question) as file:
                    if bad := file.testzip():
                        raise zipfile.BadZipFile(bad)

    def keep(self, ids: Iterable[str]) -> None:
        """Hold the rounds of these checks in memory, as their files will be locked away."""
        for id in ids:
            question = id.split("-")[0]
            if (self.folder / f"{question}.zip").exists():
                with self._open(question) as file:
                    self._kept[id] = [file.read(name) for name in _names(file, id)]

    def counts(self, question: str) -> dict[str, int]:
        """How many rounds each of a question's checks has."""
        with self._open(question) as file:
            names = [name.split("/")[0] for name in file.namelist() if name != MADE_FROM]
        return {id: names.count(id) for id in dict.fromkeys(names)}

    def digest(self, question: str) -> str:
        """A hash of a question's rounds, whatever they were made from."""
        with self._open(question) as file:
            names = [name for name in sorted(file.namelist()) if name != MADE_FROM]
            content = [(name, file.read(name)) for name in names]
        return hashlib.sha256(repr(content).encode()).hexdigest()

    def rounds(self, id: str) -> list[list[Call]]:
        """All rounds of a check."""
        with self._open(id.split("-")[0]) as file:
            return [unpack(file.read(name)) for name in _names(file, id)]

    def draw(self, id: str, rng: np.random.Generator) -> list[Call]:
        """One round of a check, chosen by `rng`.

        Raises:
            LookupError: it has none.
            UserError: the file is damaged or missing.
        """
        if id in self._kept:
            return unpack(self._kept[id][int(rng.integers(len(self._kept[id])))])
        with self._open(id.split("-")[0]) as file:
            if names := _names(file, id):
                return unpack(file.read(names[int(rng.integers(len(names)))]))
        raise LookupError(
            f"{id} has no verdict of its own, and no rounds in {self.folder}: does an @check or an "
            "@draws name it, and were the rounds made since?"
        )

    @contextlib.contextmanager
    def _open(self, question):
        """A question's file. Whatever is wrong with it becomes a UserError."""
        try:
            with zipfile.ZipFile(self.folder / f"{question}.zip") as file:
                yield file
        except (OSError, zipfile.BadZipFile, zlib.error, LookupError, ValueError, TypeError) as bad:
            released = self.folder == RELEASED
            advice = (
                "Copy it from the release again." if released else "Remove it; it is made again."
            )
            raise UserError(
                f"The file {question}.zip in {self.folder}, which replies are compared with, is "
                f"damaged or missing ({type(bad).__name__}: {bad}). {advice}"
            ) from None


def _names(file, id):
    """The entries of a check's rounds."""
    return [name for name in file.namelist() if name.startswith(f"{id}/")]


def pack(calls: list[Call]) -> bytes:
    """A round as the content of its entry."""
    texts = {}

    def number(text):
        return texts.setdefault(text, len(texts))

    numbers = [sketch.numbers for call in calls for _, _, sketch in call.wrong]
    content = [
        {
            "asked": call.asked,
            "inputs": call.inputs,
            "remark": call.remark,
            "right": call.right,
            "raises": call.raises,
            "wrong": [[number(cause), key, number(s.text)] for cause, key, s in call.wrong],
        }
        for call in calls
    ]
    numbers = np.array(numbers, np.float32).reshape(-1, 4)
    content = {"calls": content, "numbers": numbers, "texts": list(texts)}
    return wire.encode(content, limit=32 << 20)


def unpack(content: bytes) -> list[Call]:
    """Undo `pack`."""
    content = wire.decode(content)
    texts, numbers = content["texts"], iter(content["numbers"].data)
    calls = []
    for call in content["calls"]:
        inputs = _plain(call["inputs"])
        wrong = [
            (texts[cause], key, Sketch(texts[text], next(numbers)))
            for cause, key, text in call["wrong"]
        ]
        calls.append(Call(**{**call, "inputs": inputs, "wrong": wrong}))
    return calls


def _plain(value):
    """Inputs as they were drawn: NumPy arrays instead of what stands for them."""
    if isinstance(value, wire.Array):
        return value.data
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value
