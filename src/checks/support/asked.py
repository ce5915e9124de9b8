"""A verdict by the reference alone.

A check sends calls to a probe and compares the replies with those of the reference, key by key.
Type, shape, dtype, keys, and which exception is raised all come from the reference's reply; a
likely cause is a known mistake whose reply to the same call is the student's.
"""

import functools
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autograder import Answer, Failed, Verdict, WrongAnswer, describe, require_close
from autograder.inside.wire import Array, Other
from checks.support.rounds import Call, Sketch

PRECISION = {"float32": 1e-5, "float64": 1e-10}
TOLERANCE = {"float32": 1e-5, "float64": 1e-5}  # where the handout names one


@dataclass(frozen=True)
class Close:
    """Arrays or numbers within a tolerance, relative to the largest expected value, or to 1; also
    lists and dicts of them.

    Attributes:
        name: of the value, for messages.
        tolerance: by the dtype of what is expected; Python's floats are float64.
        dtypes: accepted in place of the reference's.
    """

    name: str = "{call}"
    tolerance: dict[str, float] = field(default_factory=PRECISION.copy)
    dtypes: tuple[str, ...] = ()

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: they differ.
        """
        self._require(self.name.format(call=call), got, right)

    def _require(self, name, got, right):
        if right is not None:
            Answer(got, name).present()
        if isinstance(right, float) and isinstance(got, Array) and got.data.size == 1:
            got = got.data.astype(float).item()  # a tensor of one number counts as the number
        if isinstance(right, dict) and isinstance(got, dict) and got.keys() == right.keys():
            for key, value in right.items():
                self._require(f"{name}[{key!r}]", got[key], value)
        elif (
            isinstance(right, (list, tuple)) and type(got) is type(right) and len(got) == len(right)
        ):
            for number, (value, wanted) in enumerate(zip(got, right)):
                self._require(f"{name}[{number}]", value, wanted)
        elif isinstance(right, float) and type(got) in (int, float):
            self._compare(name, np.array(float(got)), np.array(right))
        elif isinstance(right, Array) and isinstance(got, Array) and self._alike(got, right):
            self._compare(name, got.data, right.data)
        elif type(right) in (int, bool, str) and type(got) is type(right):
            if got != right:
                raise WrongAnswer(f"{name} should be {right!r}; it is {got!r}.")
        elif not (right is None and got is None):
            raise WrongAnswer(f"{name} should be {describe(right)}; it is {_shown(got)}.")

    def _alike(self, got, right):
        places = got.kind, got.device, got.data.shape
        return places == (right.kind, right.device, right.data.shape) and (
            got.dtype == right.dtype or got.dtype in self.dtypes
        )

    def _compare(self, name, got, right):
        if right.dtype.kind not in "fc":
            require_close(name, got, right, 0.0)
            return
        bad = ~np.isfinite(got) & np.isfinite(right)
        if bad.ndim and bad.any():
            first = tuple(map(int, np.argwhere(bad)[0]))
            raise WrongAnswer(
                f"{name} has {bad.sum()} values that are NaN or infinite, the first at {first}."
            )
        require_close(name, got, right, self.tolerance[right.dtype.name])


@dataclass(frozen=True)
class Same:
    """Equal to the reference's: names, flags, texts.

    says: the message, in which {call}, {got} and {right} stand for what they say; lists are joined.
    """

    says: str = "{call} should give {right}; it gives {got}."

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: they differ.
        """
        if type(got) is not type(right) or got != right:
            raise WrongAnswer(self.says.format(call=call, got=_joined(got), right=_joined(right)))


