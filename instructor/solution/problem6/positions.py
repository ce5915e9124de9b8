"""Question 6c: sinusoidal positions and their successors.

Everything is NumPy in float64, except rope_scores, which uses torch tensors as attention.py does.
Positions count from 0.
"""

import numpy as np
import torch

from ..attention import apply_rotary_emb, precompute_rotary_emb


def sinusoidal(max_length: int, d_model: int) -> np.ndarray:
    """The position vectors of the original Transformer (Vaswani et al. 2017, section 3.5), for
    positions 0 to max_length - 1.

    Args:
        max_length: the number of positions, at least 0.
        d_model: the width of a vector, even and at least 2.

    Returns:
        PE, float64 of shape (max_length, d_model), with PE[p, 2i] = sin(p w_i) and
        PE[p, 2i+1] = cos(p w_i), where w_i = 10000 ** (-2 i / d_model) for i = 0, 1, ...,
        d_model/2 - 1. For the first 1,000 positions the error is under 1e-11. (Angles in float32
        are already wrong by about 1e-5 there.)

    Raises:
        ValueError: d_model is odd or less than 2, or max_length is less than 0.
    """
    # [part 6c] Hint: these are the rows of sinusoidal_at for positions 0, 1, 2, ...
    ### START_CODE_HERE ###
    if max_length < 0:
        raise ValueError(f"max_length must be at least 0, not {max_length}")
    return sinusoidal_at(np.arange(max_length), d_model)
    ### END_CODE_HERE ###


def sinusoidal_at(positions: np.ndarray, d_model: int) -> np.ndarray:
    """The same vectors for any positions.

    Args:
        positions: real numbers, (P,), including fractions and negative numbers.
        d_model: the width of a vector, even and at least 2.

    Returns:
        float64 of shape (P, d_model).

    Raises:
        ValueError: d_model is odd or less than 2.
    """
    # [part 6c] Compute the angles, (P, d_model/2); put the sines into the even columns and the
    # cosines into the odd columns.
    # Hints: np.outer multiplies every position by every frequency. x[:, 0::2] are the even columns
    #        of x. Stay in float64: float32 has seven digits, and at position 1000 four of them are
    #        before the decimal point.
    ### START_CODE_HERE ###
    angles = np.outer(np.asarray(positions, dtype=np.float64), frequencies(d_model))
    vectors = np.empty((len(angles), d_model))
    vectors[:, 0::2], vectors[:, 1::2] = np.sin(angles), np.cos(angles)
    return vectors
    ### END_CODE_HERE ###


def frequencies(d_model: int) -> np.ndarray:
    """w_i = 10000 ** (-2 i / d_model) for all pairs, (d_model/2,). A helper, not graded on its own.

    Raises:
        ValueError: d_model is odd or less than 2.
    """
    # [part 6c] Hint: np.arange(0, d_model, 2) are the numbers 2 i.
    ### START_CODE_HERE ###
    if d_model < 2 or d_model % 2:
        raise ValueError(f"d_model must be even and at least 2, not {d_model}")
    return 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    ### END_CODE_HERE ###


def shift_matrix(k: int, d_model: int) -> np.ndarray:
    """The matrix that shifts position vectors by k: PE[p + k] = PE[p] @ shift_matrix(k, d_model).

    Args:
        k: any integer; negative values shift back.
        d_model: the width of a vector, even and at least 2.

    Returns:
        float64 of shape (d_model, d_model): a 2-by-2 block on the diagonal for each pair, zeros
        elsewhere. For positions and shifts up to 1,000, the two sides agree to 1e-10.

    Raises:
        ValueError: d_model is odd or less than 2.
    """
    # [part 6c] The vector is a row, to the left of the matrix M. So column 2i of M gives the new
    # sine: expand sin((p + k) w) with the addition theorem, and read off the factors of sin(p w)
    # and cos(p w).
    # Hint: with i = np.arange(0, d_model, 2), the entries M[i, i] are the upper left corners of all
    #       blocks.
    ### START_CODE_HERE ###
    angles = k * frequencies(d_model)
    matrix = np.zeros((d_model, d_model))
    i = np.arange(0, d_model, 2)
    matrix[i, i] = matrix[i + 1, i + 1] = np.cos(angles)
    matrix[i + 1, i], matrix[i, i + 1] = np.sin(angles), -np.sin(angles)
    return matrix
    ### END_CODE_HERE ###


