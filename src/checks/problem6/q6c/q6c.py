"""Question 6c, basic: sines and cosines, the matrix of a shift, RoPE's scores, ALiBi,
interpolation; unusual positions, and rejected arguments.
"""

from autograder import check
from checks.problem6.q6c.positions import Call, compute, refused
from checks.problem6.q6c.rope_scores import ScoreCall, refused_scores, require_scores
from checks.support.calls import require_right

# Positions of queries and keys that rope_scores rejects: negative, none, different numbers.
BAD_POSITIONS = (
    ([4, -1, 7], [0, 1, 2]),
    ([0, 1, 2], [4, 7, -1]),
    ([-1], [-1]),
    ([], []),
    ([3], [4, 5]),
    ([3, 4], [5]),
    ([], [5]),
    ([5], []),
)


@check("6c-4-basic")
def test_matrix(student, cases):
    """sinusoidal and sinusoidal_at."""
    require_right(student, compute, [Call(case) for case in cases])


@check("6c-5-basic")
def test_shift(student, cases):
    """The handout's shifts, and a backward one."""
    require_right(student, compute, [Call(case) for case in cases])


@check("6c-6-basic")
def test_rope(student, cases):
    """Any pairs of positions, and some at the same distance.

    A correct table may be computed in float32, with errors of about 1e-6 in the angles. Scores at
    the same distance then differ by 3e-6 on average, and by at most 2e-5 in 6,000 draws of width
    64, wider than here; they exceed the allowed 1e-4 less than once in a million.
    """
    require_scores(student, [ScoreCall(case) for case in cases])


@check("6c-7-basic")
def test_alternatives(student, cases):
    """ALiBi for any number of heads; shorter than in training, just as long, and longer."""
    require_right(student, compute, [Call(case) for case in cases])


@check("6c-10-basic")
def test_refused(student, rng):
    """Widths that are odd or too small, negative lengths, invalid sizes and positions."""
    normal, d_model = rng.standard_normal, 2 * int(rng.integers(3, 30))
    calls = [refused("sinusoidal", -1, d_model)]
    for bad in (d_model + 1, 1, 0, -4):
        calls += [
            refused("sinusoidal", 5, bad),
            refused("sinusoidal_at", normal(3), bad),
            refused("shift_matrix", 2, bad),
        ]
    calls += [
        refused(function, *sizes)
        for function in ("alibi_bias", "interpolated_positions")
        for sizes in ((0, 4), (4, 0), (-2, 4), (4, -2))
    ]
    require_right(student, compute, calls)
    require_scores(
        student,
        [refused_scores(normal(8), normal(8), queries, keys) for queries, keys in BAD_POSITIONS],
    )


@check("6c-11-basic")
def test_any_positions(student, cases):
    """Negative positions, fractions, whole numbers, none; the smallest sizes."""
    require_right(student, compute, [Call(case) for case in cases])
