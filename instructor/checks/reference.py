"""The handout's formulas in float64 with NumPy: slow and simple, and independent of torch."""

import math

import numpy as np


def angles(dim: int, positions: int, base: float = 10000.0) -> np.ndarray:
    """Return t * theta_i for every position t and pair i: (positions, dim/2)."""
    return np.array(
        [[t * base ** (-2 * i / dim) for i in range(dim // 2)] for t in range(positions)]
    ).reshape(positions, dim // 2)


def rotate(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Multiply every position's vector by its block-diagonal matrix of rotations.

    Args:
        x: (..., T, dim).
        angle: (T, dim/2), that of each pair (x[2i], x[2i+1]).
    """
    T, dim = x.shape[-2:]
    matrices = np.zeros((T, dim, dim))
    for i in range(dim // 2):
        cos, sin = np.cos(angle[:T, i]), np.sin(angle[:T, i])
        matrices[:, 2 * i, 2 * i], matrices[:, 2 * i, 2 * i + 1] = cos, -sin
        matrices[:, 2 * i + 1, 2 * i], matrices[:, 2 * i + 1, 2 * i + 1] = sin, cos
    return np.einsum("tij,...tj->...ti", matrices, x)


def attention(
    x: np.ndarray, weights: dict[str, np.ndarray], n_head: int, rotated: str = ""
) -> np.ndarray:
    """Compute causal multi-head self-attention, (B, T, C) -> (B, T, C).

    Args:
        x: float64.
        weights: of the linear layers: "key.weight", "key.bias", ... for key, query, value and proj.
        rotated: which of "q", "k" and "v" are rotated by their position.
    """
    B, T, C = x.shape
    heads = {}
    for letter, name in (("q", "query"), ("k", "key"), ("v", "value")):
        projected = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        heads[letter] = projected.reshape(B, T, n_head, C // n_head).transpose(0, 2, 1, 3)
        if letter in rotated:
            heads[letter] = rotate(heads[letter], angles(C // n_head, T))
    scores = heads["q"] @ heads["k"].transpose(0, 1, 3, 2) / np.sqrt(C // n_head)
    scores[..., np.triu(np.ones((T, T), bool), 1)] = -np.inf
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    y = (scores / scores.sum(axis=-1, keepdims=True)) @ heads["v"]
    return (
        y.transpose(0, 2, 1, 3).reshape(B, T, C) @ weights["proj.weight"].T + weights["proj.bias"]
    )


def erf(x: np.ndarray) -> np.ndarray:
    """Return the error function of each number, in float64."""
    return np.fromiter(map(math.erf, x.ravel().tolist()), float, x.size).reshape(x.shape)


def log_probabilities(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the log probabilities of the targets (...), for logits (..., V)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    shifted = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]
