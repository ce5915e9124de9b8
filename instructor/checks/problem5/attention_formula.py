"""The attention formula in float64 with NumPy, and the results of known mistakes in it."""

import math

import numpy as np


def softmax(scores: np.ndarray, axis: int | None = -1) -> np.ndarray:
    """Return the weights for scores of any size, including -inf. If all are -inf, the weights are
    0.
    """
    top = scores.max(axis=axis, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def attend(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Compute softmax(Q K^T * scale) V, (..., L_q, d_v), for Q (..., L_q, d_k), K (..., L_k, d_k),
    V (..., L_k, d_v).

    Args:
        mask: True where a query may attend to a key.
        scale: by default the right one, 1 / sqrt(d_k).
    """
    Q, K, V = (x.astype(float) for x in (Q, K, V))
    scores = Q @ np.swapaxes(K, -1, -2) * (1 / math.sqrt(Q.shape[-1]) if scale is None else scale)
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ V


def mistaken(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    mask: np.ndarray | None = None,
    formula: bool = True,
) -> list:
    """Return known mistakes as (sentence, function that computes the result, or None if it
    overflows).

    Args:
        formula: include mistakes in the formula; else only those in the mask and in subtracting the
            largest score.
    """
    Q, K, V = (x.astype(float) for x in (Q, K, V))
    L_q, d_k, L_k, d_v = Q.shape[-2], K.shape[-1], K.shape[-2], V.shape[-1]
    scores = Q @ np.swapaxes(K, -1, -2) / math.sqrt(d_k)
    seen = scores
    if mask is not None:
        scores, mask = np.broadcast_arrays(scores, mask)
        seen = np.where(mask, scores, -np.inf)

    def scaled(scale):
        return lambda: attend(Q, K, V, mask, scale)

    causes = (
        [
            ("the scores are not scaled: divide by sqrt(d_k).", scaled(1.0)),
            ("the scores are divided by d_k; it should be its square root.", scaled(1 / d_k)),
            (
                "the scores are divided by sqrt(d_v); it should be sqrt(d_k), the width of queries "
                "and keys.",
                scaled(1 / math.sqrt(d_v)),
            ),
            (
                "the scores are divided by the number of keys; it should be sqrt(d_k).",
                scaled(1 / L_k),
            ),
            (
                "the scores are divided by the root of the number of keys; it should be sqrt(d_k).",
                scaled(1 / math.sqrt(L_k)),
            ),
            (
                "the scores are divided by the number of queries; it should be sqrt(d_k).",
                scaled(1 / L_q),
            ),
            (
                "the scores are divided by the root of the number of queries; it should be "
                "sqrt(d_k).",
                scaled(1 / math.sqrt(L_q)),
            ),
            (
                "the scores are multiplied by sqrt(d_k); they should be divided.",
                scaled(math.sqrt(d_k)),
            ),
            (
                "the softmax is over the queries; it should be over the keys, axis=-1.",
                lambda: softmax(seen, -2) @ V,
            ),
            (
                "the softmax is over the first axis; it should be over the keys, axis=-1.",
                lambda: softmax(seen, 0) @ V,
            ),
            (
                "the softmax is over all axes at once; it should be over the keys, axis=-1.",
                lambda: softmax(seen, None) @ V,
            ),
            ("the weights are not divided by their sum.", lambda: np.exp(seen) @ V),
            (
                "the weights are not divided by their sum.",
                lambda: np.exp(seen - seen.max(axis=-1, keepdims=True)) @ V,
            ),
            (
                "the scores are divided by their sum; the exponential is missing.",
                lambda: scores / scores.sum(axis=-1, keepdims=True) @ V,
            ),
            (
                "the softmax is missing: scores are not weights.",
                lambda: np.where(np.isinf(seen), 0, seen) @ V,
            ),
            (
                "the scores are scaled after the softmax; it should be before.",
                lambda: softmax(seen * math.sqrt(d_k)) / math.sqrt(d_k) @ V,
            ),
            ("the scores have the wrong sign.", lambda: attend(-Q, K, V, mask)),
            ("all keys have the same weight.", lambda: softmax(0 * scores) @ V),
        ]
        if formula
        else []
    )
    causes += [
        (
            "one number is subtracted from all rows, and in some all exponentials are 0; subtract "
            "from each row its largest score.",
            lambda: _shifted(seen, seen.max()) @ V,
        )
    ]
    if mask is not None:
        empty = ~mask.any(axis=-1, keepdims=True)
        of_empty_rows = (
            [
                (
                    "a query that may attend to nothing gets the mean of all values; it should get "
                    "zeros. A large negative number doesn't work as a mask there.",
                    lambda: np.where(empty, 1 / L_k, softmax(seen)) @ V,
                ),
                (
                    "a query that may attend to nothing attends to all keys, as if there were no "
                    "mask; it should get zeros.",
                    lambda: softmax(np.where(mask | empty, scores, -np.inf)) @ V,
                ),
            ]
            if empty.any()
            else []
        )
        causes = [
            *of_empty_rows,
            ("the mask is not used.", lambda: softmax(scores) @ V),
            (
                "the mask is inverted. True means: this query may attend to this key.",
                lambda: attend(Q, K, V, ~mask),
            ),
            (
                "the mask comes after the softmax: the remaining keys' weights do not sum to 1.",
                lambda: np.where(mask, softmax(scores), 0) @ V,
            ),
            (
                "masked scores are set to 0, which is an ordinary score; their weights should be "
                "0.",
                lambda: softmax(np.where(mask, scores, 0)) @ V,
            ),
            ("the mask is added to the scores as a number.", lambda: softmax(scores + mask) @ V),
            *_numbers_for_masks(scores, mask, V),
            (
                "the number subtracted from a row is its largest score over all keys; it should be "
                "the largest over the keys that may be attended to.",
                lambda: _shifted(seen, scores.max(axis=-1, keepdims=True)) @ V,
            ),
            *causes,
        ]
    return [(sentence, lambda work=work: _number(work)) for sentence, work in causes]


def _numbers_for_masks(scores, mask, V):
    """Return mistakes that use ordinary numbers as masks instead of -inf."""
    causes = []
    for number in (10, 20, 100, 1000, 10_000):
        causes += [
            (
                f"masked scores are set to -{number}, which is an ordinary score; use -np.inf.",
                lambda number=number: softmax(np.where(mask, scores, -number)) @ V,
            ),
            (
                f"{number} is subtracted from masked scores, which leaves ordinary scores; use "
                "-np.inf.",
                lambda number=number: softmax(scores - number * ~mask) @ V,
            ),
        ]
    small = np.where(mask, 1, 1e-9)
    return causes + [
        (
            "masked scores are set to 1e-9, which is nearly 0, an ordinary score; use -np.inf.",
            lambda: softmax(np.where(mask, scores, 1e-9)) @ V,
        ),
        (
            "masked scores are multiplied by 1e-9, which makes them nearly 0, an ordinary score; "
            "use -np.inf.",
            lambda: softmax(scores * small) @ V,
        ),
        (
            "the weights of masked keys are multiplied by 1e-9, after the softmax; they should be "
            "0, and the others sum to 1. Set masked scores to -np.inf before the softmax.",
            lambda: softmax(scores) * small @ V,
        ),
        (
            "the weights of masked keys are multiplied by 1e-9; they should be 0. Set masked "
            "scores to -np.inf.",
            lambda: softmax(scores + np.log(small)) @ V,
        ),
    ]


def _shifted(scores, top):
    """Return a softmax that subtracts `top`; rows with a sum of 0 are 0."""
    weights = np.exp(np.minimum(scores - top, 700))
    rows = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(rows == 0, 1, rows)


def _number(work):
    """Return a mistake's result; None if it overflows or is NaN, which would match anything."""
    with np.errstate(all="ignore"):
        array = work()
        return array if (np.abs(array) < 1e30).all() else None
