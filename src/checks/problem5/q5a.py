"""Question 5a, basic: relations between the matrices of an attention computed by hand.

No answer is computed here: sums show whether a matrix is a product, and ratios whether weights
match the scores.
"""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from autograder import Answer, NotImplementedYet, WrongAnswer, check, probe
from checks.support.submitted_file import file_content, read_content
from common.files import read_text

FILE = "problem5/hand_attention.json"
TOLERANCE = 0.001  # the handout's, for every entry
PLAIN = "Entries are plain numbers, as -0.5: no quotation marks, no fractions, no comments."
COUNTED = "(Rows and columns are counted from 0.)"


@probe(uses=(file_content,))
def read_json(name):
    """Return the matrices that a JSON file holds, or why it holds none."""
    import json

    def matrices(data):
        content = json.loads(data)
        if not isinstance(content, dict):
            raise ValueError("it should be an object: { ... } around all matrices")
        names = ("Q", "K", "V", "scores", "scaled_scores", "weights", "output")
        return {name: content[name] for name in names if name in content}

    return file_content(name, matrices)


@check("5a-0-basic")
def test_by_hand(student, context, rng):
    """Scores and weights are judged by Q and K, the output by weights that are right."""
    path = context.path("hand_attention.json")
    grade_matrices(student, path, lambda *matrix: judge(*matrix, rng))


def grade_matrices(student, course: Path, judge: Callable[[str, np.ndarray, dict], str]) -> None:
    """Give a quarter of the points for each correct matrix.

    Args:
        course: the course's file of matrices.
        judge: called with the matrix's name, the matrix, and a dict of the course's Q, K and V and
            the matrices already found correct. It raises WrongAnswer if the matrix is wrong, and
            returns a sentence if it cannot be judged yet, else "".

    Raises:
        NotImplementedYet: no matrix is filled in.
        WrongAnswer: not all are right; lists those that are, and gives their points.
    """
    given = json.loads(read_text(course))
    known = {name: np.array(given[name], float) for name in "QKV"}
    queries, (keys, width) = len(known["Q"]), known["V"].shape
    shapes = dict.fromkeys(("scores", "scaled_scores", "weights"), (queries, keys))
    shapes["output"] = queries, width
    advice = f"{PLAIN} Is there a comma between entries, and none after the last?"
    content = read_content(student, read_json, FILE, advice).entries()
    problems, missing, notes = {}, [], []  # missing: still contain a null
    for name, shape in shapes.items():
        try:
            if name not in content:
                raise WrongAnswer(f"{name} is missing.")
            matrix = read_matrix(content[name].named(name), shape)
            if matrix is None:
                missing.append(name)
            elif sentence := judge(name, matrix, known):
                notes.append(sentence)
            else:
                known[name] = matrix
        except WrongAnswer as wrong:
            problems[name] = wrong.message
    if len(missing) == len(shapes):
        raise NotImplementedYet(
            f"{FILE}: each of the four matrices still contains a null. Put a number in place of "
            "each."
        )
    for name in "QKV":
        if name not in content or content[name].value != given[name]:
            notes.append(f"{name} is not the course's in your file. The course's {name} counts.")
    right = [name for name in shapes if name in known]
    if len(right) < len(shapes):
        lines = [
            *list(problems.values())[:1],
            *(f"Also wrong: {name}." for name in list(problems)[1:]),
            *(f"{name} still contains a null." for name in missing),
            *notes,
            *([f"Right: {', '.join(right)}."] if right else []),
        ]
        raise WrongAnswer("\n".join(lines), fraction=len(right) / len(shapes))


def read_matrix(answer: Answer, shape: tuple[int, int]) -> np.ndarray | None:
    """Read a matrix, a list of rows of numbers; None if it contains a null.

    Raises:
        WrongAnswer: it is something else.
    """
    value, (height, width) = answer.value, shape
    if value is None:
        return None
    rows = value if isinstance(value, list) else []
    lengths = [len(row) if isinstance(row, list) else 0 for row in rows]
    if lengths != [width] * height:
        turned = " Rows and columns are swapped." if lengths == [height] * width else ""
        raise WrongAnswer(
            f"{answer.name} should be a list of {height} rows with {width} numbers each; it is "
            f"{str(value)[:200]}.{turned}"
        )
    entries = [entry for row in answer.items() for entry in row.items()]
    for entry in entries:
        try:
            if entry.value is not None:
                entry.number()
        except WrongAnswer:
            raise WrongAnswer(
                f"{entry.name} should be a finite number; it is {entry.describe()}. {PLAIN}"
            ) from None
    if any(entry.value is None for entry in entries):
        return None
    return np.array([entry.number() for entry in entries]).reshape(shape)


