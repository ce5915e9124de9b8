"""Cases of question 6c: calls of the functions of positions.py with the formulas' results."""

import numpy as np

from checks.problem6.q6c import positions, rope_scores
from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem6.q6c.formulas import solve
from instructor.checks.reference import angles, rotate


def even(rng, low: int, high: int) -> int:
    """Draw an even number, at least `low` and less than `high`, both even."""
    return 2 * int(rng.integers(low // 2, high // 2))


def call_case(function: str, *given) -> Case:
    """Make a case of one of the NumPy functions."""
    return Case(positions.make_inputs(function, *given), *solve(function, *given))


def score_case(
    q: np.ndarray, k: np.ndarray, queries: list[int], keys: list[int], dtype: str = "float32"
) -> Case:
    """Make a case of rope_scores."""
    first = [0, 1, 2]
    about = {
        "turned": _rotated(q, first),
        "turned_wrong": [
            [
                "apply_rotary_emb or precompute_rotary_emb in your attention.py rotates in the "
                "wrong direction: the angle has the wrong sign.",
                _rotated(q, first, -1),
            ],
            [
                "apply_rotary_emb in your attention.py takes pairs from the two halves of the "
                "vectors; they should be adjacent.",
                _in_halves(q, first),
            ],
        ],
    }
    rows = np.tile(q, (1, 1, len(first), 1))
    inputs = rope_scores.make_inputs(q, k, queries, keys, dtype, rows=rows)
    return Case(inputs, _scores(q, k, queries, keys), _score_mistakes(q, k, queries, keys), about)


def _rotated(x, positions, sign=1):
    """Return x rotated to each of the positions, (P, width)."""
    table = sign * angles(len(x), max(positions) + 1)[positions]
    return rotate(np.broadcast_to(x.astype(float), (len(positions), len(x))), table)


def _in_halves(x, positions):
    """The same, with entry i paired with entry i + width/2."""
    halves = np.r_[0 : len(x) : 2, 1 : len(x) : 2]
    return _rotated(x[halves.argsort()], positions)[:, halves]


def _scores(q, k, queries, keys, signs=(1, 1)):
    return (_rotated(q, queries, signs[0]) * _rotated(k, keys, signs[1])).sum(axis=1)


def _score_mistakes(q, k, queries, keys):
    """Return known mistakes as (sentence, function)."""
    P, nowhere, first = len(queries), [0] * len(queries), list(range(len(queries)))
    right = _scores(q, k, queries, keys)
    return [
        ("the scores are scaled; here they should not be.", lambda: right / np.sqrt(len(q))),
        ("the key is not rotated.", lambda: _scores(q, k, queries, nowhere)),
        ("the query is not rotated.", lambda: _scores(q, k, nowhere, keys)),
        ("neither is rotated.", lambda: _scores(q, k, nowhere, nowhere)),
        ("both are rotated to the query's position.", lambda: _scores(q, k, queries, queries)),
        ("query and key positions are swapped.", lambda: _scores(q, k, keys, queries)),
        (
            "entry j is rotated to position j. apply_rotary_emb uses row t of the table for row t "
            "of x: pass it the rows of the positions, table[query_positions].",
            lambda: _scores(q, k, first, first),
        ),
        (
            "the query of entry j is rotated to position j, not to query_positions[j].",
            lambda: _scores(q, k, first, keys),
        ),
        (
            "the key of entry j is rotated to position j, not to key_positions[j].",
            lambda: _scores(q, k, queries, first),
        ),
        (
            "query and key are rotated in opposite directions, so that the sum of their positions "
            "counts.",
            lambda: _scores(q, k, queries, keys, signs=(1, -1)),
        ),
        (
            "positions start at 1 for one of the two.",
            lambda: _scores(q, k, [p + 1 for p in queries], keys),
        ),
        ("the key is used instead of the query.", lambda: _scores(k, k, queries, keys)),
        ("all entries have the score of the first.", lambda: np.full(P, right[0])),
    ]


@makes("6c-4-basic")
def matrices(rng):
    """sinusoidal, and sinusoidal_at for positions up to 1000, where float32 has too few digits."""
    return [
        call_case("sinusoidal", int(rng.integers(3, 6)), even(rng, 6, 10)),
        call_case("sinusoidal", 2, even(rng, 10, 16)),
        # in no order, whatever is drawn
        call_case(
            "sinusoidal_at", np.sort(rng.uniform(0, 1000, 4))[[2, 0, 3, 1]], even(rng, 6, 10)
        ),
    ]


@makes("6c-5-basic")
def shifts(rng):
    """The handout's shifts, and a backward one."""
    widths = rng.permutation(
        [4, 4, 4, 6, 8]
    ).tolist()  # a matrix of width 8 fitted to vectors is not exact
    shifts = 1, 50, 100, 1000, -int(rng.integers(2, 1000))
    return [call_case("shift_matrix", k, width) for k, width in zip(shifts, widths)]


@makes("6c-6-basic")
def scores(rng):
    """Any pairs of positions, and some at the same distance."""
    normal = rng.standard_normal
    start, distance = rng.permutation(30)[:6], int(rng.integers(1, 10))
    cases = [score_case(normal(16), normal(16), (start + distance).tolist(), start.tolist())]
    for width, dtype in ((10, "float32"), (16, "float64")):
        queries, keys = rng.integers(0, 40, (2, 5)).tolist()
        cases.append(score_case(normal(width), normal(width), queries, keys, dtype))
    return cases[::-1]


@makes("6c-7-basic")
def alternatives(rng):
    """Numbers of heads that are a power of two and not; shorter than in training, just as long, and
    longer.
    """
    trained, heads = int(rng.integers(6, 28)), (4, int(rng.choice([3, 5, 6])))
    cases = [
        call_case("alibi_bias", n_head, T)
        for n_head, T in zip(heads, rng.permutation([3, 4]).tolist())
    ]
    longer = trained + int(rng.integers(1, 9)), 2 * trained + 1
    return cases + [
        call_case("interpolated_positions", length, trained)
        for length in (int(rng.integers(3, trained)), trained, *longer)
    ]


@makes("6c-11-basic")
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
        "shift_matrix": ((0, d_model), (-3, 2)),
        "alibi_bias": ((1, 3), (3, 1)),
        "interpolated_positions": ((1, 1), (5, 1)),
    }
    return [
        *(call_case("sinusoidal_at", each, d_model) for each in positions),
        *(call_case(function, *each) for function, sizes in small.items() for each in sizes),
    ]
