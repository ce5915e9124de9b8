"""The scaling experiment in float64 with NumPy, and the known mistakes in it."""

import math
from collections.abc import Callable

import numpy as np

from checks.problem5.q5b.experiment import QUANTITIES, close
from checks.support.cases import Case
from instructor.checks.problem5.attention_formula import softmax

DEFAULTS = {"n_query": 512, "n_key": 64, "seed": 0}  # the handout's

# Mistakes in one quantity: their results for scores S (n_query, n_key), row weights p, and d_k.
CHANGED = {
    "variance": [
        (
            "it is the sample variance; np.var divides by the number of scores, ddof=0.",
            lambda S, p, d_k: S.var(ddof=1) if S.size > 1 else 0.0,
        ),
        ("it is the standard deviation.", lambda S, p, d_k: S.std()),
        (
            "it is the variance of the weights; it should be that of the scores.",
            lambda S, p, d_k: p.var(),
        ),
        (
            "it is the variance of the scores of a query, averaged; it should be that of all "
            "scores.",
            lambda S, p, d_k: S.var(axis=1).mean(),
        ),
        (
            "it is the mean of the squares, from which the square of the mean has not been "
            "subtracted.",
            lambda S, p, d_k: (S**2).mean(),
        ),
    ],
    "entropy": [
        (
            "the entropy is in bits; use the natural logarithm.",
            lambda S, p, d_k: entropies(p).mean() / math.log(2),
        ),
        ("the queries' entropies are summed; average them.", lambda S, p, d_k: entropies(p).sum()),
        (
            "it is the median over the queries; it should be their mean.",
            lambda S, p, d_k: np.median(entropies(p)),
        ),
        (
            "the mean is over queries and keys; sum over the keys, and average over the queries.",
            lambda S, p, d_k: entropies(p).mean() / p.shape[1],
        ),
        ("the minus sign is missing.", lambda S, p, d_k: -entropies(p).mean()),
        (
            "the entropy is divided by the largest one, ln n_key.",
            lambda S, p, d_k: entropies(p).mean() / math.log(max(2, p.shape[1])),
        ),
    ],
    "saturation": [
        *(
            (
                f"the limit is {limit:g}; it should be 0.9.",
                lambda S, p, d_k, limit=limit: (p.max(axis=1) > limit).mean(),
            )
            for limit in (0.5, 0.8, 0.95, 0.99)
        ),
        (
            "the queries are counted; it should be their share.",
            lambda S, p, d_k: (p.max(axis=1) > 0.9).sum(),
        ),
        (
            "it is a percentage; it should be a share, from 0 to 1.",
            lambda S, p, d_k: 100 * (p.max(axis=1) > 0.9).mean(),
        ),
        (
            "the share is that of all weights; it should be that of the queries.",
            lambda S, p, d_k: (p > 0.9).mean(),
        ),
        (
            "the largest weights are averaged; count those above 0.9.",
            lambda S, p, d_k: p.max(axis=1).mean(),
        ),
    ],
    "gradient_norm": [
        (
            "it is the mean over the queries; it should be the median.",
            lambda S, p, d_k: gradient_norms(p).mean(),
        ),
        (
            "it is the spectral norm, the largest singular value; it should be the Frobenius norm.",
            lambda S, p, d_k: np.median(np.linalg.norm(jacobians(p), 2, axis=(1, 2))),
        ),
        (
            "it is the square of the Frobenius norm; the root is missing.",
            lambda S, p, d_k: np.median(gradient_norms(p)) ** 2,
        ),
        (
            "only the diagonal of the Jacobian is used.",
            lambda S, p, d_k: np.median(np.sqrt(((p - p**2) ** 2).sum(axis=1))),
        ),
        (
            "it is the trace of the Jacobian; it should be the Frobenius norm.",
            lambda S, p, d_k: np.median((p - p**2).sum(axis=1)),
        ),
        (
            "it is the sum of the absolute entries; it should be the Frobenius norm.",
            lambda S, p, d_k: np.median(np.abs(jacobians(p)).sum(axis=(1, 2))),
        ),
        (
            "it is the norm of all Jacobians together; it should be the median of their norms.",
            lambda S, p, d_k: np.sqrt((jacobians(p) ** 2).sum()),
        ),
        (
            "it is the largest column sum, which np.linalg.norm(J, 1) is; it should be the "
            "Frobenius norm.",
            lambda S, p, d_k: np.median(np.abs(jacobians(p)).sum(axis=1).max(axis=1)),
        ),
        (
            "the root of d_k is in the Jacobian, too; it should be that of the softmax alone.",
            lambda S, p, d_k: np.median(gradient_norms(p)) / math.sqrt(d_k),
        ),
    ],
}
EPSILONS = {  # mistakes that show when a value is near 0
    "entropy": [
        (
            f"{small:g} is added inside the logarithm; leave out the weights that are 0 instead.",
            lambda S, p, d_k, small=small: -(p * np.log(p + small)).sum(axis=1).mean(),
        )
        for small in (1e-3, 1e-5, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12)
    ],
    "gradient_norm": [
        (
            f"{small:g} is added under the root of the norm, which needs none.",
            lambda S, p, d_k, small=small: np.median(np.sqrt(gradient_norms(p) ** 2 + small)),
        )
        for small in (1e-6, 1e-8, 1e-9, 1e-10, 1e-12)
    ],
}


