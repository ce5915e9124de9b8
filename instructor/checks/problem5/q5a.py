"""Question 5a, hidden: the four matrices, compared with the results for the course's Q, K and V."""

import math

import numpy as np

from autograder import WrongAnswer, check
from checks.problem5.q5a import TOLERANCE, grade_matrices


@check("5a-1-hidden")
def test_exact(student, context):
    """A quarter of the points for each matrix, independent of the others."""

    def judge(name, matrix, known):
        scores = known["Q"] @ known["K"].T
        scaled = scores / math.sqrt(known["Q"].shape[1])
        weights = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
        right = {"scores": scores, "scaled_scores": scaled, "weights": weights}
        wanted = right.get(name, weights @ known["V"])
        off = ~(np.abs(matrix - wanted) <= TOLERANCE + 1e-9)
        if off.any():
            row, column = map(int, np.argwhere(off)[0])
            raise WrongAnswer(
                f"{name}[{row}][{column}] is off by more than {TOLERANCE:g}: got "
                f"{matrix[row, column]:.6g}, expected {wanted[row, column]:.6g}."
            )

    grade_matrices(student, context.path("hand_attention.json"), judge)
