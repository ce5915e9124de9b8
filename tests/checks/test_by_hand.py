"""The relations used to judge question 5a: right matrices satisfy them, wrong ones are located and
named.
"""

import json
import math

import numpy as np
import pytest

from autograder import Answer, WrongAnswer
from checks.problem5 import q5a
from checks.problem5.q5a import TOLERANCE
from helpers import ROOT
from instructor.datasets.worlds.exercises import make_matrices
from instructor.mistakes.q5a import softmax


def solved(seed):
    """Draw Q, K, V of a cohort, and compute the four matrices."""
    given = {name: np.array(rows, float) for name, rows in make_matrices(seed).items()}
    scores = given["Q"] @ given["K"].T
    weights = softmax(scores / 2)
    matrices = scores, scores / 2, weights, weights @ given["V"]
    return given, dict(zip(("scores", "scaled_scores", "weights", "output"), matrices))


def judge(name, matrix, given, weights, seed=0):
    """Return the basic check's message on one matrix; "" if it is right. An output is judged by
    the weights, unless they are None.
    """
    known = {**given, "weights": weights} if name == "output" and weights is not None else given
    try:
        q5a.judge(name, matrix, known, np.random.default_rng(seed))
    except WrongAnswer as wrong:
        return wrong.message
    return ""


def test_entries_within_the_tolerance_are_right_and_the_row_of_another_is_located(seed):
    rng = np.random.default_rng(seed)
    for cohort in range(200):
        given, right = solved(cohort)
        rounded = right["weights"] + rng.uniform(-TOLERANCE, TOLERANCE, right["weights"].shape)
        for name, matrix in right.items():
            off = rng.uniform(-TOLERANCE, TOLERANCE, matrix.shape)
            assert judge(name, matrix + off, given, rounded, seed) == ""
            place = tuple(map(int, rng.integers(matrix.shape)))
            wrong = matrix.copy()
            wrong[place] += rng.choice([-1, 1]) * rng.uniform(0.02, 1)
            message = judge(name, wrong, given, right["weights"], seed)
            assert message.startswith(f"{name}[{place[0]}]")


S, Z, A, V = "scores", "scaled_scores", "weights", "V"
CAUSES = {
    "already scaled": (S, lambda m: m[Z]),
    "the scores themselves": (Z, lambda m: m[S]),
    "divided by d_k": (Z, lambda m: m[S] / 4),
    "root of the number of keys": (Z, lambda m: m[S] / math.sqrt(3)),
    "scores are not scaled. Divide": (A, lambda m: softmax(m[S])),
    "the scores are divided by d_k": (A, lambda m: softmax(m[S] / 4)),
    "the softmax is over columns": (A, lambda m: softmax(m[Z], 0)),
    "divided by the sum of their row": (A, lambda m: np.exp(m[Z])),
    "multiplied by the scaled scores": ("output", lambda m: m[Z] @ m[V]),
    "multiplied by the scores": ("output", lambda m: m[S] @ m[V]),
}


def test_the_likely_cause_is_named():
    for cause, (name, mistake) in CAUSES.items():
        for seed in range(5):
            given, right = solved(seed)
            message = judge(name, mistake(given | right).round(4), given, right["weights"], seed)
            assert cause in message, message


def test_zeros_constants_and_copies_earn_nothing():
    """Nor do random numbers, whatever the cohort's Q, K and V are."""
    for seed in range(100):
        given, right = solved(seed)
        noise = np.random.default_rng(seed).standard_normal((3, 4)).round(1)
        for name, matrix in right.items():
            height, width = matrix.shape
            copies = [m[:height, :width] for m in given.values() if np.shape(m) >= matrix.shape]
            for other in (0, 1, 1 / width, noise[:height, :width], *copies):
                wrong = np.broadcast_to(other, matrix.shape) if np.shape(other) == () else other
                if wrong.shape == matrix.shape and np.abs(wrong - matrix).max() > 0.01:
                    assert judge(name, np.array(wrong, float), given, right["weights"], seed)


def test_an_output_waits_for_right_weights():
    given, right = solved(0)
    assert "once the weights are right" in judge("output", right["output"], given, None)


class Student:
    """Stands in for a submission with these matrices."""

    def __init__(self, content):
        self.content = content

    def run(self, probe, **inputs):
        return Answer({"content": self.content}, "the result")


NONSENSE = {
    "scores should be a list of 2 rows with 3 numbers each; it is 7.": 7,
    "it is [-4.0, -2.0, 0.0, -2.0]": [-4.0, -2.0, 0.0, -2.0],
    "it is [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]. Rows and columns are swapped.": [[1.0] * 2] * 3,
    "it is [[1.0, 1.0, 1.0], [1.0, 1.0]]": [[1.0] * 3, [1.0] * 2],
    "no quotation marks, no fractions": [["-4"] * 3] * 2,
    "scores[0][0] should be a number": [[math.nan] * 3] * 2,
    "scores[1][2] should be a number": [[1, 1, 1], [1, 1, [1]]],
    "scores still contains a null": [[1, 1, 1], [1, 1, None]],
}


@pytest.mark.parametrize("message", NONSENSE)
def test_what_is_no_matrix_is_described(message):
    course = ROOT / "data" / "hand_attention.json"
    given = json.loads(course.read_text(encoding="utf-8"))
    student = Student({**given, "scores": NONSENSE[message], "output": [[1.0] * 2] * 2})
    with pytest.raises(WrongAnswer) as caught:
        q5a.grade_matrices(student, course, lambda *matrix: None)
    assert message in caught.value.message and caught.value.fraction == 1 / 4
