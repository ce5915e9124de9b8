"""Question 5d: inputs of MultiHeadAttention, and the hidden checks."""

import numpy as np

from checks.problem5.q5d import HEADS, MADE, RATE
from instructor.checks.drawing import draws


def inputs(rng, B, T, n_head, head_dim, *dropout, padded=False, graded=False, **more) -> dict:
    """Draw the inputs of a call.

    Args:
        dropout: the rate, if it isn't the default.
        padded: with a padding mask.
        graded: in float64, with gradients.
        more: replaces any input.
    """
    shape = B, T, n_head * head_dim
    drawn = {
        "arguments": [shape[-1], n_head, *dropout],
        "x": rng.standard_normal(shape).astype(np.float64 if graded else np.float32),
        "key_padding_mask": draw_padding(rng, B, T) if padded else None,
        "return_weights": None,
        "train": False,
        "weights": {"seed": int(rng.integers(2**31))},
        "graded": graded,
    }
    return drawn | more


def draw_padding(rng, B: int, T: int) -> np.ndarray:
    """Draw padding anywhere: in each row somewhere, but not everywhere; in a batch, not the same in
    reverse order.
    """
    while True:
        padding = rng.random((B, T)) < 0.4
        some = padding.any(axis=1) & ~padding.all(axis=1)
        if some.all() and (B == 1 or (padding != padding[::-1]).any()):
            return padding


@draws(HEADS, "5d-1-basic", "5d-10-basic")
def plain(rng):
    """The output alone, without a mask."""
    return [inputs(rng, 2, 5, 3, 2), inputs(rng, 4, 7, 2, 3), inputs(rng, 3, 4, 1, 5)]


@draws(HEADS, "5d-2-basic")
def padded(rng):
    """Padding anywhere in each row; and a mask that marks nothing."""
    return [
        inputs(rng, 2, 5, 3, 2, padded=True),
        inputs(rng, 4, 5, 3, 2, padded=True),
        inputs(rng, 2, 5, 3, 2, key_padding_mask=np.zeros((2, 5), bool)),
    ]


@draws(HEADS, "5d-3-basic")
def weighted(rng):
    """The pair of output and weights, with and without padding."""
    return [
        inputs(rng, 2, 5, 3, 2, return_weights=True),
        inputs(rng, 2, 5, 3, 2, return_weights=True, padded=True),
        inputs(rng, 3, 4, 2, 3, return_weights=True, padded=True),
    ]


@draws(HEADS, "5d-7-basic", "5d-4-hidden")
def formats(rng, large):
    """Sizes from one up; float64; gradients, with and without padding."""
    n = 9 if large else 4
    sizes = [(1, 1, 1, 1), (1, n, 3, 1), (n, 1, 2, 3), (3, 2, 1, n)]
    return [
        *(inputs(rng, *each, return_weights=True) for each in sizes),
        inputs(rng, 3, 2, 1, n, return_weights=True, padded=True),
        inputs(rng, 2, n, 3, 2, return_weights=True, graded=True),
        inputs(rng, 2, n, 3, 2, return_weights=True, graded=True, padded=True),
    ]


@draws(HEADS, "5d-8-basic", "5d-5-hidden")
def rare(rng, large):
    """Rows of only padding, with gradients; scores that are lower than most numbers that are taken
    for -inf.
    """
    B, T, n_head, head_dim = sizes = (5, 7, 3, 4) if large else (3, 4, 2, 3)
    padding = draw_padding(rng, B, T)
    padding[0], padding[1] = False, True
    more = {"key_padding_mask": padding, "return_weights": True}
    # in float64: in float32, such scores have too few digits
    low = inputs(rng, *sizes, return_weights=True, graded=True, padded=True) | {"graded": False}
    size = np.sqrt(2e5 / np.sqrt(head_dim))  # q k is about -head_dim size ** 2
    bias = np.repeat([size, -size, 0], n_head * head_dim)
    low["weights"] |= {"scale": 0.01, "values": {"qkv.bias": bias}}
    remark = ", where rows are only padding"
    return [
        (inputs(rng, *sizes, **more), remark),
        (inputs(rng, *sizes, graded=True, **more), remark),
        (low, ", with scores near -200,000"),
    ]


@draws(HEADS, "5d-9-basic", "5d-6-hidden")
def dropout(rng, large):
    """Dropout in evaluation; in training with a rate of 0, also with padding, with the default, and
    with another rate on 3,000 weights.

    There, the first T features of x say which position it is. The values are these, twice, and the
    output is theirs plus 1, so that it has the weights that were used.
    """
    sizes, T, n_head = (2, 7, 3, 5) if large else (2, 3, 2, 4), 5, 2
    width = n_head * 2 * T
    call = inputs(rng, 1, T, n_head, 2 * T, RATE, return_weights=True, train=True)
    call["x"][0, :, :T] = np.eye(T)
    # scores are small, so that no weight is nearly 0 and taken for a dropped one
    qkv = rng.standard_normal((3 * width, width)).astype(np.float32) * 0.85 / np.sqrt(width)
    qkv[2 * width :] = np.tile(np.eye(T, width), (2 * n_head, 1))
    values = {"qkv.weight": qkv, "proj.weight": np.eye(width, dtype=np.float32)}
    call["weights"]["values"] = values | {"qkv.bias": 0.0, "proj.bias": 1.0}
    return [
        inputs(rng, *sizes, RATE, return_weights=True),
        inputs(rng, *sizes, 0.0, return_weights=True, train=True),
        inputs(rng, *sizes, 0.0, return_weights=True, train=True, padded=True),
        inputs(rng, *sizes, return_weights=True, train=True),
        call,
    ]


@draws(MADE, "5d-10-basic", "5d-6-hidden")
def right_sizes(rng, large):
    """Sizes that fit."""
    return [{"arguments": [28, 7] if large else [6, 2]}]


@draws(MADE, "5d-10-basic", "5d-5-hidden")
def misfits(rng, large):
    """Sizes that do not fit."""
    sizes = ([29, 7], [7, 28], [85, 4]) if large else ([7, 2], [2, 6], [49, 4])
    return [{"arguments": pair} for pair in sizes]
