"""RoPE in float64 with NumPy: slow and simple, and independent of torch."""

import numpy as np


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
