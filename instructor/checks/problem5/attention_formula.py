"""The softmax in float64 with NumPy."""

import numpy as np


def softmax(scores: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """Return the weights for scores of any size, including -inf. If all are -inf, the weights are
    0.
    """
    top = scores.max(axis=axis, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)
