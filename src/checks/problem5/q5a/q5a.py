"""Question 5a, basic: relations between the matrices of an attention computed by hand.

No answer is computed here: sums show whether a matrix is a product, and ratios whether weights
match the scores.
"""

import itertools
import math

import numpy as np

from autograder import WrongAnswer, check
from checks.problem5.q5a.by_hand import TOLERANCE, grade_matrices

COUNTED = "(Rows and columns are counted from 0.)"


@check("5a-0-basic")
def test_by_hand(student, context, rng):
    """Scores and weights are judged by Q and K, the output by weights that are right."""

    def judge(name, matrix, known):
        return JUDGES[name](matrix, known, rng)

    grade_matrices(student, context.path("hand_attention.json"), judge)


def judge_scores(S: np.ndarray, known: dict, rng) -> None:
    """Raise WrongAnswer unless S is Q K^T."""
    Q, K, root = known["Q"], known["K"], math.sqrt(known["Q"].shape[1])
    causes = [
        ("they are already scaled. The scores are just Q K^T.", S * root),
        ("they have the wrong sign.", -S),
    ]
    require_product("scores", S, S, (Q, K.T), TOLERANCE, rng, causes)


def judge_scaled(Z: np.ndarray, known: dict, rng) -> None:
    """Raise WrongAnswer unless Z, multiplied by the root of d_k, is Q K^T."""
    Q, K, V = (known[name] for name in "QKV")
    d_k, root = Q.shape[1], math.sqrt(Q.shape[1])
    causes = [
        ("they are not scaled: these are the scores themselves.", Z),
        ("they are divided by d_k. It should be its square root.", Z * d_k),
        ("they are multiplied by sqrt(d_k). It should be a division.", Z / root),
        (
            "they are divided by the root of the number of keys. d_k is the number of columns of Q "
            "and of K.",
            Z * math.sqrt(len(K)),
        ),
        (
            "they are divided by the root of the number of columns of V. d_k is that of Q and of "
            "K.",
            Z * math.sqrt(V.shape[1]),
        ),
    ]
    require_product("scaled_scores", Z, Z * root, (Q, K.T), TOLERANCE * root, rng, causes)


def judge_output(output: np.ndarray, known: dict, rng) -> str | None:
    """Raise WrongAnswer unless the output is the product of the correct weights and V; without
    correct weights, return a sentence that says so.
    """
    Q, K, V = (known[name] for name in "QKV")
    if "weights" not in known:
        return "output is judged once the weights are right."
    root, scores_times_v = math.sqrt(Q.shape[1]), (Q, K.T @ V)
    causes = [
        (
            "V is multiplied by the scaled scores, not by the weights.",
            output * root,
            scores_times_v,
        ),
        ("V is multiplied by the scores, not by the weights.", output, scores_times_v),
        ("the columns are swapped.", output[:, ::-1]),
        ("the rows are swapped.", output[::-1]),
    ]
    tolerance = TOLERANCE * (1 + np.abs(V).sum(axis=0).max())  # the weights have a tolerance, too
    require_product("output", output, output, (known["weights"], V), tolerance, rng, causes)


def require_product(
    name: str,
    shown: np.ndarray,
    got: np.ndarray,
    factors: tuple[np.ndarray, np.ndarray],
    tolerance: float,
    rng,
    causes: list,
) -> None:
    """Raise WrongAnswer unless a matrix is a product.

    The product itself is not computed (Freivalds' algorithm): two sums of each row, with random
    weights, are compared. An error in a single entry is in both, multiplied by that entry's
    weights, which locate it.

    Args:
        shown: the matrix as submitted.
        got: the matrix, or a multiple of it, that should be the product of both factors.
        tolerance: of an entry of `got`.
        causes: likely causes as (sentence, the product in that case[, its factors]).
    """
    sums = rng.uniform(1, 2, (got.shape[1], 2))

    def errors(matrix, left, right):
        off = matrix @ sums - left @ (right @ sums)
        return off, (np.abs(off) > (tolerance + 1e-9) * sums.sum(axis=0)).any(axis=1)

    off, wrong = errors(got, *factors)
    if not wrong.any():
        return
    row = int(wrong.argmax())
    single = off[row] / sums  # the error, if it is only in this column
    column = int(np.abs(single[:, 0] - single[:, 1]).argmin())
    if abs(single[column, 0] - single[column, 1]) <= tolerance:
        value = f"{shown[row, column]:.6g}"
        message = f"{name}[{row}][{column}] is off by more than {TOLERANCE:g}: got {value}."
    else:
        values = ", ".join(f"{value:.6g}" for value in shown[row])
        message = f"{name}[{row}] is off by more than {TOLERANCE:g} in some entries: got {values}."
    for sentence, other, *instead in causes:
        if not errors(other, *(instead[0] if instead else factors))[1].any():
            raise WrongAnswer(f"{message} {COUNTED}\nLikely cause: {sentence}")
    raise WrongAnswer(f"{message} {COUNTED}")


