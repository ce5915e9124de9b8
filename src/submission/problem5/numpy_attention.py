"""Attention in NumPy: one head (question 5c), and why its scores are scaled (question 5b)."""

import math

import numpy as np


def attention(
    Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """Scaled dot-product attention of one head (Vaswani et al. 2017, section 3.2.1).

    Args:
        Q: queries, (..., L_q, d_k).
        K: keys, (..., L_k, d_k).
        V: values, (..., L_k, d_v). Any number of leading dimensions, which broadcast against each
            other. All lengths are at least 1.
        mask: boolean, any shape that broadcasts to (..., L_q, L_k), such as (L_k,) for all queries
            alike. Its leading dimensions, if any, broadcast against those of Q, K and V, even if it
            has more of them. True: this query may attend to this key. None: every query may attend
            to every key.

    Returns:
        (..., L_q, d_v), float32 if Q, K and V are all float32, else float64. Zeros for a query that
        may not attend to any key. Scores of 10^4 give finite, right results in either precision,
        without a RuntimeWarning, and the inputs are not changed.

    Raises:
        TypeError: the mask is not boolean. (0/1 masks and additive ones are too easily confused.)
        ValueError: the shapes do not fit.
    """
    if mask is not None and np.asarray(mask).dtype != bool:
        raise TypeError(
            "mask must be boolean, True where a query may attend to a key; it is "
            f"{np.asarray(mask).dtype}"
        )
    output = None
    # [part 5c] softmax(Q K^T / sqrt(d_k)) V, with the softmax over the keys.
    #
    # - Large scores must not overflow: subtract from each row its largest unmasked score.
    # - A masked key has weight 0. A row whose keys are all masked must not become NaN: its weights
    #   are all 0.
    # - float32 stays float32; integers become float64 first, or they overflow.
    # - No Python loop over batch, queries or keys.
    # Hints: np.swapaxes(K, -1, -2) transposes the last two axes only. np.where can replace the
    #        masked scores. math.sqrt returns a Python float, which keeps float32 as it is.
    ### START_CODE_HERE ###
    raise NotImplementedError("5c: attention")
    ### END_CODE_HERE ###
    return output


def scaling_experiment(
    d_k: int, n_query: int = 512, n_key: int = 64, seed: int = 0
) -> dict[str, dict[str, float]]:
    """Measure softmax attention over random queries and keys, with and without scaling.

    Args:
        d_k: the number of features of a query and of a key.
        n_query, n_key: the numbers of queries and keys; each query attends to all keys. All three
            sizes are at least 1.
        seed: for np.random.default_rng. Draw the queries first, then the keys, both with
            standard_normal.

    Returns:
        {"unscaled": ..., "scaled": ...}: for the scores q . k, and for q . k / sqrt(d_k), a dict of
        four Python floats. "variance" of all scores, as np.var computes it; "entropy" of a query's
        weights in nats, averaged over the queries, where 0 ln 0 counts as 0; "saturation", the
        share of queries whose largest weight is above 0.9; "gradient_norm", the median over the
        queries of the Frobenius norm of the softmax's Jacobian, diag(p) - p p^T. All are finite,
        without a RuntimeWarning, even if weights underflow to 0.
    """
    result = {}
    # [part 5b] Draw queries and keys, compute the scores in float64, and measure both kinds.
    #
    # Hints: 0 ln 0 counts as 0: replace zeros by ones before you take the logarithm. The Jacobians
    #        of all queries are an array of shape (n_query, n_key, n_key), p[:, :, None] *
    #        np.eye(n_key) - p[:, :, None] * p[:, None, :].
    ### START_CODE_HERE ###
    raise NotImplementedError("5b: scaling_experiment")
    ### END_CODE_HERE ###
    return result
