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
PLAIN = "Entries are plain numbers, as -0.5, and there are no comments."
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


def grade_matrices(
    student, course: Path, judge: Callable[[str, np.ndarray, dict], str | None], hints: bool = True
) -> None:
    """Give a quarter of the points for each correct matrix.

    Args:
        course: the course's file of matrices.
        judge: called with the matrix's name, the matrix, and a dict of the course's Q, K and V and
            the matrices already found correct. It raises WrongAnswer if the matrix is wrong, and
            returns a sentence if it cannot be judged yet.
        hints: report it if Q, K or V was changed.

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
    changed = [name for name in "QKV" if name not in content or content[name].value != given[name]]
    if changed and hints:
        student.hint(
            f"{FILE} has a different {' and a different '.join(changed)} from the course's. "
            "Answers are judged by the course's."
        )
    problems, missing, waiting = {}, [], []  # missing: still contain a null
    for name, shape in shapes.items():
        try:
            if name not in content:
                raise WrongAnswer(f"{name} is missing.")
            matrix = read_matrix(content[name].named(name), shape)
            if matrix is None:
                missing.append(name)
            elif sentence := judge(name, matrix, known):
                waiting.append(sentence)
            else:
                known[name] = matrix
        except WrongAnswer as wrong:
            problems[name] = wrong.message
    if len(missing) == len(shapes):
        raise NotImplementedYet(
            f"{FILE}: each of the four matrices still contains a null. Put a number in place of "
            "each."
        )
    if problems or missing or waiting:
        right = [name for name in shapes if name in known]
        lines = [
            *list(problems.values())[:1],
            *(f"Also wrong: {name}." for name in list(problems)[1:]),
            *(f"{name} still contains a null." for name in missing),
            *waiting,
            *([f"Right: {', '.join(right)}."] if right else []),
        ]
        raise WrongAnswer("\n".join(lines), fraction=len(right) / len(shapes))


def read_matrix(answer: Answer, shape: tuple[int, int]) -> np.ndarray | None:
    """Read a matrix, a list of rows of numbers; None if it contains a null.

    Raises:
        WrongAnswer: it is something else.
    """
    value, (height, width) = answer.value, shape
    wanted = f"{answer.name} should be a list of {height} rows with {width} numbers each"
    if value is None:
        return None
    if not isinstance(value, list):
        raise WrongAnswer(f"{wanted}; it is {answer.describe()}.")
    rows = answer.items()
    for row in rows:
        if not isinstance(row.value, list):
            raise WrongAnswer(f"{wanted}; {row.name} is {row.describe()}, not a row.")
    lengths = [len(row) for row in value]
    if lengths != [width] * height:
        turned = " Rows and columns are swapped." if lengths == [height] * width else ""
        raise WrongAnswer(
            f"{wanted}; it has {len(lengths)} rows, of lengths {str(lengths[:6])[1:-1]}.{turned}"
        )
    entries = [entry for row in rows for entry in row.items()]
    for entry in entries:
        if isinstance(entry.value, str):
            raise WrongAnswer(
                f"{entry.name} is {entry.describe()}. {PLAIN} No quotation marks, and no fractions."
            )
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


def judge(name: str, matrix: np.ndarray, known: dict, rng) -> str | None:
    """Raise WrongAnswer unless a matrix has the relations that a right one has to Q, K, V and the
    right matrices before it; return a sentence if it cannot be judged yet.
    """
    Q, K, V = (known[given] for given in "QKV")
    d_k, root = Q.shape[1], math.sqrt(Q.shape[1])
    if name == "scores":
        causes = [
            (root * matrix, "they are already scaled. The scores are just Q K^T."),
            (-matrix, "they have the wrong sign."),
        ]
        require_product(name, matrix, 1, (Q, K.T), TOLERANCE, rng, causes)
    elif name == "scaled_scores":
        root_of = "they are divided by the root of the number of"
        causes = [
            (matrix, "they are not scaled: these are the scores themselves."),
            (d_k * matrix, "they are divided by d_k. It should be its square root."),
            (matrix / root, "they are multiplied by sqrt(d_k). It should be a division."),
            (
                math.sqrt(len(K)) * matrix,
                f"{root_of} keys. d_k is the number of columns of Q and of K.",
            ),
            (math.sqrt(V.shape[1]) * matrix, f"{root_of} columns of V. d_k is that of Q and of K."),
        ]
        require_product(name, matrix, root, (Q, K.T), TOLERANCE, rng, causes)
    elif name == "weights":
        require_weights(matrix, Q, K)
    elif "weights" not in known:
        return "output is judged once the weights are right."
    else:
        by_scores = Q, K.T @ V
        causes = [
            (root * matrix, "V is multiplied by the scaled scores, not by the weights.", by_scores),
            (matrix, "V is multiplied by the scores, not by the weights.", by_scores),
            (matrix[:, ::-1], "the columns are swapped."),
            (matrix[::-1], "the rows are swapped."),
        ]
        tolerance = TOLERANCE * (1 + np.abs(V).sum(axis=0).max())  # weights have one, too
        require_product(name, matrix, 1, (known["weights"], V), tolerance, rng, causes)
    return None


def require_product(name, matrix, factor, factors, tolerance, rng, causes) -> None:
    """Raise WrongAnswer unless `factor` times a matrix is the product of both factors.

    The product itself is not computed (Freivalds' algorithm): two sums of each row, with random
    weights, are compared. An error in a single entry is in both, multiplied by that entry's
    weights, which locate it.

    Args:
        tolerance: of an entry of the matrix.
        causes: likely causes: (the product in that case, a sentence[, its factors]).
    """
    sums = rng.uniform(1, 2, (matrix.shape[1], 2))

    def errors(product, left, right):
        off = product @ sums - left @ (right @ sums)
        return off, (np.abs(off) > (tolerance * factor + 1e-9) * sums.sum(axis=0)).any(axis=1)

    off, wrong = errors(factor * matrix, *factors)
    if not wrong.any():
        return
    row = int(wrong.argmax())
    single = off[row] / sums  # the error, if it is only in this column
    apart = np.abs(single[:, 0] - single[:, 1])
    column = int(apart.argmin())
    if apart[column] <= tolerance * factor:
        where = f"{name}[{row}][{column}] is off by more than {TOLERANCE:g}"
        message = f"{where}: got {matrix[row, column]:.6g}."
    else:
        values = ", ".join(f"{value:.6g}" for value in matrix[row])
        message = f"{name}[{row}] is off by more than {TOLERANCE:g} in some entries: got {values}."
    found = (
        sentence
        for product, sentence, *other in causes
        if not errors(product, *(other[0] if other else factors))[1].any()
    )
    _fail(message, next(found, ""))


def _fail(message, cause):
    raise WrongAnswer(f"{message} {COUNTED}" + (f"\nLikely cause: {cause}" if cause else ""))


def require_weights(A: np.ndarray, Q: np.ndarray, K: np.ndarray) -> None:
    """Raise WrongAnswer unless the rows of A sum to 1 and ratios of its entries match the scaled
    scores.
    """
    root = math.sqrt(Q.shape[1])
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

    def sums(axis):
        return bool((np.abs(A.sum(axis=axis) - 1) <= TOLERANCE * A.size).all())

    def fits(factor):
        return wrong_ratio(A, Q, K, factor) is None

    def fits_columns(factor):
        return sums(0) and wrong_ratio(A.T, K, Q, factor) is None

    of_keys = "the root of the number of keys, not of d_k, the number of columns of Q and K"
    each_row = "It should be over each row, which then sums to 1."
    causes = {  # the first that holds
        "the scores are not scaled. Divide them by sqrt(d_k) first.": sums(1) and fits(root),
        "the scores are divided by d_k. It should be its square root.": sums(1) and fits(1 / root),
        "powers of 2 are used instead of powers of e.": sums(1) and fits(math.log(2)),
        "the exponential has the wrong sign.": sums(1) and fits(-1),
        f"the scores are divided by {of_keys}.": sums(1) and fits(root / math.sqrt(len(K))),
        f"the softmax is over all entries at once. {each_row}": fits(1) and sums(None),
        "the exponentials are not divided by their sum.": fits(1) and not sums(1),
        f"the softmax is over columns. {each_row}": fits_columns(1),
        "the scores are not scaled, and the softmax is over columns instead of rows.": fits_columns(
            root
        ),
    }
    _fail(message, next((cause for cause, holds in causes.items() if holds), ""))


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
