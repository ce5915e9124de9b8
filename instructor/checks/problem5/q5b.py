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


def arguments(rng, remark: str = "", **ranges: tuple[int, int]) -> tuple[dict, str]:
    """Draw a call's arguments from ranges, and a seed that is never the default."""
    drawn = {name: int(rng.integers(*limits)) for name, limits in ranges.items()}
    return {"arguments": drawn | {"seed": int(rng.integers(1, 10**6))}}, remark


@draws(EXPERIMENT, "5b-1-basic")
def small(rng):
    """Small sizes, which reveal a sample variance and sometimes saturate the scaled weights; a row
    of the handout's table.
    """
    first, _ = arguments(rng, d_k=(5, 40), n_query=(30, 60), n_key=(4, 9))
    return [
        first,
        {"arguments": first["arguments"] | {"seed": first["arguments"]["seed"] + 1}},
        arguments(rng, d_k=(5, 40), n_query=(30, 60), n_key=(4, 9)),
        {"arguments": {"d_k": int(2 ** rng.integers(2, 7))}},
    ]


@draws(EXPERIMENT, "5b-2-hidden")
def sizes(rng):
    """Few and many features; the defaults; a call that takes time and memory."""
    first, _ = arguments(rng, d_k=(3, 9), n_query=(20, 40), n_key=(5, 9))
    return [
        first,
        {"arguments": first["arguments"] | {"seed": first["arguments"]["seed"] + 1}},
        arguments(rng, d_k=(100, 200), n_query=(101, 200), n_key=(70, 90)),
        arguments(rng, d_k=(3, 9), n_query=(5, 9), n_key=(20, 40)),
        arguments(rng, d_k=(5, 12)),
        {"arguments": {"d_k": 1024}},
    ]


@draws(EXPERIMENT, "5b-3-basic")
def edges(rng):
    """A length of 1, values near 0, weights that underflow, and a call that takes time and
    memory.
    """
    lengths = {"d_k": (3, 9), "n_query": (20, 40), "n_key": (5, 9)}
    ones = [*({name: (1, 2)} for name in lengths), dict.fromkeys(lengths, (1, 2))]
    return [
        arguments(rng, **lengths | ones[rng.integers(4)]),
        drawn_until(rng, nearly_one, d_k=(300, 500), n_query=(1, 2), n_key=(10, 20)),
        drawn_until(rng, nearly_one, d_k=(300, 500), n_query=(1, 2), n_key=(10, 20)),
        drawn_until(rng, underflows, d_k=(110_000, 130_000), n_query=(5, 6), n_key=(10, 14)),
        drawn_until(rng, cancels, d_k=(960, 1020), n_query=(512, 513), n_key=(64, 65)),
    ]


def drawn_until(rng, wanted, **ranges: tuple[int, int]) -> tuple[dict, str]:
    """Draw arguments whose scores, (n_query, n_key), are as wanted: a function that returns a
    remark, or "".
    """
    while True:
        inputs, _ = arguments(rng, **ranges)
        given = inputs["arguments"]
        draw = np.random.default_rng(given["seed"]).standard_normal
        queries, keys = (draw((given[name], given["d_k"])) for name in ("n_query", "n_key"))
        if remark := wanted(queries @ keys.T):
            return inputs, remark


def nearly_one(scores: np.ndarray) -> str:
    """Whether a weight is so near 1 that an error of 1e-7 matters, although no right formula in
    float64 loses so many digits.
    """
    gaps = scores.max() - np.sort(scores[0])[-3:-1]
    near = 12 < gaps[1] < 13 < gaps[0]
    return ", where one weight is nearly 1 and all values are nearly 0," if near else ""


def underflows(scores: np.ndarray) -> str:
    """Whether weights are 0, and the exponentials of scores infinite, while no entropy is so small
    that it depends on rounding.
    """
    below = np.sort(scores.max(axis=1, keepdims=True) - scores, axis=1)
    # the next best key of each row takes part, or is negligible
    if scores.max() < 720 or below.max() < 760 or ((below[:, 1] > 12) & (below[:, 1] < 30)).any():
        return ""
    return ", where scores are hundreds,"


def cancels(scores: np.ndarray) -> str:
    """Whether sums of powers of some query's weights cancel: the norm of the Jacobian by such sums
    is the root of a negative number.
    """
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    squares = (p**2).sum(1) - 2 * (p**3).sum(1) + (p**2).sum(1) ** 2
    return ", where some weights are nearly 1," if (squares < 0).any() else ""