def scaling_case(mistakes: dict | None = None, cause: str = "", **call: int) -> Case:
    """Make a case of scaling_experiment.

    Args:
        mistakes: those in one quantity, like CHANGED; by default CHANGED, and mistakes in the draw
            and the softmax.
        cause: the likely cause if no known mistake matches.
        call: the arguments; those left out have their defaults.
    """
    sizes = {**DEFAULTS, **call}
    pair = draw_scores(**sizes)
    right = np.array([measure(S) for S in pair])
    wrong = [] if mistakes else [*_wrong_scores(pair, sizes), *_wrong_axes(pair)]
    for quantity, known in (mistakes or CHANGED).items():
        wrong += [
            (
                sentence,
                lambda work=work, quantity=quantity: np.array(
                    [_alone(work, quantity, S, sizes) for S in pair]
                ),
            )
            for sentence, work in known
        ]
    return Case(
        call,
        right,
        [(sentence, lambda work=work: _different(work(), right)) for sentence, work in wrong],
        {"cause": cause} if cause else {},
    )


def draw_scores(
    d_k: int, n_query: int, n_key: int, seed: int, how: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Draw unscaled and scaled scores (n_query, n_key) of queries and keys, correctly or with the
    mistake `how`.
    """
    rng = (
        np.random.RandomState(seed)
        if how == "old"
        else np.random.default_rng(0 if how == "seed 0" else seed)
    )
    draw = rng.random if how == "uniform" else rng.standard_normal
    queries, keys = (n_query, d_k), (n_key, d_k)
    if how == "keys first":
        keys, queries = draw(keys), draw(queries)
    elif how == "transposed":
        queries, keys = draw(queries[::-1]).T, draw(keys[::-1]).T
    elif how == "same seed":
        queries, keys = draw(queries), np.random.default_rng(seed).standard_normal(keys)
    else:
        if how == "again":  # the numbers after the right ones
            draw(queries), draw(keys)
        queries, keys = draw(queries), draw(keys)
    scores = queries @ keys.T
    return scores, scores / math.sqrt(d_k)


def entropies(p: np.ndarray) -> np.ndarray:
    """Return the entropy of each row of weights (n_query, n_key), in nats."""
    return -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)


def jacobians(p: np.ndarray) -> np.ndarray:
    """Return each row's diag(p) - p p^T, (n_query, n_key, n_key)."""
    return p[:, :, None] * np.eye(p.shape[1]) - p[:, :, None] * p[:, None, :]


def gradient_norms(p: np.ndarray) -> np.ndarray:
    """Return the Frobenius norm of each row's Jacobian."""
    return np.sqrt((jacobians(p) ** 2).sum(axis=(1, 2)))


def measure(S: np.ndarray, axis: int | None = 1) -> list[float]:
    """Return the four quantities for scores (n_query, n_key)."""
    p = softmax(S, axis)
    return [
        S.var(),
        entropies(p).mean(),
        (p.max(axis=1) > 0.9).mean(),
        np.median(gradient_norms(p)),
    ]


def _wrong_scores(pair, sizes) -> list[tuple[str, Callable]]:
    """Return mistakes in the scores, which affect all four quantities."""
    (S, Z), d_k = pair, sizes["d_k"]
    makes = [
        ("unscaled and scaled are swapped, or one is used for both.", lambda: (Z, S)),
        ("the keys are drawn before the queries.", lambda: draw_scores(**sizes, how="keys first")),
        ("the seed is not used.", lambda: draw_scores(**sizes, how="seed 0")),
        (
            "the numbers are drawn by np.random.seed or RandomState; use "
            "np.random.default_rng(seed).",
            lambda: draw_scores(**sizes, how="old"),
        ),
        (
            "the numbers are drawn uniformly from 0 to 1; use rng.standard_normal.",
            lambda: draw_scores(**sizes, how="uniform"),
        ),
        (
            "queries and keys are drawn in the shape (d_k, n) and transposed; draw them as (n, "
            "d_k).",
            lambda: draw_scores(**sizes, how="transposed"),
        ),
        (
            "queries and keys are drawn by two generators with the same seed; use one for both.",
            lambda: draw_scores(**sizes, how="same seed"),
        ),
        (
            "unscaled and scaled scores come from two draws; they should come from the same one.",
            lambda: draw_scores(**sizes, how="again"),
        ),
        (
            "the scores are divided by d_k; it should be its square root.",
            lambda: (S / d_k, S / d_k),
        ),
        (
            "the scores are multiplied by sqrt(d_k); they should be divided.",
            lambda: (S * math.sqrt(d_k),) * 2,
        ),
    ]
    return [
        (sentence, lambda make=make: np.array([measure(scores) for scores in make()]))
        for sentence, make in makes
    ]


def _wrong_axes(pair):
    """Return mistakes of a softmax over the wrong axis, which doesn't change the variance."""
    return [
        (
            f"the softmax is over {over}; it should be over the keys, axis=1.",
            lambda axis=axis: np.array([[math.nan, *measure(S, axis)[1:]] for S in pair]),
        )
        for axis, over in ((0, "the queries"), (None, "all scores at once"))
    ]


def _alone(work, quantity, S, sizes):
    """Return a mistake in one quantity, with NaN for the others."""
    return [
        work(S, softmax(S), sizes["d_k"]) if name == quantity else math.nan for name in QUANTITIES
    ]


def _different(values, right):
    """Return a mistake's result; None if it cannot be distinguished from the right one."""
    pairs = zip(values.ravel(), right.ravel())
    return (
        None
        if all(math.isnan(value) or close(value, expected) for value, expected in pairs)
        else values
    )
