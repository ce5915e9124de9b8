"""Question 6c, hidden: long and wide tables, large shifts, many pairs of positions."""

import numpy as np

from autograder import check
from checks.problem6.q6c.positions import Call, compute
from checks.problem6.q6c.rope_scores import ScoreCall, require_scores
from checks.support.calls import require_right
from instructor.checks.problem6.q6c.cases import call_case, even, score_case


@check("6c-8-hidden")
def test_large(student, rng):
    """A thousand positions, narrow and wide; fractions in any order; many heads."""
    d_model, trained = even(rng, 6, 60), int(rng.integers(20, 40))
    calls = [
        ("sinusoidal", *sizes) for sizes in ((1000, 512), (1000, d_model), (1, d_model), (1000, 2))
    ]
    calls += [
        ("sinusoidal_at", rng.uniform(0, 1000, 50), 512),
        ("sinusoidal_at", np.array([999.5]), d_model),
    ]
    calls += [
        ("alibi_bias", *sizes) for sizes in ((8, 20), (12, 7), (int(rng.integers(17, 30)), 40))
    ]
    calls += [
        ("interpolated_positions", *sizes)
        for sizes in ((1000, 999), (1000, 7), (7, 1000), (trained + 5, trained))
    ]
    require_right(student, compute, [Call(call_case(*call)) for call in calls])


@check("6c-9-hidden")
def test_far(student, rng):
    """Small and large shifts in both directions; RoPE at one position and at many."""
    normal, d_model, width = rng.standard_normal, even(rng, 6, 60), even(rng, 4, 30)
    forth, back = int(rng.integers(1, 1000)), -int(rng.integers(1, 1000))
    shifts = (forth, 512), (back, d_model), (-1000, 4), (3, 4), (-1, d_model)
    require_right(student, compute, [Call(call_case("shift_matrix", *sizes)) for sizes in shifts])
    many = [rng.integers(0, 40, 30).tolist() for _ in range(2)]
    require_scores(
        student,
        [
            ScoreCall(case)
            for case in (
                score_case(normal(2), normal(2), [3], [11]),
                score_case(normal(width), normal(width), [5], [0], "float64"),
                score_case(normal(width), normal(width), *many),
                score_case(normal(64), normal(64), [5, 5, 5], [5, 4, 5], "float64"),
            )
        ],
    )
