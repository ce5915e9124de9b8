"""Runs the NumPy functions of positions.py and judges their results; shared by the checks of
question 6c.
"""

from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.support.calls import attempt, require_refusal
from checks.support.cases import Case

# the handout's tolerances; the first also for ALiBi and interpolation
ENCODING, SHIFT, ROPE = 1e-11, 1e-10, 1e-4


@probe(uses=(attempt,))
def compute(calls):
    """Return the result of each call of a NumPy function of positions.py, or the classes of its
    exception if one is to be caught; and which arguments were changed.
    """
    import numpy as np

    from submission.problem6 import positions

    results = []
    for call in calls:
        given = [
            value.copy() if isinstance(value, np.ndarray) else value for value in call["given"]
        ]
        returned, raised = attempt(
            lambda: getattr(positions, call["function"])(*given), call["caught"]
        )
        changed = any(not np.array_equal(now, before) for now, before in zip(given, call["given"]))
        results.append({"returned": returned, "raised": raised, "changed": changed})
    return results


@dataclass(frozen=True)
class Call:
    """A call of one of the functions.

    Args:
        case: its inputs are the function's name, its arguments, and whether ValueError is to be
            caught. `right` is an array, and None for calls that should raise ValueError.
    """

    case: Case

    def __str__(self):
        shown = [
            f"<{len(value)} positions, {value.dtype}>"
            if isinstance(value, np.ndarray)
            else repr(value)
            for value in self.case.inputs["given"]
        ]
        return f"{self.case.inputs['function']}({', '.join(shown)})"

    @property
    def inputs(self) -> dict:
        """The probe's inputs."""
        return self.case.inputs

    def judge(self, answer: Answer) -> None:
        """Raise WrongAnswer if the probe's answer is wrong; names the likely cause."""
        expected = self.case.right
        if expected is None:
            require_refusal(
                str(self), answer["raised"], f"it returned {answer['returned'].describe()}"
            )
            return
        got = read_array(answer["returned"].named(str(self)), expected.shape)
        tolerance = SHIFT if self.case.inputs["function"] == "shift_matrix" else ENCODING
        try:
            with np.errstate(all="ignore"):  # a mistake may overflow
                self.case.require(str(self), got + 0.0, tolerance)  # so that -0 isn't shown as such
        except WrongAnswer as wrong:
            if "Likely cause" in wrong.message or not np.abs(got - expected).max() < 1e-3:
                raise
            raise WrongAnswer(
                f"{wrong.message}\n"
                "Likely cause: an intermediate result is float32 (converting it to float64 doesn't "
                "restore its digits), a constant has too few digits, or the errors of many steps "
                "add up."
            ) from None
        if answer["changed"].flag():
            raise WrongAnswer(f"{self} changes its argument. Work on a copy.")


def make_inputs(function: str, *given, caught: bool = False) -> dict:
    """The inputs of a Call."""
    return {"function": function, "given": list(given), "caught": caught}


def refused(function: str, *given) -> Call:
    """A call that should raise ValueError."""
    return Call(Case(make_inputs(function, *given, caught=True)))


def read_array(answer: Answer, shape: tuple[int, ...]) -> np.ndarray:
    """Read a finite float64 NumPy array.

    Raises:
        WrongAnswer: it is something else.
    """
    answer.present()
    if answer.describe() != (wanted := f"a float64 NumPy array of shape {shape}"):
        float32 = " Compute everything in float64." if "float32" in answer.describe() else ""
        raise WrongAnswer(f"{answer.name} should be {wanted}; it is {answer.describe()}.{float32}")
    data = answer.raw("float64", len(shape))
    if not np.isfinite(data).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(data))[0])
        mask = (
            "\nLikely cause: a causal mask, which is not part of it."
            if np.isneginf(data).any() and len(shape) == 3
            else ""
        )
        raise WrongAnswer(
            f"{answer.name} has {(~np.isfinite(data)).sum()} values that are NaN or infinite, the "
            f"first at {first}.{mask}"
        )
    return data
