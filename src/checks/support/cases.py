"""Cases: calls with their answers, for checks that need the right answer.

Staff code (the makers of cases) draws inputs, solves them and applies the known mistakes. A
student's copy has only the resulting numbers and sentences, in checks/cases; when staff grade, the
same code draws new ones.

A check draws a *round*, a list of cases. The files have several rounds of each check, and the seed
chooses one.
"""

import copy
import functools
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autograder import matches, require_close
from common.files import UserError

RELEASED = Path(__file__).resolve().parents[1] / "cases"
SAME = 1e-6  # relative: a mistake with a smaller effect is ignored in this case


@dataclass(frozen=True)
class Case:
    """One call and its answer.

    Attributes:
        inputs: the probe's inputs by name: numbers, strings, arrays, and lists and dicts of them.
        right: the expected result; an array, a number, a string, or a tuple, list or dict of them.
        wrong: known mistakes, each a sentence and its result, or a function that computes the
            result (None: no result).
        about: other data for the verdict: the call's name for messages, a dtype, a tolerance.
    """

    inputs: dict
    right: object = None
    wrong: list[tuple[str, object | Callable]] = field(default_factory=list)
    about: dict = field(default_factory=dict)

    def require(
        self, name: str, got: np.ndarray, tolerance: float, part: str | None = None
    ) -> None:
        """Compare an array with the right one; see `autograder.require_close`.

        Args:
            name: of the compared value, for the message.
            got: read from the student's answer.
            tolerance: relative to the largest absolute value expected, or to 1 if that is larger.
            part: the key to compare, if `right` and all of `wrong` are dicts.

        Raises:
            WrongAnswer: they differ; names the likely cause.
        """
        right = self.right if part is None else self.right[part]
        wrong = [
            (sentence, functools.partial(_telling, value, right, part))
            for sentence, value in self.wrong
        ]
        require_close(name, got, right, tolerance, wrong)

    def cause(self, got: object) -> str:
        """The line that names the first known mistake whose result is `got`, or ""; for answers
        that are not arrays.
        """
        for sentence, value in self.wrong:
            value = value() if callable(value) else value
            if value is not None and same(value, got):
                return f"\nLikely cause: {sentence}"
        return ""

    def solved(self) -> "Case":
        """The case with every mistake computed, without those that change nothing."""
        found = []
        for sentence, value in self.wrong:
            value = value() if callable(value) else value
            if value is not None and not same(value, self.right):
                found.append((sentence, value))
        return Case(self.inputs, self.right, found, self.about)


def _telling(value, right, part):
    """Return a mistake's result (a part of it), or None if it changes nothing."""
    value = value() if callable(value) else value
    if value is not None and part is not None:
        value = value.get(part)
    return None if value is None or same(value, right) else value


def same(a, b) -> bool:
    """Whether two values of `Case.right` are equal, numbers within SAME."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(
            a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc"
        ) or matches(a, b, SAME)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and float in (type(a), type(b)):
        return abs(a - b) <= SAME * max(1.0, abs(b))
    return type(a) is type(b) and bool(a == b)


class Released:
    """The cases released to students, in two files per question, QUESTION.json and QUESTION.npz.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path = RELEASED):
        self.folder = folder

    def require(self, questions: Iterable[str]) -> None:
        """Read the cases of these questions, if they have any.

        Raises:
            UserError: a file is damaged, or one of the two is missing.
        """
        for question in questions:
            if any((self.folder / f"{question}.{kind}").exists() for kind in ("json", "npz")):
                _read(self.folder, question)

    def rounds(self, id: str) -> list[list[Case]]:
        """All rounds of a check."""
        return _read(self.folder, id.split("-")[0])[id]

    def draw(self, id: str, rng: np.random.Generator) -> list[Case]:
        """One round of the check `id`, chosen by `rng`."""
        rounds = self.rounds(id)
        return copy.deepcopy(rounds[int(rng.integers(len(rounds)))])


