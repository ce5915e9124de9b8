"""Cases of question 5b: calls of scaling_experiment with the expected measurements."""

import numpy as np

from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem5.q5b.scaling import EPSILONS, draw_scores, scaling_case

NEAR_ZERO = (
    "one weight is nearly 1 here, and the values are nearly 0, so float32 in the computation "
    "shows, as does a small number added somewhere."
)
UNDERFLOW = (
    "scores are hundreds here. Subtract from each row its largest score before np.exp, and leave "
    "out weights that are 0 where you take a logarithm: 0 ln 0 counts as 0."
)


def draw_seed(rng) -> int:
    """Draw a seed of the experiment; never its default."""
    return int(rng.integers(1, 10**6))


@makes("5b-1-basic")
def small(rng):
    """Small sizes, which reveal a sample variance and sometimes saturate the scaled weights; a row
    of the handout's table.
    """
    sizes = [
        {
            "d_k": int(rng.integers(5, 40)),
            "n_query": int(rng.integers(30, 60)),
            "n_key": int(rng.integers(4, 9)),
            "seed": draw_seed(rng),
        }
        for _ in range(2)
    ]
    return [
        *(scaling_case(**call) for call in sizes),
        scaling_case(d_k=int(2 ** rng.integers(2, 7))),
    ]


@makes("5b-3-basic")
def edges(rng):
    """A length of 1, two calls with values near 0, weights that underflow, and a call that takes
    time and memory.
    """
    lengths = {
        "d_k": int(rng.integers(3, 9)),
        "n_query": int(rng.integers(20, 40)),
        "n_key": int(rng.integers(5, 9)),
    }
    ones = [*({name: 1} for name in lengths), dict.fromkeys(lengths, 1)][rng.integers(4)]
    return [
        scaling_case(EPSILONS, **lengths | ones, seed=draw_seed(rng)),
        near_zero(rng),
        near_zero(rng),
        underflowing(rng),
        saturated(rng),
    ]


def near_zero(rng) -> Case:
    """One query whose largest weight is nearly 1, so that an error of 1e-7 matters, although no
    correct float64 formula loses so many digits.
    """
    while True:
        call = {
            "d_k": int(rng.integers(2000, 5000)),
            "n_query": 1,
            "n_key": int(rng.integers(10, 20)),
            "seed": draw_seed(rng),
        }
        scores = np.sort(draw_scores(**call)[0][0])
        if 12 < scores[-1] - scores[-2] < 13 and scores[-1] - scores[-3] > 13:
            return scaling_case(EPSILONS, NEAR_ZERO, **call)


def saturated(rng) -> Case:
    """A call that takes time and memory, with a weight so near 1 that sums of powers of weights
    cancel: the Jacobian's norm by such sums is the root of a negative number.
    """
    while True:
        call = {"d_k": int(rng.integers(960, 1020)), "seed": draw_seed(rng)}
        scores = draw_scores(n_query=512, n_key=64, **call)[0]
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        if ((p**2).sum(1) - 2 * (p**3).sum(1) + (p**2).sum(1) ** 2 < 0).any():
            return scaling_case(EPSILONS, **call)


def underflowing(rng) -> Case:
    """Weights of 0, and scores whose exponential is infinite; the values are 0 up to rounding, or
    far from 0.
    """
    while True:
        call = {
            "d_k": int(rng.integers(110_000, 130_000)),
            "n_query": 5,
            "n_key": int(rng.integers(10, 14)),
            "seed": draw_seed(rng),
        }
        scores = draw_scores(**call)[0]
        lowest = (scores - scores.max(axis=1, keepdims=True)).min()
        case = scaling_case(EPSILONS, UNDERFLOW, **call)
        if (
            scores.max() > 720
            and lowest < -760
            and not ((1e-13 < case.right) & (case.right < 2e-6)).any()
        ):
            return case
