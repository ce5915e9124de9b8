"""Running positions.py, what its functions should give in float64 with NumPy, and the mistakes that are known by name.

Mistakes in the formulas are keyword arguments, so that a check can ask what a wrong one would have given.
"""
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.calls import attempt, require_refusal

ENCODING, SHIFT, ROPE = 1e-11, 1e-10, 1e-4          # the handout's tolerances; the first also for ALiBi and interpolation


@probe(uses=(attempt,))
def compute(calls):
    """What each call of a NumPy function of positions.py returns, or the kinds of the exception where one is to be caught; and
    which arguments were changed."""
    import numpy as np
    from submission import positions
    results = []
    for call in calls:
        given = [value.copy() if isinstance(value, np.ndarray) else value for value in call["given"]]
        returned, raised = attempt(lambda: getattr(positions, call["function"])(*given), call["caught"])
        changed = any(not np.array_equal(now, before) for now, before in zip(given, call["given"]))
        results.append({"returned": returned, "raised": raised, "changed": changed})
    return results


# What they should give

def frequencies(d_model: int, exponent: float = 2, base: float = 10000.0, first: int = 0, last: int = 0) -> np.ndarray:
    """w_i = base ** (-exponent (i + first) / (d_model - last)), (d_model/2,)."""
    return base ** (-exponent * (np.arange(d_model // 2) + first) / (d_model - last))


def weave(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Columns of both by turns."""
    return np.stack((first, second), axis=-1).reshape(len(first), 2 * first.shape[1])


def encode(positions: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The vectors for frequencies w, (P, 2 len(w))."""
    angles = np.outer(positions.astype(float), w)
    return weave(np.sin(angles), np.cos(angles))


def frequency_mistakes(d_model: int) -> list:
    """Frequencies that are wrong, as (sentence, array)."""
    return [
        ("the exponent of the frequencies lacks its factor 2.", frequencies(d_model, exponent=1)),
        ("the exponent of the frequencies is twice as large as it should be.", frequencies(d_model, exponent=4)),
        ("all pairs have the frequency 1. Is the exponent divided with // instead of /?", np.ones(d_model // 2)),
        ("i begins at 1; it should begin at 0, so that w_0 = 1.", frequencies(d_model, first=1)),
        ("the exponent has the wrong sign: frequencies fall.", 1 / frequencies(d_model)),
        ("the base is 1000; it should be 10000.", frequencies(d_model, base=1000.0)),
        ("the base is 100000; it should be 10000.", frequencies(d_model, base=100000.0)),
        *([("the exponent is divided by d_model - 2, so that the last frequency is 1/10000; it should be divided by d_model.",
            frequencies(d_model, last=2))] if d_model > 2 else []),
    ]


def encoding_mistakes(positions: np.ndarray, d_model: int) -> list:
    """Of sinusoidal and sinusoidal_at, as (sentence, function)."""
    p, w = positions.astype(float), frequencies(d_model)
    angles = np.outer(p, w)
    column = np.arange(d_model)
    return [
        ("cosines stand in the even columns and sines in the odd ones; it should be the other way round.",
         lambda: weave(np.cos(angles), np.sin(angles))),
        ("all sines stand first, and all cosines after them; they should take turns.",
         lambda: np.concatenate((np.sin(angles), np.cos(angles)), axis=1)),
        *((sentence, lambda other=other: encode(p, other)) for sentence, other in frequency_mistakes(d_model)),
        ("each column has a frequency of its own; the sine and the cosine of a pair share one.",
         lambda: np.where(column % 2 == 0, np.sin(np.outer(p, 10000.0 ** (-column / d_model))),
                          np.cos(np.outer(p, 10000.0 ** (-column / d_model))))),
        ("each column has a frequency of its own, with 2 times the column in the exponent; i is the number of the pair.",
         lambda: np.where(column % 2 == 0, np.sin(np.outer(p, 10000.0 ** (-2 * column / d_model))),
                          np.cos(np.outer(p, 10000.0 ** (-2 * column / d_model))))),
        ("positions begin at 1; they should begin at 0.", lambda: encode(p + 1, w)),
        ("the sines stand in both places.", lambda: weave(np.sin(angles), np.sin(angles))),
        ("the vectors are scaled.", lambda: encode(p, w) / np.sqrt(d_model)),
        ("fractions of positions are cut off.", lambda: encode(np.trunc(p), w)),
        ("positions are rounded.", lambda: encode(np.round(p), w)),
        ("the sign of positions is lost.", lambda: encode(np.abs(p), w)),
    ]


def shift(k: int, d_model: int, w: np.ndarray | None = None) -> np.ndarray:
    """M_k: PE[p + k] = PE[p] M_k."""
    blocks = np.zeros((d_model, d_model))
    for i, angle in enumerate(k * (frequencies(d_model) if w is None else w)):
        cos, sin = np.cos(angle), np.sin(angle)
        blocks[2 * i:2 * i + 2, 2 * i:2 * i + 2] = [[cos, -sin], [sin, cos]]
    return blocks


def shift_mistakes(k: int, d_model: int) -> list:
    """Of shift_matrix, as (sentence, function)."""
    right, halves = shift(k, d_model), np.r_[0:d_model:2, 1:d_model:2]
    swapped = np.arange(d_model) ^ 1
    return [
        *([("the sign of k is lost.", lambda: shift(-k, d_model))] if k < 0 else []),
        ("it is transposed. PE[p] is a row and stands on the left: PE[p + k] = PE[p] @ M.", lambda: right.T),
        ("sine and cosine have changed places.", lambda: right[swapped][:, swapped]),
        ("the sines have the same sign; one is negative.", lambda: np.abs(right.T - right) / 2 + (right + right.T) / 2),
        ("it is made for vectors with all sines first.", lambda: right[halves][:, halves]),
        ("k is not used: it is the matrix for a shift of 1.", lambda: shift(1, d_model)),
        *((sentence, lambda other=other: shift(k, d_model, other)) for sentence, other in frequency_mistakes(d_model)),
        ("only the diagonal is filled in.", lambda: np.diag(np.diag(right))),
    ]


def alibi(n_head: int, T: int, slopes: np.ndarray | None = None) -> np.ndarray:
    """(n_head, T, T)."""
    slopes = 2.0 ** (-8 * (np.arange(n_head) + 1) / n_head) if slopes is None else slopes
    return 0.0 - slopes[:, None, None] * np.abs(np.subtract.outer(np.arange(T), np.arange(T)))      # no -0


def alibi_mistakes(n_head: int, T: int) -> list:
    """Of alibi_bias, as (sentence, function)."""
    right, head, difference = alibi(n_head, T), np.arange(n_head), np.subtract.outer(np.arange(T), np.arange(T))
    slopes = 2.0 ** (-8 * (head + 1) / n_head)
    power = 2 ** int(np.log2(n_head))
    more = 2.0 ** (-8 * np.arange(1, 2 * power + 1) / (2 * power))       # those of a power of two, then every second of the next
    mixed = np.concatenate((more[1::2], more[0::2]))[:n_head]
    return [
        ("it should be negative: what is farther gets less.", lambda: -right),
        ("the slopes begin at 2^0; h counts from 0, and the exponent has h + 1.",
         lambda: alibi(n_head, T, 2.0 ** (-8 * head / n_head))),
        ("the exponents of the slopes are rounded down; divide with /, not with //.",
         lambda: alibi(n_head, T, 2.0 ** (-8 * (head + 1) // n_head))),
        ("the slopes are 2^-(h + 1) for every number of heads; the exponent is -8 (h + 1) / n_head.",
         lambda: alibi(n_head, T, 2.0 ** -(head + 1.0))),
        ("the slopes of the next power of two are mixed in. Here one formula serves for every n_head.",
         lambda: alibi(n_head, T, mixed)),
        ("the slopes are in the wrong order.", lambda: right[::-1]),
        ("the distance has a sign; it should be |i - j|.", lambda: -slopes[:, None, None] * difference),
        ("the distance has a sign; it should be |i - j|.", lambda: slopes[:, None, None] * difference),
        ("later keys have no bias. A causal mask is no part of it.", lambda: np.where(difference >= 0, right, 0)),
        ("distances are squared.", lambda: -slopes[:, None, None] * difference ** 2),
        ("the slopes are all 1.", lambda: alibi(n_head, T, np.ones(n_head))),
    ]


def interpolate(T: int, trained_length: int) -> np.ndarray:
    """(T,)."""
    return np.arange(T) * (trained_length / T if T > trained_length else 1.0)


def interpolation_mistakes(T: int, trained_length: int) -> list:
    """Of interpolated_positions, as (sentence, function)."""
    p = np.arange(T).astype(float)
    return [
        ("positions are stretched also where all of them fit; they should be 0, 1, ..., T - 1 then.",
         lambda: p * trained_length / T),
        ("positions are not squeezed.", lambda: p),
        ("the factor is upside down: it is trained_length / T.", lambda: p * T / trained_length),
        ("the last position is made trained_length - 1; each is multiplied by trained_length / T.",
         lambda: p * (trained_length - 1) / (T - 1) if T > 1 else None),
        ("the last position is made trained_length; each is multiplied by trained_length / T.",
         lambda: p * trained_length / (T - 1) if T > 1 else None),
        ("positions beyond the training are all the last one.", lambda: np.minimum(p, trained_length - 1)),
        ("positions beyond the training begin again at 0.", lambda: p % trained_length),
        ("positions are rounded; they may be fractions.", lambda: np.round(interpolate(T, trained_length))),
        ("fractions of positions are cut off.", lambda: np.floor(interpolate(T, trained_length))),
    ]


# Judging

@dataclass(frozen=True)
class Call:
    """A call of one of the NumPy functions, which should raise ValueError if it is `refused`."""
    function: str
    given: tuple
    refused: bool = False

    def __str__(self):
        shown = [f"<{len(value)} positions, {value.dtype}>" if isinstance(value, np.ndarray) else repr(value)
                 for value in self.given]
        return f"{self.function}({', '.join(shown)})"

    @property
    def inputs(self) -> dict:
        """What the probe is told."""
        return {"function": self.function, "given": list(self.given), "caught": self.refused}

    def expected(self) -> tuple[np.ndarray, float, list]:
        """The right array, its tolerance, and known mistakes."""
        if self.function in ("sinusoidal", "sinusoidal_at"):
            positions = np.arange(self.given[0]) if self.function == "sinusoidal" else self.given[0]
            return encode(positions, frequencies(self.given[1])), ENCODING, encoding_mistakes(positions, self.given[1])
        right, tolerance, mistakes = {
            "shift_matrix": (shift, SHIFT, shift_mistakes), "alibi_bias": (alibi, ENCODING, alibi_mistakes),
            "interpolated_positions": (interpolate, ENCODING, interpolation_mistakes)}[self.function]
        return right(*self.given), tolerance, mistakes(*self.given)

    def judge(self, answer: Answer) -> None:
        """Raise WrongAnswer if the probe's answer is wrong; names the likely cause."""
        if self.refused:
            require_refusal(str(self), answer["raised"], f"it returned {answer['returned'].describe()}")
            return
        expected, tolerance, mistakes = self.expected()
        got = read_array(answer["returned"].named(str(self)), expected.shape)
        try:
            with np.errstate(all="ignore"):         # a mistake may overflow
                require_close(str(self), got + 0.0, expected, tolerance, mistakes)          # -0 would be shown as such
        except WrongAnswer as wrong:
            if "Likely cause" in wrong.message or not np.abs(got - expected).max() < 1e-3:
                raise
            raise WrongAnswer(f"{wrong.message}\nLikely cause: something is computed in float32 on the way (a float64 made from "
                              "it does not get its digits back), with a constant of few digits, or in many steps whose errors "
                              "add up.") from None
        if answer["changed"].flag():
            raise WrongAnswer(f"{self} changes its argument. Work on a copy.")


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
        mask = "\nLikely cause: a causal mask, which is no part of it." if np.isneginf(data).any() and len(shape) == 3 else ""
        raise WrongAnswer(f"{answer.name} has {(~np.isfinite(data)).sum()} values that are NaN or infinite, the first at "
                          f"{first}.{mask}")
    return data
