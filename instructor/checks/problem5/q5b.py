"""Question 5b: sizes of the scaling experiment, and the hidden check."""

import numpy as np

from autograder import check
from checks.problem5 import q5b
from checks.problem5.q5b import EXPERIMENT
from instructor.checks.drawing import draws


@check("5b-2-hidden")
def test_sizes(student, calls):
    """As the basic checks, with other sizes."""
    q5b.test_edges(student, calls)


def arguments(rng, **ranges: tuple[int, int]) -> dict:
    """Draw a call's arguments from ranges, and a seed that is never the default."""
    drawn = {name: int(rng.integers(*limits)) for name, limits in ranges.items()}
    return {"arguments": drawn | {"seed": int(rng.integers(1, 10**6))}}


@draws(EXPERIMENT, "5b-1-basic", "5b-2-hidden")
def sizes(rng, large):
    """Small sizes, which reveal a sample variance and sometimes saturate the scaled weights, with
    two seeds; more keys than queries; if `large`, the handout's call for time and memory.
    """
    first = arguments(rng, d_k=(5, 40), n_query=(30, 60), n_key=(4, 9))
    again = {"arguments": first["arguments"] | {"seed": first["arguments"]["seed"] + 1}}
    calls = [first, again, arguments(rng, d_k=(3, 9), n_query=(5, 9), n_key=(20, 40))]
    return [*calls, {"arguments": {"d_k": 1024}}] if large else calls


@draws(EXPERIMENT, "5b-3-basic")
def edges(rng):
    """Lengths of 1; a weight that is nearly 1; scores whose exponentials overflow and underflow; a
    call that takes time and memory.
    """
    few = {"d_k": (3, 9), "n_query": (20, 40), "n_key": (5, 9)}
    ones = [*({name: (1, 2)} for name in few), dict.fromkeys(few, (1, 2))]
    near = {"d_k": (300, 500), "n_query": (1, 2), "n_key": (10, 20)}
    far = {"d_k": (110_000, 130_000), "n_query": (8, 9), "n_key": (8, 9)}
    return [
        *(arguments(rng, **few | one) for one in ones),
        *((drawn_until(rng, nearly_one, **near), ", where one weight is nearly 1,") for _ in "12"),
        (
            drawn_until(rng, lambda scores: scores.max() > 720, **far),
            ", where scores are hundreds,",
        ),
        # For these, the sums of powers of five queries' weights or more cancel: the norm by such
        # sums is the root of a negative number.
        {"arguments": {"d_k": int(rng.choice([936, 960, 998, 1057, 1061, 1062]))}},
    ]


def drawn_until(rng, wanted, **ranges: tuple[int, int]) -> dict:
    """Draw arguments until their scores, (n_query, n_key), are as wanted."""
    while True:
        inputs = arguments(rng, **ranges)
        given = inputs["arguments"]
        draw = np.random.default_rng(given["seed"]).standard_normal
        queries, keys = (draw((given[name], given["d_k"])) for name in ("n_query", "n_key"))
        if wanted(queries @ keys.T):
            return inputs


def nearly_one(scores: np.ndarray) -> bool:
    """Whether a weight is so near 1 that an error of 1e-7 matters, although no right formula in
    float64 loses so many digits.
    """
    second, first = np.sort(scores[0])[-2:]
    return 12 < first - second < 13
