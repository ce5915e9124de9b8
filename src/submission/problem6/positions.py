"""Question 6c: positions by sines and cosines, and what came after them.

All is NumPy in float64, but for rope_scores, which works with the tensors of attention.py.
Positions count from 0.
"""

import numpy as np
import torch

from ..attention import apply_rotary_emb, precompute_rotary_emb


def sinusoidal(max_length: int, d_model: int) -> np.ndarray:
    """The position vectors of the original Transformer (Vaswani et al. 2017, section 3.5), for
    positions 0 to max_length - 1.

    Args:
        max_length: how many positions, at least 0.
        d_model: the width of a vector, even and at least 2.

    Returns:
        PE, float64 of shape (max_length, d_model), with PE[p, 2i] = sin(p w_i) and PE[p, 2i+1] =
        cos(p w_i), where w_i = 10000 ** (-2 i / d_model) for i = 0, 1, ..., d_model/2 - 1.

    Raises:
        ValueError: d_model is odd or less than 2, or max_length is less than 0.
    """
    # [part 6c] Hint: these are the rows of sinusoidal_at for positions 0, 1, 2, ...
    ### START_CODE_HERE ###
    raise NotImplementedError("6c: sinusoidal")
    ### END_CODE_HERE ###


def sinusoidal_at(positions: np.ndarray, d_model: int) -> np.ndarray:
    """The same vectors for any positions.

    Args:
        positions: real numbers, (P,): fractions and negative ones, too.
        d_model: the width of a vector, even and at least 2.

    Returns:
        float64 of shape (P, d_model).

    Raises:
        ValueError: d_model is odd or less than 2.
    """
    # [part 6c] Angles first, (P, d_model/2); then the sines into the even columns and the cosines
    # into the odd ones.
    # Hints: np.outer multiplies every position by every frequency. x[:, 0::2] are the even columns
    #        of x.
    #        Stay in float64: float32 has seven digits, and at position 1000 four of them stand
    #        before the point.
    ### START_CODE_HERE ###
    raise NotImplementedError("6c: sinusoidal_at")
    ### END_CODE_HERE ###


def frequencies(d_model: int) -> np.ndarray:
    """w_i = 10000 ** (-2 i / d_model) for all pairs, (d_model/2,). The other functions need it; it
    is not graded by itself.

    Raises:
        ValueError: d_model is odd or less than 2.
    """
    # [part 6c] Hint: np.arange(0, d_model, 2) are the numbers 2 i.
    ### START_CODE_HERE ###
    raise NotImplementedError("6c: frequencies")
    ### END_CODE_HERE ###


def shift_matrix(k: int, d_model: int) -> np.ndarray:
    """The matrix that moves every position vector on by k: PE[p + k] = PE[p] @ shift_matrix(k,
    d_model) for all p.

    Args:
        k: any integer; a negative one moves back.
        d_model: the width of a vector, even and at least 2.

    Returns:
        float64 of shape (d_model, d_model): a block of 2 by 2 for each pair on the diagonal, and
        zeros elsewhere.

    Raises:
        ValueError: d_model is odd or less than 2.
    """
    # [part 6c] The vector is a row, and stands on the left. So column 2i of M says what becomes of
    # the sine: write sin((p + k) w) with the addition theorem, and read off the factors of sin(p w)
    # and of cos(p w).
    # Hint: with i = np.arange(0, d_model, 2), the entries M[i, i] are the upper left corners of all
    # blocks at once.
    ### START_CODE_HERE ###
    raise NotImplementedError("6c: shift_matrix")
    ### END_CODE_HERE ###


def rope_scores(
    q: torch.Tensor, k: torch.Tensor, query_positions: list[int], key_positions: list[int]
) -> torch.Tensor:
    """What RoPE makes of the dot product of one query and one key at different places: it depends
    on their distance alone.

    Args:
        q, k: (head_dim,) each, float32 or float64.
        query_positions, key_positions: lists of P integers each, at least 0; P is at least 1.

    Returns:
        (P,), in the dtype of q. Entry j is the dot product of q rotated to query_positions[j] and k
        rotated to key_positions[j], not scaled.

    Raises:
        ValueError: a position is less than 0, there is none, or there are more of one list than of
            the other.
    """
    # [part 6c] Use precompute_rotary_emb and apply_rotary_emb, your functions of question 1h.
    # Hint: apply_rotary_emb rotates row t of x, (B, n_head, T, head_dim), by row t of the table
    #       that it is given. It does not know which position that row was made for:
    #       table[positions] has the rows of any positions in any order. Negative ones would count
    #       from its end, without an error.
    ### START_CODE_HERE ###
    raise NotImplementedError("6c: rope_scores")
    ### END_CODE_HERE ###


def alibi_bias(n_head: int, T: int) -> np.ndarray:
    """What ALiBi adds to the scaled scores in place of position vectors (Press et al. 2021): the
    farther, the less.

    Args:
        n_head: the number of heads, at least 1; it need not be a power of two.
        T: the number of positions, at least 1.

    Returns:
        float64 of shape (n_head, T, T), with -m_h |i - j| at [h, i, j] and m_h = 2 ** (-8 (h + 1) /
        n_head). No causal mask.

    Raises:
        ValueError: n_head or T is less than 1.
    """
    # [part 6c] Hint: x[:, None] - x[None, :] has the differences of all pairs.
    ### START_CODE_HERE ###
    raise NotImplementedError("6c: alibi_bias")
    ### END_CODE_HERE ###


def interpolated_positions(T: int, trained_length: int) -> np.ndarray:
    """Positions for a sequence of any length that stay within those seen in training (Chen et al.
    2023).

    Args:
        T: the number of positions, at least 1.
        trained_length: the longest sequence in training, at least 1.

    Returns:
        float64 of shape (T,): 0, 1, ..., T - 1 where T is at most trained_length, else each of them
        times trained_length / T.

    Raises:
        ValueError: T or trained_length is less than 1.
    """
    # [part 6c] Hint: nothing is stretched that fits already.
    ### START_CODE_HERE ###
    raise NotImplementedError("6c: interpolated_positions")
    ### END_CODE_HERE ###