def rope_scores(
    q: torch.Tensor, k: torch.Tensor, query_positions: list[int], key_positions: list[int]
) -> torch.Tensor:
    """RoPE's scores of one query and one key at several pairs of positions. They depend only on
    the distance.

    Args:
        q, k: (head_dim,) each, float32 or float64.
        query_positions, key_positions: lists of P integers each, at least 0; P is at least 1.

    Returns:
        (P,), in the dtype of q. Entry j is the dot product of q rotated to query_positions[j] and k
        rotated to key_positions[j], not scaled. Pairs at the same distance have the same score, to
        1e-4 for standard normal q and k of width 64 and positions up to 100.

    Raises:
        ValueError: a position is negative, or the lists are empty or differ in length.
    """
    # [part 6c] Use precompute_rotary_emb and apply_rotary_emb of attention.py.
    # Hint: apply_rotary_emb rotates row t of x, (B, n_head, T, head_dim), by row t of its table,
    #       whichever position that row is for: table[positions] has the rows of any positions in
    #       any order. Negative positions would silently count from its end.
    ### START_CODE_HERE ###
    positions = [*query_positions, *key_positions]
    if not positions or min(positions) < 0 or len(query_positions) != len(key_positions):
        raise ValueError(
            "there should be as many query as key positions, at least one of each, and all at "
            "least 0"
        )
    table = precompute_rotary_emb(len(q), max(positions) + 1)

    def rotated(x, positions):
        copies = x.expand(1, 1, len(positions), -1)
        return apply_rotary_emb(copies, table[positions])[0, 0]  # (P, head_dim)

    return (rotated(q, query_positions) * rotated(k.to(q.dtype), key_positions)).sum(dim=-1)
    ### END_CODE_HERE ###


def alibi_bias(n_head: int, T: int) -> np.ndarray:
    """ALiBi's bias on the scaled scores, which replaces position vectors (Press et al. 2021).

    Args:
        n_head: the number of heads, at least 1; not necessarily a power of two.
        T: the number of positions, at least 1.

    Returns:
        float64 of shape (n_head, T, T), with -m_h |i - j| at [h, i, j], where
        m_h = 2 ** (-8 (h + 1) / n_head). No causal mask.

    Raises:
        ValueError: n_head or T is less than 1.
    """
    # [part 6c] Hint: x[:, None] - x[None, :] holds the differences of all pairs.
    ### START_CODE_HERE ###
    if n_head < 1 or T < 1:
        raise ValueError(f"n_head and T must be at least 1, not {n_head} and {T}")
    slopes = 2.0 ** (-8 * np.arange(1, n_head + 1) / n_head)
    position = np.arange(T)
    return -slopes[:, None, None] * np.abs(position[:, None] - position[None, :])
    ### END_CODE_HERE ###


def interpolated_positions(T: int, trained_length: int) -> np.ndarray:
    """Positions for a sequence of any length, within the range seen in training (Chen et al. 2023).

    Args:
        T: the number of positions, at least 1.
        trained_length: the longest sequence in training, at least 1.

    Returns:
        float64 of shape (T,): 0, 1, ..., T - 1 if T is at most trained_length, else these times
        trained_length / T.

    Raises:
        ValueError: T or trained_length is less than 1.
    """
    # [part 6c] Hint: positions that already fit are not stretched.
    ### START_CODE_HERE ###
    if T < 1 or trained_length < 1:
        raise ValueError(f"T and trained_length must be at least 1, not {T} and {trained_length}")
    return np.arange(T) * min(1.0, trained_length / T)
    ### END_CODE_HERE ###