def judge(name: str, matrix: np.ndarray, known: dict, rng) -> str:
    """Raise WrongAnswer unless a matrix has the relations that a right one has to Q, K, V and the
    right matrices before it; return a sentence if it cannot be judged yet, else "".
    """
    Q, K, V = (known[given] for given in "QKV")
    d_k, root = Q.shape[1], math.sqrt(Q.shape[1])
    if name == "scores":
        causes = {"they are already scaled. The scores are just Q K^T.": (root * matrix, Q, K.T)}
        require_product(name, matrix, (matrix, Q, K.T), TOLERANCE, rng, causes)
    elif name == "scaled_scores":
        causes = {
            "they are not scaled: these are the scores themselves.": (matrix, Q, K.T),
            "they are divided by d_k. It should be its square root.": (d_k * matrix, Q, K.T),
            "they are divided by the root of the number of keys. d_k is the number of columns of Q "
            "and of K.": (math.sqrt(len(K)) * matrix, Q, K.T),
        }
        require_product(name, matrix, (root * matrix, Q, K.T), root * TOLERANCE, rng, causes)
    elif name == "weights":
        require_weights(matrix, Q, K)
    elif "weights" not in known:
        return "output is judged once the weights are right."
    else:
        causes = {
            "V is multiplied by the scaled scores, not by the weights.": (
                root * matrix,
                Q,
                K.T @ V,
            ),
            "V is multiplied by the scores, not by the weights.": (matrix, Q, K.T @ V),
        }
        tolerance = TOLERANCE * (1 + np.abs(V).sum(axis=0).max())  # weights have one, too
        require_product(name, matrix, (matrix, known["weights"], V), tolerance, rng, causes)
    return ""


def require_product(name, matrix, equation, tolerance, rng, causes) -> None:
    """Raise WrongAnswer unless a product is that of two factors.

    It is not computed (Freivalds' algorithm): two sums of each row, with random weights, are
    compared.

    Args:
        equation: the product and both factors.
        tolerance: of an entry of the product.
        causes: likely causes: a sentence, and the equation in that case.
    """
    sums = rng.uniform(1, 2, (matrix.shape[1], 2))

    def wrong_rows(product, left, right):
        off = np.abs(product @ sums - left @ (right @ sums))
        return (off > (tolerance + 1e-9) * sums.sum(axis=0)).any(axis=1)

    wrong = wrong_rows(*equation)
    if wrong.any():
        row = int(wrong.argmax())
        values = ", ".join(f"{value:.6g}" for value in matrix[row])
        message = f"{name}[{row}] is off by more than {TOLERANCE:g}: got {values}."
        _fail(message, {cause: not wrong_rows(*other).any() for cause, other in causes.items()})


def _fail(message, causes):
    cause = next((f"\nLikely cause: {cause}" for cause, holds in causes.items() if holds), "")
    raise WrongAnswer(f"{message} {COUNTED}{cause}")


def require_weights(A: np.ndarray, Q: np.ndarray, K: np.ndarray) -> None:
    """Raise WrongAnswer unless the rows of A sum to 1 and ratios of its entries match the scaled
    scores.
    """
    root = math.sqrt(Q.shape[1])
    off = np.abs(A.sum(axis=1) - 1) > TOLERANCE * A.shape[1] + 1e-9
    columns = (np.abs(A.sum(axis=0) - 1) <= TOLERANCE * A.shape[0]).all()
    if wrong := wrong_ratio(A, Q, K):
        row, one, other = wrong
        message = (
            f"weights[{row}][{one}] and weights[{row}][{other}] are in the wrong ratio: got "
            f"{A[row, one]:.6g} and {A[row, other]:.6g}. The logarithm of the ratio should be the "
            "difference of the two scaled scores."
        )
        causes = {
            "the softmax is over columns. It should be over each row, which then sums to 1.": (
                columns and not wrong_ratio(A.T, K, Q)
            ),
            "the scores are not scaled. Divide them by sqrt(d_k) first.": (
                not off.any() and not wrong_ratio(A, Q, K, root)
            ),
            "the scores are divided by d_k. It should be its square root.": (
                not off.any() and not wrong_ratio(A, Q, K, 1 / root)
            ),
        }
        _fail(message, causes)
    if off.any():
        row = int(off.argmax())
        message = f"weights[{row}] should sum to 1; it sums to {A[row].sum():.4g}."
        _fail(message, {"the exponentials are not divided by the sum of their row.": True})


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
