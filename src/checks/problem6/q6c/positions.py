"""Running the NumPy functions of positions.py, and judging what they give. The checks of question
6c share it.
"""

from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem6.calls import attempt, require_refusal
from checks.support.cases import Case

# the handout's tolerances; the first also for ALiBi and interpolation
ENCODING, SHIFT, ROPE = 1e-11, 1e-10, 1e-4


@probe(uses=(attempt,))
def compute(calls):
    """What each call of a NumPy function of positions.py returns, or the kinds of the exception
    where one is to be caught; and which arguments were changed.
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
        case: its inputs are the function's name, what it is given, and whether ValueError is to be
            caught. `right` is an array, and None for what should raise ValueError.
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
        """What the probe is told."""
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
                self.case.require(str(self), got + 0.0, tolerance)  # -0 would be shown as such
        except WrongAnswer as wrong:
            if "Likely cause" in wrong.message or not np.abs(got - expected).max() < 1e-3:
                raise
            raise WrongAnswer(
                f"{wrong.message}\nLikely cause: something is computed in float32 on the way (a "
                "float64 made from it does not get its digits back), with a constant of few "
                "digits, or in many steps whose errors add up."
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
    """A finite float64 NumPy array that a submission made.

    Raises:
        WrongAnswer: it is something else.
    """
    answer.present()
    if answer.describe() != (wanted := f"a float64 NumPy array of shape {shape}"):
        float32 = " Compute in float64 all the way." if "float32" in answer.describe() else ""
        raise WrongAnswer(f"{answer.name} should be {wanted}; it is {answer.describe()}.{float32}")
    data = answer.raw("float64", len(shape))
    if not np.isfinite(data).all():
        first = tuple(int(i) for i in np.argwhere(~np.isfinite(data))[0])
        mask = (
            "\nLikely cause: a causal mask, which is no part of it."
            if np.isneginf(data).any() and len(shape) == 3
            else ""
        )
        raise WrongAnswer(
            f"{answer.name} has {(~np.isfinite(data)).sum()} values that are NaN or infinite, the "
            f"first at {first}.{mask}"
        )
    return data
