"""Question 6c: sizes and positions, and the hidden checks."""

import numpy as np

from checks.problem6.q6c import SCORES, SHIFT, VECTORS
from instructor.checks.drawing import draws

# Positions of queries and keys that rope_scores rejects: negative, none, different numbers.
BAD_POSITIONS = (
    *(([4, -1, 7], [0, 1, 2]), ([0, 1, 2], [4, 7, -1]), ([-1], [-1])),
    *(([], []), ([3], [4, 5]), ([3, 4], [5]), ([], [5]), ([5], [])),
)


def even(rng, low: int, high: int) -> int:
    """Draw an even number, at least `low` and less than `high`, both even."""
    return 2 * int(rng.integers(low // 2, high // 2))


def call(function: str, *given) -> dict:
    """The inputs of a call of a NumPy function."""
    return {"function": function, "given": list(given)}


def scores(rng, width: int, queries, keys, dtype: str = "float32") -> dict:
    """The inputs of a call of rope_scores."""
    q, k = rng.standard_normal((2, width)).astype(dtype)
    return {"q": q, "k": k, "queries": list(map(int, queries)), "keys": list(map(int, keys))}


@draws(VECTORS, "6c-4-basic", "6c-8-hidden")
def matrices(rng, large):
    """Few positions, and more than a thousand; positions up to 1000, where float32 has too few
    digits, in no order; others with the same shape.
    """
    width = even(rng, 6, 10)
    unsorted = np.sort(rng.uniform(0, 1000, 4))[[2, 0, 3, 1]]
    wide = [call("sinusoidal", 1000, width), call("sinusoidal_at", rng.uniform(0, 1000, 9), 512)]
    return wide * large + [
        call("sinusoidal", int(rng.integers(3, 6)), even(rng, 6, 10)),
        call("sinusoidal", 2, even(rng, 10, 16)),
        call("sinusoidal_at", unsorted, width),
        call("sinusoidal_at", rng.uniform(0, 1000, 4), width),
        call("sinusoidal", int(rng.integers(1026, 1090)), 2),
    ]


@draws(SHIFT, "6c-5-basic", "6c-9-hidden")
def shifts(rng, large):
    """The handout's shifts, and a backward one."""
    # of width 8, a matrix that is fitted to vectors is not exact
    widths = rng.permutation([4, 6, 8, even(rng, 10, 60), 512] if large else [4, 4, 4, 6, 8])
    shifts = 1, 50, 100, 1000, -int(rng.integers(2, 1000))
    return [{"k": k, "d_model": width} for k, width in zip(shifts, widths.tolist())]


@draws(SCORES, "6c-6-basic", "6c-9-hidden")
def pairs(rng, large):
    """Any pairs of positions, twice with the same shapes; some at the same distance; some beyond
    the ends of tables, and so narrow that angles in float32 have enough digits.

    Of the latter, scores with angles in float32 were off by at most 9e-6 in 200,000 draws, where
    1e-4 is allowed.
    """
    start, distance = rng.permutation(30)[:6], int(rng.integers(1, 10))
    return [
        scores(rng, 16, *rng.integers(0, 40, (2, 5)), "float64"),
        scores(rng, 10, *rng.integers(0, 40, (2, 5))),
        scores(rng, 10, *rng.integers(0, 40, (2, 5))),
        scores(rng, 16, start + distance, start),
        scores(rng, 4, *rng.integers(1026, 1500, (2, 3))),
        *([scores(rng, 64, *rng.integers(0, 40, (2, 30)), "float64")] * large),
    ]


@draws(VECTORS, "6c-7-basic", "6c-8-hidden")
def alternatives(rng, large):
    """Numbers of heads that are a power of two and not; shorter than in training, just as long, and
    longer; some with one size of another call.
    """
    T, *heads = [(5, 4, 3), (3, 4, 5), (3, 4, 6), (5, 4, 6)][rng.integers(4)]
    trained = int(rng.integers(6, 28))
    longer = trained + int(rng.integers(1, 9)), 2 * trained + 1
    lengths = int(rng.integers(3, trained)), trained, *longer
    return [
        *(call("alibi_bias", n_head, T) for n_head in heads),
        *(call("interpolated_positions", length, trained) for length in lengths),
        call("interpolated_positions", longer[1], trained - 1),
        call("interpolated_positions", int(rng.integers(1026, 1090)), 1090),
        call("alibi_bias", 12 if large else 2, int(rng.integers(130, 140))),
    ]


@draws(VECTORS, "6c-10-basic")
def refused(rng):
    """Widths that are odd or too small, negative lengths, and sizes below 1."""
    positions, d_model = rng.standard_normal(3), even(rng, 6, 60)
    calls = []
    for width in (d_model, d_model + 1, 1, 0, -4):
        calls += [call("sinusoidal", 5, width), call("sinusoidal_at", positions, width)]
    calls.append(call("sinusoidal", -1, d_model))
    for function in ("alibi_bias", "interpolated_positions"):
        calls += [call(function, *each) for each in ((4, 6), (0, 4), (4, 0), (-2, 4), (4, -2))]
    return calls


@draws(SHIFT, "6c-10-basic")
def refused_widths(rng):
    """Widths that are odd or too small."""
    d_model = even(rng, 6, 60)
    return [{"k": 2, "d_model": width} for width in (d_model, d_model + 1, 1, 0, -4)]


@draws(SCORES, "6c-10-basic")
def refused_positions(rng):
    """Negative positions, none, and different numbers of them."""
    return [scores(rng, 8, *each) for each in (([4, 1], [0, 3]), *BAD_POSITIONS)]


@draws(VECTORS, "6c-11-basic")
def any_positions(rng):
    """Negative positions, fractions, ints, float32, none, in any order; the smallest sizes."""
    d_model = even(rng, 4, 8)
    positions = [
        np.append(rng.uniform(-100, 100, 3), -0.5),
        np.append(rng.integers(-100, 100, 2), -7),
        rng.integers(0, 1000, 3).astype("int32"),
        np.repeat(rng.uniform(100, 900, 2), 2).astype("float32"),
        np.zeros(0),
    ]
    small = {
        "sinusoidal": ((0, d_model), (3, 2)),
        "alibi_bias": ((1, 3), (3, 1)),
        "interpolated_positions": ((1, 1), (5, 1)),
    }
    return [
        *(call("sinusoidal_at", each, d_model) for each in positions),
        *(call(function, *each) for function, sizes in small.items() for each in sizes),
    ]


@draws(SHIFT, "6c-11-basic")
def small_shifts(rng):
    """No shift; the smallest width."""
    return [{"k": 0, "d_model": even(rng, 4, 8)}, {"k": -3, "d_model": 2}]