def judge_weights(A: np.ndarray, known: dict, rng) -> None:
    """Raise WrongAnswer unless the rows of A sum to 1 and ratios of its entries match the scaled
    scores.
    """
    Q, K = known["Q"], known["K"]
    off = np.abs(A.sum(axis=1) - 1) > TOLERANCE * A.shape[1] + 1e-9
    if wrong := wrong_ratio(A, Q, K):
        row, one, other = wrong
        message = (
            f"weights[{row}][{one}] and weights[{row}][{other}] are in the wrong ratio: got "
            f"{A[row, one]:.6g} and {A[row, other]:.6g}. The logarithm of the ratio should be the "
            "difference of the two scaled scores."
        )
    elif off.any():
        row = int(off.argmax())
        message = f"weights[{row}] should sum to 1; it sums to {A[row].sum():.4g}."
    else:
        return
    cause = cause_of_weights(A, Q, K)
    raise WrongAnswer(f"{message} {COUNTED}" + (f"\nLikely cause: {cause}" if cause else ""))


def wrong_ratio(
    A: np.ndarray, Q: np.ndarray, K: np.ndarray, factor: float = 1.0
) -> tuple[int, int, int] | None:
    """Return the first row of A, with two columns, where the logarithm of the ratio of two entries
    is not `factor` times the difference of their scaled scores, within the tolerance; None if there
    is none.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(np.maximum(A - TOLERANCE, 0)), np.log(A + TOLERANCE)
    for one, other in itertools.combinations(range(len(K)), 2):
        apart = factor * Q @ (K[one] - K[other]) / math.sqrt(Q.shape[1])
        least, most = low[:, one] - high[:, other], high[:, one] - low[:, other]
        fits = (least <= apart + 1e-9) & (apart - 1e-9 <= most)
        if not fits.all():
            return int(fits.argmin()), one, other
    return None


def cause_of_weights(A: np.ndarray, Q: np.ndarray, K: np.ndarray) -> str:
    """Return the likely cause of wrong weights; "" if none is known."""
    root = math.sqrt(Q.shape[1])

    def add_up(axis):
        return bool((np.abs(A.sum(axis=axis) - 1) <= TOLERANCE * A.size).all())

    def fit(factor):
        return wrong_ratio(A, Q, K, factor) is None

    factors = [
        (root, "the scores are not scaled. Divide them by sqrt(d_k) first."),
        (1 / root, "the scores are divided by d_k. It should be its square root."),
        (math.log(2), "powers of 2 are used instead of powers of e."),
        (-1, "the exponential has the wrong sign."),
        (
            root / math.sqrt(len(K)),
            "the scores are divided by the root of the number of keys, not of d_k, the number of "
            "columns of Q and K.",
        ),
    ]
    if add_up(1):
        return next((sentence for factor, sentence in factors if fit(factor)), "")
    if fit(1) and add_up(None):
        return (
            "the softmax is over all entries at once. It should be over each row, which then sums "
            "to 1."
        )
    if fit(1):
        return "the exponentials are not divided by their sum."
    if add_up(0) and wrong_ratio(A.T, K, Q) is None:
        return "the softmax is over columns. It should be over each row, which then sums to 1."
    if add_up(0) and wrong_ratio(A.T, K, Q, root) is None:
        return "the scores are not scaled, and the softmax is over columns instead of rows."
    return ""


JUDGES = {
    "scores": judge_scores,
    "scaled_scores": judge_scaled,
    "weights": judge_weights,
    "output": judge_output,
}
