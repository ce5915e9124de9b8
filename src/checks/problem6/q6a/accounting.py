"""Runs accounting.py, and reads and judges the ints, shapes and dicts of them that it returns."""

import math
from dataclasses import dataclass
from fractions import Fraction

from autograder import Answer, WrongAnswer, probe
from checks.support.calls import attempt, require_refusal
from checks.support.cases import Case

UNITS = {1 << 20: "MiB", 1 << 30: "GiB", 10**6: "MB", 10**9: "GB"}
ROUNDED = (
    "A float has 53 bits of precision, and counts can need more: divide with // instead of /, and "
    "don't round."
)
OVERFLOW = "NumPy's and torch's integers overflow; Python's never do."


@probe(uses=(attempt,))
def account(calls):
    """Return the result of each call of a function of accounting.py, or the classes of its
    exception if one is to be caught. Ints of any size are supported: very long ones are sent in
    hexadecimal.
    """
    from submission.problem6 import accounting

    def plain(value):
        if isinstance(value, tuple):
            return tuple(plain(item) for item in value)
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return {"large": hex(value)} if type(value) is int and abs(value) >= 2**63 else value

    results = []
    for call in calls:
        function = getattr(accounting, call["function"])
        returned, raised = attempt(
            lambda: plain(function(*call["sizes"], **call["options"])), call["caught"]
        )
        results.append({"returned": returned, "raised": raised})
    return results


@dataclass(frozen=True)
class Call:
    """A call of one of the functions.

    Args:
        case: its inputs are the function's name, its sizes by position, its options by name, and
            whether ValueError is to be caught. `right` is an int, a shape, or a dict of them by
            name, and None for calls that should raise ValueError; each mistake in a dict is a dict
            of only what it changes.
    """

    case: Case

    def __str__(self):
        sizes, options = self.case.inputs["sizes"], self.case.inputs["options"]
        shown = [*map(repr, sizes), *(f"{name}={value!r}" for name, value in options.items())]
        return f"{self.case.inputs['function']}({', '.join(shown)})"

    @property
    def inputs(self) -> dict:
        """The probe's inputs."""
        return self.case.inputs

    def judge(self, answer: Answer) -> None:
        """Raise WrongAnswer if the probe's answer is wrong; names the likely cause."""
        returned, right = answer["returned"], self.case.right
        if right is None:
            require_refusal(str(self), answer["raised"], f"it returned {returned.describe()}")
            return
        if not isinstance(right, dict):
            judge_value(str(self), returned, right, self.case.wrong)
            return
        entries = returned.named(str(self)).present().entries()
        for key, value in right.items():
            if key not in entries:
                raise WrongAnswer(
                    f"{self} has no entry {key!r}; it has "
                    f"{', '.join(map(repr, sorted(entries)[:8])) or 'none'}."
                )
            causes = [
                (sentence, changed[key]) for sentence, changed in self.case.wrong if key in changed
            ]
            judge_value(f"{self}[{key!r}]", entries[key], value, causes)
        if more := sorted(entries.keys() - right.keys()):
            raise WrongAnswer(
                f"{self} has the entry {more[0][:60]!r}; there should be "
                f"{', '.join(map(repr, right))} and no others."
            )


def make_inputs(function: str, *sizes: int, caught: bool = False, **options) -> dict:
    """The inputs of a Call."""
    return {"function": function, "sizes": list(sizes), "options": options, "caught": caught}


def refused(function: str, *sizes, **options) -> Call:
    """A call that should raise ValueError."""
    return Call(Case(make_inputs(function, *sizes, caught=True, **options)))


def read_whole(answer: Answer, bytes_expected: int | None = None) -> int:
    """Read a Python int of any size.

    Args:
        bytes_expected: the right number, if it is a number of bytes; used only to recognize another
            unit.

    Raises:
        WrongAnswer: it is something else.
    """
    value, shown = answer.present().value, answer.describe()
    if isinstance(value, dict) and value.keys() == {"large"} and isinstance(value["large"], str):
        try:
            return int(value["large"][:2000], 16)
        except ValueError:
            pass
    if type(value) is int:
        return value
    why = ""
    if isinstance(value, float) and bytes_expected and value < bytes_expected / 1000:
        units = [
            unit
            for divisor, unit in UNITS.items()
            if math.isclose(value * divisor, bytes_expected, rel_tol=1e-6)
        ]
        why = (
            f" It is in {units[0]}; it should be in bytes."
            if units
            else " It should be in bytes; is it in another unit?"
        )
    elif isinstance(value, float):
        why = f" {ROUNDED}"
    elif "NumPy" in shown or "tensor" in shown:
        if shown.endswith(" NumPy array of shape ()"):
            shown = f"a number of NumPy's type {shown.split()[1]}"
        why = f" {OVERFLOW}"
    raise WrongAnswer(f"{answer.name} should be an int; it is {shown}.{why}")


def judge_value(name: str, answer: Answer, expected: int | tuple, causes: list) -> None:
    """Compare an int or a shape.

    Args:
        causes: known mistakes as (sentence, result).

    Raises:
        WrongAnswer: it is wrong; names the likely cause.
    """
    answer = answer.named(name).present()
    if isinstance(expected, tuple):
        if not isinstance(answer.value, tuple):
            raise WrongAnswer(
                f"{name} should be a tuple of {len(expected)} ints; it is {answer.describe()}."
            )
        got = tuple(read_whole(item) for item in answer.items())
        shown = f"{name}: expected {expected}, got {str(got)[:200]}."
    else:
        got = read_whole(answer, expected if name.startswith("kv_cache_bytes") else None)
        shown = f"{name}: expected {expected:,}, got {got if abs(got) >= 10**300 else f'{got:,}'}."[
            :500
        ]
    if got == expected:
        return
    cause = next((sentence for sentence, wrong in causes if wrong == got), None)
    if (
        not isinstance(expected, tuple)
        and got < 2**63 <= expected
        and (got - expected) % 2**64 == 0
    ):
        cause = OVERFLOW
    elif (
        not cause
        and not isinstance(expected, tuple)
        and expected > 2**53
        and abs(got - expected) < expected >> 40
    ):
        cause = ROUNDED
    if cause:
        raise WrongAnswer(f"{shown}\nLikely cause: {cause}")
    if (
        not isinstance(expected, tuple)
        and 1 in (factor := Fraction(got, expected)).as_integer_ratio()
        and got > 0
    ):
        shown += (
            f" That is {factor.numerator} times as much."
            if factor > 1
            else f" That is 1/{factor.denominator} of it."
        )
    raise WrongAnswer(shown)