def pack(checks: dict[str, list[list[Case]]]) -> tuple[str, dict[str, np.ndarray]]:
    """Pack the rounds of a question's checks into the text of the JSON file and the arrays of the
    NumPy file.

    Arrays are concatenated into one flat array per dtype, and sentences stored once, since there
    are thousands of both.
    """
    flat, texts = {}, {}

    def plain(value, short=False):
        if isinstance(value, np.ndarray) and value.ndim:
            if short and value.dtype == float:
                # half the size: six digits are enough to recognize mistakes
                value = value.astype(np.float32)
            whole = flat.setdefault(value.dtype.name, [])
            start = sum(piece.size for piece in whole)
            whole.append(np.ascontiguousarray(value).ravel())
            return {"array": [value.dtype.name, start, list(value.shape)]}
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
            return value.item()
        if isinstance(value, tuple):
            return {"tuple": [plain(item, short) for item in value]}
        if isinstance(value, list):
            return [plain(item, short) for item in value]
        if isinstance(value, dict):
            return {key: plain(item, short) for key, item in value.items()}
        return value

    def entry(case):
        case = case.solved()
        sentences = [texts.setdefault(sentence, len(texts)) for sentence, _ in case.wrong]
        wrong = (
            [sentences, plain(_stack([value for _, value in case.wrong]), short=True)]
            if sentences
            else []
        )
        return {
            "inputs": plain(case.inputs),
            "right": plain(case.right),
            "wrong": wrong,
            "about": plain(case.about),
        }

    content = {
        id: [[entry(case) for case in round] for round in rounds] for id, rounds in checks.items()
    }
    dump = functools.partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
    lines = ",\n".join(
        f"{dump(id)}:[\n"
        + ",\n".join("[" + ",\n ".join(dump(case) for case in round) + "]" for round in rounds)
        + "]"
        for id, rounds in content.items()
    )
    text = (
        f'{{"texts":{json.dumps(list(texts), ensure_ascii=False, indent=0)},\n"checks":{{\n'
        f"{lines}\n}}}}\n"
    )
    return text, {name: np.concatenate(pieces) for name, pieces in sorted(flat.items())}


def _stack(values: list):
    """Stack values that are arrays of the same shape, or dicts of such: there are tens of mistakes
    per case.
    """
    first = values[0]
    if all(
        isinstance(value, np.ndarray) and (value.shape, value.dtype) == (first.shape, first.dtype)
        for value in values
    ):
        return {"stack": np.stack(values)}
    if all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        return {"dict": {key: _stack([value[key] for value in values]) for key in first}}
    return {"list": values}


def _unstack(stacked: dict) -> list:
    """Undo `_stack`."""
    if "dict" in stacked:
        columns = {key: _unstack(column) for key, column in stacked["dict"].items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return list(stacked.get("stack", stacked.get("list")))


@functools.cache
def _read(folder: Path, question: str) -> dict[str, list[list[Case]]]:
    try:
        content = json.loads((folder / f"{question}.json").read_text(encoding="utf-8"))
        with np.load(folder / f"{question}.npz") as file:
            flat = dict(file)
        return _parse(content, flat)
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise UserError(
            f"The files {question}.json and {question}.npz in {folder}, which your results are "
            f"compared with, are damaged or missing ({type(error).__name__}: {error}). Copy them "
            "from the release again."
        ) from None


def _parse(content, flat):
    def value(plain):
        if isinstance(plain, list):
            return [value(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        if plain.keys() == {"array"}:
            name, start, shape = plain["array"]
            return flat[name][start : start + int(np.prod(shape, dtype=int))].reshape(shape)
        if plain.keys() == {"tuple"}:
            return tuple(value(item) for item in plain["tuple"])
        return {key: value(item) for key, item in plain.items()}

    def case(entry):
        sentences, values = entry["wrong"] or ([], {"list": []})
        wrong = list(
            zip(
                (content["texts"][text] for text in sentences), _unstack(value(values)), strict=True
            )
        )
        return Case(value(entry["inputs"]), value(entry["right"]), wrong, value(entry["about"]))

    return {
        id: [[case(entry) for entry in round] for round in rounds]
        for id, rounds in content["checks"].items()
    }
