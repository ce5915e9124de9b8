"""What the functions of fixes.py that change logits should give, in NumPy; and logits to try them
on.
"""

import numpy as np


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis; -inf becomes 0."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def top_k(logits: np.ndarray, k: int) -> np.ndarray:
    """True where a token stays, along the last axis: also ties with the k-th largest."""
    k = min(k, logits.shape[-1])
    return logits >= np.sort(logits, axis=-1)[..., -k, None]


def before(logits: np.ndarray, backwards: bool = False) -> np.ndarray:
    """The sum of the probabilities of those tokens that are more probable, or as probable with a
    smaller index.

    backwards: of ties, those with a larger index.
    """
    probabilities = softmax(logits)
    if backwards:
        return before(logits[..., ::-1])[..., ::-1]
    order = np.argsort(-logits, axis=-1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    result = np.empty_like(probabilities)
    np.put_along_axis(result, order, np.cumsum(ordered, axis=-1) - ordered, axis=-1)
    return result


def top_p(logits: np.ndarray, p: float) -> np.ndarray:
    """True where a token stays, along the last axis."""
    return (before(logits) < p) | (p == 1)


def penalized(logits: np.ndarray, tokens: list[int], penalty: float) -> np.ndarray:
    """The logits (V,) after repetition_penalty."""
    repeated = np.isin(np.arange(len(logits)), tokens)
    return np.where(repeated, np.where(logits > 0, logits / penalty, logits * penalty), logits)


def completing(tokens: list[int], n: int, begins: int | None = None) -> set[int]:
    """The tokens that would complete an n-gram which the list has already. begins: how many tokens
    must agree; not n - 1 is a mistake.
    """
    begins = n - 1 if begins is None else begins
    last = tokens[len(tokens) - begins :]
    if len(tokens) < begins:
        return set()
    return {tokens[i] for i in range(begins, len(tokens)) if tokens[i - begins : i] == last}


def unrepeated(V: int, tokens: list[int], n: int) -> np.ndarray:
    """True where a token stays, (V,)."""
    kept = ~np.isin(np.arange(V), list(completing(tokens, n)))
    return kept if kept.any() else np.ones(V, bool)


def draw_logits(rng, *shape: int) -> np.ndarray:
    """Random logits of which no two are close."""
    V = shape[-1]
    values = (
        rng.permuted(np.tile(np.arange(V), (*shape[:-1], 1)), axis=-1) + 0.3 * rng.random(shape)
    ) * 6 / V - 3
    return values.astype(np.float32)


def draw_rows(rng, V: int) -> np.ndarray:
    """Rows of random logits, (2, 3, V), in which few tokens are likely, or many, and which are
    higher or lower.
    """
    steep, high = (
        rng.permutation(np.linspace(low, end, 6)).reshape(2, 3, 1)
        for low, end in ((0.4, 1.6), (-5, 5))
    )
    return (draw_logits(rng, 2, 3, V) * steep + high).astype(np.float32)


def draw_p(rng, logits: np.ndarray, least: float = 0.2) -> float:
    """A p, `least` or more, that is 1e-4 and more from any sum of probabilities, so that rounding
    decides nothing.
    """
    sums = before(logits.astype(float)).ravel()
    while True:
        p = float(rng.uniform(least, 0.95))
        if np.abs(sums - p).min() > 1e-4:
            return p
