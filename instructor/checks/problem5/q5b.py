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
    """Lengths of 1; norms near 0, where float32 has too few digits; scores whose exponentials
    overflow and underflow; a call that takes time and memory.
    """
    few = {"d_k": (3, 9), "n_query": (20, 40), "n_key": (5, 9)}
    ones = [*({name: (1, 2)} for name in few), dict.fromkeys(few, (1, 2))]
    # The best key of the median query of 100 is 19 above the next one, with a standard deviation of
    # 2.7: errors show if that is between 11 and 28.
    near = arguments(rng, d_k=(2500, 2700), n_query=(100, 101), n_key=(15, 16))
    while True:
        far = arguments(rng, d_k=(110_000, 130_000), n_query=(8, 9), n_key=(8, 9))
        draw = np.random.default_rng(far["arguments"]["seed"]).standard_normal
        queries, keys = (draw((8, far["arguments"]["d_k"])) for _ in range(2))
        if (queries @ keys.T).max() > 720:
            break
    return [
        *(arguments(rng, **few | one) for one in ones),
        (near, ", where most largest weights are nearly 1,"),
        (far, ", where scores are hundreds,"),
        # For these, the sums of powers of five queries' weights or more cancel: the norm by such
        # sums is the root of a negative number.
        {"arguments": {"d_k": int(rng.choice([936, 960, 998, 1057, 1061, 1062]))}},
    ]
