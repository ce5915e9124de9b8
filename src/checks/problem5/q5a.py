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


def grade_matrices(student, course: Path, judge: Callable[[str, np.ndarray, dict], None]) -> None:
    """Give a quarter of the points for each correct matrix.

    Args:
        course: the course's file of matrices.
        judge: called with the matrix's name, the matrix, and a dict of the course's Q, K and V and
            the matrices already found correct. It raises WrongAnswer if the matrix is wrong, or
            cannot be judged yet.

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
    lines, missing = [], []  # missing: still contain a null
    for name, shape in shapes.items():
        try:
            if name not in content:
                raise WrongAnswer(f"{name} is missing.")
            matrix = read_matrix(content[name].named(name), shape)
            judge(name, matrix, known)
            known[name] = matrix
        except NotImplementedYet:
            missing.append(f"{name} still contains a null.")
        except WrongAnswer as wrong:
            lines.append(wrong.message)
    if len(missing) == len(shapes):
        raise NotImplementedYet(
            f"{FILE}: each of the four matrices still contains a null. Put a number in place of "
            "each."
        )
    lines += missing
    right = [name for name in shapes if name in known]
    for name in "QKV":
        if name not in content or content[name].value != given[name]:
            lines.append(f"{name} is not the course's in your file. The course's {name} counts.")
    if len(right) < len(shapes):
        lines += [f"Right: {', '.join(right)}."] if right else []
        raise WrongAnswer("\n".join(lines), fraction=len(right) / len(shapes))


def read_matrix(answer: Answer, shape: tuple[int, int]) -> np.ndarray:
    """Read a matrix, a list of rows of numbers.

    Raises:
        NotImplementedYet: it contains a null.
        WrongAnswer: it is something else.
    """
    value, (height, width) = answer.present().value, shape
    rows = value if isinstance(value, list) else []
    lengths = [len(row) if isinstance(row, list) else 0 for row in rows]
    if lengths != [width] * height:
        turned = " Rows and columns are swapped." if lengths == [height] * width else ""
        raise WrongAnswer(
            f"{answer.name} should be a list of {height} rows with {width} numbers each; it is "
            f"{str(value)[:200]}.{turned}"
        )
    try:
        return np.array([[entry.number() for entry in row.items()] for row in answer.items()])
    except WrongAnswer as wrong:
        raise WrongAnswer(f"{wrong.message} {PLAIN}") from None


def judge(name: str, matrix: np.ndarray, known: dict, rng) -> None:
    """Raise WrongAnswer, with the likely cause, unless a matrix has the relations that a right one
    has to Q, K, V and the right matrices before it.
    """
    Q, K, V = (known[given] for given in "QKV")
    d_k, root = Q.shape[1], math.sqrt(Q.shape[1])

    def product(left, right, factor=1.0, tolerance=TOLERANCE):
        """What is wrong if `factor` times the matrix should be left times right, else "".

        The product is not computed (Freivalds' algorithm): two sums of each row, with random
        weights, are compared.
        """
        sums = rng.uniform(1, 2, (matrix.shape[1], 2))
        off = np.abs(factor * matrix @ sums - left @ (right @ sums))
        wrong = (off > (factor * tolerance + 1e-9) * sums.sum(axis=0)).any(axis=1)
        if not wrong.any():
            return ""
        row = int(wrong.argmax())
        values = ", ".join(f"{value:.6g}" for value in matrix[row])
        return f"{name}[{row}] is off by more than {TOLERANCE:g}: got {values}."

    # Likely causes: "" where the matrix is what the mistake gives.
    if name == "scores":
        message = product(Q, K.T)
        causes = {"they are already scaled. The scores are just Q K^T.": product(Q, K.T, root)}
    elif name == "scaled_scores":
        message = product(Q, K.T, root)
        causes = {
            "they are not scaled: these are the scores themselves.": product(Q, K.T),
            "they are divided by d_k. It should be its square root.": product(Q, K.T, d_k),
            "they are divided by the root of the number of keys. d_k is the number of columns of Q "
            "and of K.": product(Q, K.T, math.sqrt(len(K))),
        }
    elif name == "weights":
        message = wrong_weights(matrix, Q, K)
        causes = {
            "the softmax is over columns. It should be over each row, which then sums to 1.": (
                wrong_weights(matrix.T, K, Q)
            ),
            "the scores are not scaled. Divide them by sqrt(d_k) first.": (
                wrong_weights(matrix, Q, K, root)
            ),
            "the scores are divided by d_k. It should be its square root.": (
                wrong_weights(matrix, Q, K, 1 / root)
            ),
        }
    elif "weights" not in known:
        raise WrongAnswer("output is judged once the weights are right.")
    else:
        within = TOLERANCE * (1 + np.abs(V).sum(axis=0).max())  # weights have a tolerance, too
        message = product(known["weights"], V, 1.0, within)
        causes = {
            "V is multiplied by the scaled scores, not by the weights.": (
                product(Q, K.T @ V, root, within)
            ),
            "V is multiplied by the scores, not by the weights.": (
                product(Q, K.T @ V, 1.0, within)
            ),
        }
    if message:
        cause = next((f"\nLikely cause: {each}" for each, off in causes.items() if not off), "")
        raise WrongAnswer(f"{message} (Rows and columns are counted from 0.){cause}")


def wrong_weights(A: np.ndarray, Q: np.ndarray, K: np.ndarray, factor: float = 1.0) -> str:
    """What is wrong unless the logarithm of the ratio of two entries in a row of A is `factor`
    times the difference of their scaled scores, within the tolerance, and rows sum to 1; else "".
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = np.log(np.maximum(A - TOLERANCE, 0)), np.log(A + TOLERANCE)
    for one, other in itertools.combinations(range(len(K)), 2):
        apart = factor * Q @ (K[one] - K[other]) / math.sqrt(Q.shape[1])
        least, most = low[:, one] - high[:, other], high[:, one] - low[:, other]
        fits = (least <= apart + 1e-9) & (apart - 1e-9 <= most)
        if not fits.all():
            row = int(fits.argmin())
            return (
                f"weights[{row}][{one}] and weights[{row}][{other}] are in the wrong ratio: got "
                f"{A[row, one]:.6g} and {A[row, other]:.6g}. The logarithm of the ratio should be "
                "the difference of the two scaled scores."
            )
    off = np.abs(A.sum(axis=1) - 1) > TOLERANCE * A.shape[1] + 1e-9
    if off.any():
        row = int(off.argmax())
        return (
            f"weights[{row}] should sum to 1; it sums to {A[row].sum():.4g}. Are the exponentials "
            "divided by the sum of their row?"
        )
    return ""
