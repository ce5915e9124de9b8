"""Attention in NumPy: one head by its formula (question 5c), and what the scale of its scores is
for (question 5b).
"""

import math

import numpy as np


def attention(
    Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """Scaled dot-product attention of one head (Vaswani et al. 2017, section 3.2.1).

    Args:
        Q: queries, (..., L_q, d_k).
        K: keys, (..., L_k, d_k).
        V: values, (..., L_k, d_v). Leading dimensions broadcast against each other.
        mask: boolean, (..., L_q, L_k), whose leading dimensions, if any, broadcast against those of
            Q, K and V, also if it has more of them. True: this query may attend to this key. None:
            all may.

    Returns:
        (..., L_q, d_v), float32 if all three are float32, else float64. A query that may attend to
        nothing gets zeros.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: shapes that do not fit.
    """
    if mask is not None and np.asarray(mask).dtype != bool:
        raise TypeError(
            "mask must be boolean, True where a query may attend to a key; it is "
            f"{np.asarray(mask).dtype}"
        )
    output = None
    # [part 5c] softmax(Q K^T / sqrt(d_k)) V, with the softmax over the keys.
    #
    # - Large scores must not overflow: subtract from each row its largest score among the keys that
    # may be attended to.
    # - A masked key has weight 0. A row without any key must not become NaN: its weights are all 0.
    # - float32 stays float32; whole numbers become float64 first. Do not change the inputs.
    # Hints: np.swapaxes(K, -1, -2) transposes the last two axes alone. np.where(mask, scores,
    #        -np.inf) masks. math.sqrt gives a Python number, which leaves float32 as it is.
    ### START_CODE_HERE ###
    raise NotImplementedError("5c: attention")
    ### END_CODE_HERE ###
    return output


def scaling_experiment(
    d_k: int, n_query: int = 512, n_key: int = 64, seed: int = 0
) -> dict[str, dict[str, float]]:
    """What the softmax makes of random queries and keys, with and without scale.

    Args:
        d_k: the number of features of a query and of a key.
        n_query, n_key: how many are drawn; each query meets all keys.
        seed: of np.random.default_rng. The queries are drawn first, then the keys, both by
            standard_normal.

    Returns:
        {"unscaled": ..., "scaled": ...}: for the scores q . k, and for q . k / sqrt(d_k), a dict of
        four floats. "variance" of all scores; "entropy" of a query's weights in nats, averaged over
        the queries; "saturation", the share of queries whose largest weight is above 0.9;
        "gradient_norm", the median over the queries of the Frobenius norm of the softmax's
        Jacobian, diag(p) - p p^T.
    """
    result = {}
    # [part 5b] Draw, compute the scores in float64, and measure both kinds.
    #
    # Hints: 0 ln 0 counts as 0: take the logarithm of np.where(p > 0, p, 1). The Jacobians of all
    #        queries are an array of shape (n_query, n_key, n_key), p[:, :, None] * np.eye(n_key) -
    #        p[:, :, None] * p[:, None, :].
    ### START_CODE_HERE ###
    raise NotImplementedError("5b: scaling_experiment")
    ### END_CODE_HERE ###
    return result
