"""The functions of fixes.py that change logits, in NumPy; and logits to test them on."""

import numpy as np


def softmax(logits: np.ndarray) -> np.ndarray:
    """Compute probabilities along the last axis; -inf becomes 0."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def top_k(logits: np.ndarray, k: int) -> np.ndarray:
    """Return True where a token stays, along the last axis: also ties with the k-th largest."""
    k = min(k, logits.shape[-1])
    return logits >= np.sort(logits, axis=-1)[..., -k, None]


def before(logits: np.ndarray, backwards: bool = False) -> np.ndarray:
    """Sum the probabilities of the tokens that are more probable, or equally probable with a
    smaller index.

    backwards: for ties, those with a larger index.
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
    """Return True where a token stays, along the last axis."""
    return (before(logits) < p) | (p == 1)


def penalized(logits: np.ndarray, tokens: list[int], penalty: float) -> np.ndarray:
    """Return the logits (V,) after repetition_penalty."""
    repeated = np.isin(np.arange(len(logits)), tokens)
    return np.where(repeated, np.where(logits > 0, logits / penalty, logits * penalty), logits)


def completing(tokens: list[int], n: int, begins: int | None = None) -> set[int]:
    """Return the tokens that would complete an n-gram already in the list. begins: how many tokens
    must match; a value other than n - 1 is a mistake.
    """
    begins = n - 1 if begins is None else begins
    last = tokens[len(tokens) - begins :]
    if len(tokens) < begins:
        return set()
    return {tokens[i] for i in range(begins, len(tokens)) if tokens[i - begins : i] == last}


def unrepeated(V: int, tokens: list[int], n: int) -> np.ndarray:
    """Return True where a token stays, (V,)."""
    kept = ~np.isin(np.arange(V), list(completing(tokens, n)))
    return kept if kept.any() else np.ones(V, bool)


def draw_logits(rng, *shape: int) -> np.ndarray:
    """Draw logits of which no two are close."""
    V = shape[-1]
    values = (
        rng.permuted(np.tile(np.arange(V), (*shape[:-1], 1)), axis=-1) + 0.3 * rng.random(shape)
    ) * 6 / V - 3
    return values.astype(np.float32)


def draw_rows(rng, V: int) -> np.ndarray:
    """Draw rows of logits, (2, 3, V), with few or many likely tokens, at different levels."""
    steep, high = (
        rng.permutation(np.linspace(low, end, 6)).reshape(2, 3, 1)
        for low, end in ((0.4, 1.6), (-5, 5))
    )
    return (draw_logits(rng, 2, 3, V) * steep + high).astype(np.float32)


def draw_p(rng, logits: np.ndarray, least: float = 0.2) -> float:
    """Draw a p, at least `least`, that is at least 1e-4 from any sum of probabilities, so that
    rounding has no effect.
    """
    sums = before(logits.astype(float)).ravel()
    while True:
        p = float(rng.uniform(least, 0.95))
        if np.abs(sums - p).min() > 1e-4:
            return p