def _joined(value):
    """A value for a message; lists of texts as texts."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ", ".join(value)[:500]
    return value[:500] if isinstance(value, str) else _shown(value)


def _shown(value):
    return value.what if isinstance(value, Other) else describe(value)


@dataclass(frozen=True)
class Asked:
    """A probe, and how its replies are compared with the reference's.

    Attributes:
        probe: takes a call's inputs; returns a dict. It does not catch what the student's code
            raises: where the reference raises an exception, the student's code must, too.
        call: how a student would write the call, with {names} of inputs, of which arrays show their
            shapes, and {*names} of lists and {**names} of dicts that are arguments each; or a
            function of the inputs.
        reply: the rule for each key of the reply, in the order in which they are judged.
        says: the words that an exception's message must have, from the call's inputs.
        causes: whether known mistakes are run on the calls. Not where they would take minutes.
        variant: what tells it from another Asked with the same probe.
    """

    probe: object
    call: str | Callable[[dict], str]
    reply: dict[str, object]
    says: Callable[[dict], list[str]] = lambda inputs: []
    causes: bool = True
    variant: str = ""

    @property
    def name(self) -> str:
        """What its calls are found by."""
        return f"{self.probe.name} {self.variant}".strip()

    def require(self, student, calls: list[Call]) -> list[Answer]:
        """Run the probe on each of its calls and judge the replies.

        Returns:
            The replies that are no exceptions, for further checks.

        Raises:
            Failed: the first call that is wrong; names it, and the likely cause.
            LookupError: no call is for it.
        """
        mine = [call for call in calls if call.asked == self.name]
        if not mine:  # else nothing would be judged
            raise LookupError(f"no call of the round is for {self.name}")
        replies = student.each(self.probe, [call.inputs for call in mine])
        for call, reply in zip(mine, replies):
            if fault := self.fault(call, reply):
                raise fault.explained(call)
        return [reply for reply in replies if not isinstance(reply, Failed)]

    def written(self, call: Call) -> str:
        """The call as a student would write it, with shapes and dtypes for arrays."""
        if callable(self.call):
            return self.call(call.inputs) + call.remark
        given = {name: _written(name, value) for name, value in call.inputs.items()}
        for name, value in call.inputs.items():
            if isinstance(value, dict):
                given["**" + name] = ", ".join(f"{key}={item!r}" for key, item in value.items())
            elif isinstance(value, list):
                given["*" + name] = ", ".join(map(repr, value))
        words = self.call.format(**given).replace(".train(False)", ".eval()")
        # what is None was not given, and a new module trains
        words = re.sub(r", ((\w+=)?None|(?=\)))|(?<=\()None, |\.train\(True\)", "", words)
        return words + call.remark

    def fault(self, call: Call, reply: Answer | Failed) -> "Fault | None":
        """What is wrong with a reply, if anything is."""
        written = self.written(call)
        if isinstance(reply, Failed):
            return self._fault_of_exception(call, written, reply)
        reply = reply.value
        if call.raises:
            value = next(iter(reply.values()), None) if isinstance(reply, dict) else reply
            should = f"{written} should raise {call.raises}; it returned {_shown(value)}."
            return Fault(WrongAnswer(should), "output", value)
        if not isinstance(reply, dict):
            return Fault(WrongAnswer(f"{written} gave no reply."))
        for key, rule in self.reply.items():
            try:
                rule.require(written, reply.get(key), call.right[key])
            except WrongAnswer as wrong:
                return Fault(wrong, key, reply.get(key))
        return None

    def _fault_of_exception(self, call, written, failed):
        if failed.verdict is not Verdict.EXCEPTION or not failed.error:
            return Fault(failed)
        raised = "raised", f"{failed.error.type}: {failed.error.text}"
        if not call.raises:
            message = f"{failed.message}\nThe call was {written}."
            return Fault(Failed(failed.verdict, message), *raised)
        if call.raises not in failed.error.kinds:
            should = f"{written} should raise {call.raises}; it raised another error."
            return Fault(WrongAnswer(f"{should}\n{failed.message}"), *raised)
        words = {*re.findall(r"\w+", failed.error.text)}
        if missing := [word for word in self.says(call.inputs) if word not in words]:
            return Fault(
                WrongAnswer(
                    f"The error of {written} should name {' and '.join(missing)}. It says: "
                    f"{failed.error.text[:200]!r}."
                ),
                *raised,
            )
        return None


@dataclass(frozen=True)
class Fault:
    """What is wrong with a reply.

    Attributes:
        failed: for the student, without a likely cause.
        key: of the wrong part of the reply; "raised" for an exception.
        value: that part.
    """

    failed: Failed
    key: str = ""
    value: object = None

    def explained(self, call: Call) -> Failed:
        """The Failed to be raised, with the likely cause: the known mistake that is wrong in the
        same way.
        """
        got = Sketch.of(self.value)
        for sentence, key, sketch in call.wrong:
            if key == self.key and sketch.matches(got):
                self.failed.message += f"\nLikely cause: {sentence}"
                break
        return self.failed


def by_reference(student, calls: list[Call]) -> None:
    """The verdict of a check that has none of its own: each call is judged by the Asked that it is
    for.

    Raises:
        Failed: a reply is wrong.
        LookupError: a call is for no Asked of the question, or for several.
    """
    for name in dict.fromkeys(call.asked for call in calls):
        found = [each for each in asked_in(student.check.question) if each.name == name]
        if len(found) != 1:
            raise LookupError(f"{len(found)} Asked of {student.check.id} are called {name}")
        found[0].require(student, calls)


@functools.cache
def asked_in(question: str) -> list[Asked]:
    """The Asked in the files of a question, also those that are imported there."""
    problem = f"problem{question[:-1]}"
    found = {}
    for path in sorted((Path(__file__).parents[1] / problem).glob(f"q{question}*.py")):
        module = importlib.import_module(f"checks.{problem}.{path.stem}")
        found |= {id(value): value for value in vars(module).values() if isinstance(value, Asked)}
    return [*found.values()]


def _written(name, value):
    """An input in a call: arrays by name, shape and dtype."""
    if isinstance(value, np.ndarray):
        return f"{name} {value.shape} {value.dtype}"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
