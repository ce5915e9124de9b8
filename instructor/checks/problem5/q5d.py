"""Question 5d: inputs of MultiHeadAttention, and the hidden checks."""

import numpy as np

from autograder import check
from checks.problem5 import q5d
from checks.problem5.q5d import DROPS, HEADS, MADE
from instructor.checks.drawing import draws

ALL_PADDING, LOW = ", where rows are only padding", ", with scores near -200,000"


@check("5d-4-hidden", "5d-5-hidden", "5d-6-hidden")
def test_attention(student, calls):
    """As the basic checks, with other sizes."""
    q5d.test_attention(student, calls)


def inputs(rng, B, T, n_head, head_dim, dtype="float32", **more) -> dict:
    """Draw the inputs of a call.

    Args:
        more: replaces any of them.
    """
    width = n_head * head_dim
    drawn = {
        "x": rng.standard_normal((B, T, width)).astype(dtype),
        "key_padding_mask": None,
        "return_weights": None,
    }
    drawn |= {"dropout": None, "train": False, "repeat": 1, "upstream": None}
    weights = {"seed": int(rng.integers(2**31)), "scale": 0.3, "values": {}}
    return {"n_embd": width, "n_head": n_head, **drawn, **weights, **more}


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
    nothing = np.zeros((2, 5), bool)
    return [
        inputs(rng, 2, 5, 3, 2, key_padding_mask=draw_padding(rng, 2, 5)),
        inputs(rng, 4, 5, 3, 2, key_padding_mask=draw_padding(rng, 4, 5)),
        inputs(rng, 2, 5, 3, 2, key_padding_mask=nothing),
    ]


@draws(HEADS, "5d-3-basic")
def weighted(rng):
    """The pair of output and weights, with and without padding."""
    return [
        inputs(rng, 2, 5, 3, 2, return_weights=True),
        inputs(rng, 2, 5, 3, 2, key_padding_mask=draw_padding(rng, 2, 5), return_weights=True),
        inputs(rng, 3, 4, 2, 3, key_padding_mask=draw_padding(rng, 3, 4), return_weights=True),
    ]


@draws(HEADS, "5d-7-basic", "5d-4-hidden")
def formats(rng, large):
    """Sizes from one up; float64; gradients, with and without padding."""
    sizes = [(1, 1, 1, 1), (1, 6, 3, 1), (3, 1, 2, 3), (3, 2, 1, 4)]
    if large:
        sizes = [(1, 7, 4, 1), (5, 1, 2, 3), (3, 2, 1, 6), (2, 11, 3, 5), (2, 3, 7, 4)]
        sizes += [(9, 4, 2, 8)]
    B, T, n_head, head_dim = (5, 7, 3, 4) if large else (2, 4, 3, 2)
    more = {"upstream": rng.standard_normal((B, T, n_head * head_dim)), "dtype": "float64"}
    calls = [inputs(rng, *each, return_weights=n > 0 or None) for n, each in enumerate(sizes)]
    for B_, T_, *heads in sizes if large else [(3, 2, 1, 4)]:
        padding = draw_padding(rng, B_, T_) if T_ > 1 else None
        dtype = ("float32", "float64")[B_ % 2]
        calls.append(
            inputs(rng, B_, T_, *heads, key_padding_mask=padding, return_weights=True, dtype=dtype)
        )
    return calls + [
        inputs(rng, B, T, n_head, head_dim, key_padding_mask=padding, return_weights=True, **more)
        for padding in (None, draw_padding(rng, B, T))
    ]


@draws(HEADS, "5d-8-basic", "5d-5-hidden")
def rare(rng, large):
    """Rows of only padding, with gradients; scores that are lower than most numbers that are taken
    for -inf.
    """
    B, T, n_head, head_dim = sizes = (5, 7, 3, 4) if large else (3, 4, 2, 3)
    padding = draw_padding(rng, B, T)
    full, *empty = rng.permutation(B)[: (B + 1) // 2]
    padding[full], padding[empty] = False, True
    more = {"key_padding_mask": padding, "return_weights": True}
    upstream = rng.standard_normal((B, T, n_head * head_dim))
    # in float64: in float32, such scores have too few digits
    low = inputs(
        rng,
        *sizes,
        "float64",
        key_padding_mask=draw_padding(rng, B, T),
        return_weights=True,
        scale=0.01,
    )
    size = np.sqrt(2e5 / np.sqrt(head_dim))  # q k is about -head_dim size ** 2
    low["values"] = {"qkv.bias": np.repeat([size, -size, 0], n_head * head_dim)}
    return [
        (inputs(rng, *sizes, **more), ALL_PADDING),
        (inputs(rng, *sizes, "float64", **more, upstream=upstream), ALL_PADDING),
        (low, LOW),
    ]


@draws(HEADS, "5d-9-basic", "5d-6-hidden")
def not_dropping(rng, large):
    """Dropout in evaluation; in training with a rate of 0, and with the default."""
    p = float(rng.choice([0.2, 0.3, 0.4]))
    sizes = (2, 7, 3, 5) if large else (2, 3, 2, 4)
    return [
        inputs(rng, *sizes, return_weights=True, dropout=rate, train=train)
        for rate, train in ((p, False), (0.0, True), (None, True))
    ]


@draws(DROPS, "5d-9-basic", "5d-6-hidden")
def dropping(rng, large):
    """Copies of one x, in training, with 2,880 weights or more.

    The first T features of x say which position it is. The values are these, twice, and the output
    is theirs plus 1, so that it has the weights that were used.
    """
    T, n_head, repeat = (7, 3, 20) if large else (3, 2, 160)
    p, width = float(rng.choice([0.2, 0.3, 0.4])), n_head * 2 * T
    call = inputs(
        rng, 1, T, n_head, 2 * T, return_weights=True, dropout=p, train=True, repeat=repeat
    )
    call["x"][0, :, :T] = np.eye(T)
    # scores are small, so that no weight is nearly 0 and taken for a dropped one
    qkv = rng.standard_normal((3 * width, width)).astype(np.float32) * 0.85 / np.sqrt(width)
    qkv[2 * width :] = np.tile(np.eye(T, width), (2 * n_head, 1))
    call["values"] = {"qkv.weight": qkv, "qkv.bias": 0.0}
    call["values"] |= {"proj.weight": np.eye(width, dtype=np.float32), "proj.bias": 1.0}
    return [call]


@draws(MADE, "5d-10-basic", "5d-6-hidden")
def sizes(rng, large):
    """Sizes that fit."""
    n_head, head_dim = rng.permutation([7, 4, 9] if large else [2, 3, 5])[:2].tolist()
    return [{"n_embd": n_head * head_dim, "n_head": n_head}]


@draws(MADE, "5d-10-basic", "5d-5-hidden")
def misfits(rng, large):
    """Sizes that do not fit."""
    n_head, head_dim = rng.permutation([7, 4, 9] if large else [2, 3, 5])[:2].tolist()
    n_embd = n_head * head_dim
    pairs = [(n_embd + 1, n_head), (n_head, n_embd), (8 * n_embd + 1, 4)]
    return [dict(zip(("n_embd", "n_head"), pair)) for pair in pairs]
