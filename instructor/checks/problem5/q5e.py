"""Question 5e: inputs of positions, LayerNorm, layers and the encoder, and the hidden checks."""

import numpy as np

from autograder import check
from checks.problem5 import q5e
from checks.problem5.q5d import RATE
from checks.problem5.q5e import ENCODER, LAYER, NORM, TABLE
from instructor.checks.drawing import draws
from instructor.checks.problem5.q5d import draw_padding

GELU_OF_1 = 0.8413447460685429


@check("5e-4-hidden", "5e-5-hidden", "5e-6-hidden", "5e-11-hidden")
def test_encoder(student, calls):
    """As the basic checks, with other sizes."""
    q5e.test_encoder(student, calls)


@draws(TABLE, "5e-0-basic")
def tables(rng):
    """Tables of several sizes; a long one; an odd number of features.

    In the long one, angles are small, or whole numbers, so that float32 has enough digits for them.
    """
    sizes = [(int(rng.integers(5, 8)), 2 * int(rng.integers(3, 20))), (1, 4), (3, 2)]
    sizes.append((int(rng.integers(1100, 2000)), 4))
    sizes.append((5, 2 * int(rng.integers(3, 7)) + 1))
    return [{"max_len": max_len, "n_embd": n_embd} for max_len, n_embd in sizes]


def norm(rng, x, *eps, graded=False) -> dict:
    """Draw the inputs of a call of LayerNorm. graded: in float64, with gradients."""
    return {
        "arguments": [x.shape[-1], *eps],
        "x": x.astype(np.float64 if graded else np.float32),
        "seed": int(rng.integers(2**31)),
        "upstream": rng.standard_normal(x.shape) if graded else None,
    }


@draws(NORM, "5e-1-basic")
def norms(rng):
    """Ordinary vectors and vectors of tiny variance, where eps matters; any number of axes;
    gradients.
    """
    x = rng.standard_normal((2, 3, 5))
    return [
        norm(rng, 2 * x + 1),
        norm(rng, 0.004 * x + 0.002),
        norm(rng, 0.05 * x, 1e-3),
        norm(rng, rng.standard_normal(7)),
        norm(rng, rng.standard_normal((2, 3, 1, 5))),
        norm(rng, x, graded=True),
    ]


@draws(NORM, "5e-9-basic")
def rare_norms(rng):
    """An ordinary vector; vectors of equal entries, with gradients; entries of thousands that
    differ by ones.
    """
    # Every way to compute their mean gives exactly the same. In float64, since x * a + (bias - mean
    # * a) is also correct, but loses more than is allowed in float32.
    flat = np.tile(rng.integers(-9, 9, (2, 3, 1)) / 4, 8)
    # Their squares have a mean of 6 to 12 million, which float32 resolves to half a unit at best;
    # the variance is 1.71.
    sign, middle = int(rng.choice([-1, 1])), int(rng.integers(2500, 3500))
    large = sign * middle + rng.permuted(np.tile(np.linspace(-2, 2, 8), (2, 3, 1)), axis=-1)
    return [
        norm(rng, rng.standard_normal((2, 3, 8))),
        (norm(rng, flat, graded=True), ", where entries are equal"),
        (norm(rng, large), f", with entries around {sign * middle}"),
    ]


def layer(rng, sizes, pre_norm, rate=0.0, padded=False) -> dict:
    """Draw the inputs of a call of EncoderLayer. sizes: B, T, n_head, head_dim, n_hidden."""
    B, T, n_head, head_dim, n_hidden = sizes
    x = 0.5 + rng.standard_normal((B, T, n_head * head_dim))
    return {
        "arguments": [n_head * head_dim, n_head, n_hidden, rate, pre_norm],
        "train": False,
        "x": x.astype(np.float32),
        "key_padding_mask": draw_padding(rng, B, T) if padded else None,
        "seed": int(rng.integers(2**31)),
        "values": {},
    }


def dropping(rng, pre_norm, **values: float) -> dict:
    """A layer in training mode with 2,400 features; its weights are 0 but for some."""
    values = {name.replace("_", "."): value for name, value in values.items()}
    call = layer(rng, (1, 5, 3, 2, 5), pre_norm, RATE)
    call["x"] *= pre_norm
    others = {"weight": 0.0, "bias": 0.0, "norm1.weight": 1.0, "norm2.weight": 1.0}
    return call | {"train": True, "values": others | values}


@draws(LAYER, "5e-2-basic")
def pre_norm_layers(rng):
    """Without padding; with it, and with dropout in evaluation; in training, where the attention
    returns 1 and the feed-forward part 2.
    """
    sizes = 2, 5, 3, 2, 7
    return [
        layer(rng, sizes, True),
        layer(rng, sizes, True, RATE, padded=True),
        dropping(rng, True, proj_bias=1.0, up_bias=1.0, down_weight=2 / 5 / GELU_OF_1),
    ]


@draws(LAYER, "5e-7-basic", "5e-4-hidden")
def post_norm_layers(rng, large):
    """The same; in training, one part returns 1, and the other 0."""
    sizes = (3, 7, 3, 4, 11) if large else (2, 5, 3, 2, 7)
    return [
        layer(rng, sizes, False),
        layer(rng, sizes, False, RATE, padded=True),
        (dropping(rng, False, proj_bias=1.0), ", whose attention returns 1 everywhere"),
        (dropping(rng, False, down_bias=1.0), ", whose feed-forward part returns 1"),
    ]


def draw_config(large: bool, **more) -> dict:
    """The configuration of an encoder, with distinct sizes. more: replaces any of its entries."""
    names = "vocab_size", "max_len", "n_classes", "n_embd", "n_head", "n_hidden"
    sizes = (13, 11, 5, 12, 3, 17) if large else (9, 7, 6, 4, 2, 5)
    fixed = {"positions": "sinusoidal", "pooling": "mean", "pre_norm": True, "dropout": 0.0}
    return {**dict(zip(names, sizes)), **fixed, "n_layer": 2, **more}


def draw_tokens(rng, config: dict, B: int, T: int, anywhere: bool = False) -> np.ndarray:
    """Draw tokens, int64 (B, T), with PAD at the end, or anywhere, in all rows but the first; rows
    differ.
    """
    idx = rng.integers(1, config["vocab_size"], (B, T))
    idx[0, :3] = rng.permutation(3) + 1  # CLS and UNK are ordinary tokens
    for row in idx[1:]:
        count = int(rng.integers(1, T - 1))
        row[rng.choice(T, count, replace=False) if anywhere else slice(T - count, T)] = 0
    return idx


def encoder(rng, config: dict, idx: np.ndarray, graded=False, train=False, **values) -> dict:
    """Draw the inputs of a call of Encoder.

    Args:
        graded: in float64, with gradients.
        values: of parameters; dots are written as underscores.
    """
    upstream = None
    if graded:
        # Without pooling, the differentiated sum has no vector at PAD: an untrained embedding of
        # PAD (padding_idx) is also right.
        upstream = rng.standard_normal((*idx.shape, config["n_classes"])) * (idx != 0)[:, :, None]
        upstream = upstream if config["pooling"] == "none" else upstream[:, 0]
    return {
        "config": config,
        "idx": idx,
        "train": train,
        "seed": int(rng.integers(2**31)),
        "values": {name.replace("_", "."): value for name, value in values.items()},
        "upstream": upstream,
    }


@draws(ENCODER, "5e-3-basic")
def encoders(rng):
    """The defaults, with PAD at the end; sentences shorter than max_len and of that length;
    gradients.
    """
    plain, one = draw_config(False), draw_config(False, n_layer=1, n_embd=6, n_head=3)
    return [
        encoder(rng, plain, draw_tokens(rng, plain, 3, 5)),
        encoder(rng, one, draw_tokens(rng, one, 4, 7)),
        encoder(rng, one, draw_tokens(rng, one, 2, 6), graded=True),
    ]


@draws(ENCODER, "5e-7-basic", "5e-4-hidden")
def post_norm_encoders(rng, large):
    """Three layers."""
    config = draw_config(large, pre_norm=False, n_layer=3)
    return [encoder(rng, config, draw_tokens(rng, config, 3, 5))]


@draws(ENCODER, "5e-5-hidden")
def pooled(rng):
    """Each pooling, with PAD at the end of all rows."""
    calls = []
    for pooling in ("mean", "cls", "none"):
        positions = str(rng.choice(["sinusoidal", "learned"]))
        config = draw_config(True, pooling=pooling, positions=positions)
        idx = np.pad(draw_tokens(rng, config, 5, 8), ((0, 0), (0, 3)))
        calls.append(encoder(rng, config, idx))
    return calls


@draws(ENCODER, "5e-8-basic", "5e-6-hidden")
def options(rng, large):
    """Poolings, learned positions and none, if `large` with gradients; dropout only in the layers,
    whose output is 0.
    """
    calls = []
    for positions, pooling in (("learned", "mean"), ("none", "cls"), ("learned", "none")):
        config = draw_config(large, positions=positions, pooling=pooling, n_layer=1)
        idx = draw_tokens(rng, config, 3, int(rng.integers(4, config["max_len"])))
        calls.append(encoder(rng, config, idx, graded=large))
    config = draw_config(large, dropout=RATE)
    silent = dict.fromkeys(("proj_weight", "proj_bias", "down_weight", "down_bias"), 0.0)
    return [*calls, encoder(rng, config, draw_tokens(rng, config, 3, 5), train=True, **silent)]


@draws(ENCODER, "5e-10-basic", "5e-11-hidden")
def rare_tokens(rng, large):
    """PAD anywhere, also in front; a row of only PAD; inputs that are too long, and options that
    do not exist.
    """
    calls, T = [], 8 if large else 5
    for pooling in ("mean", "cls", "none"):
        positions = str(rng.choice(["sinusoidal", "learned"]))
        config = draw_config(large, pooling=pooling, positions=positions, n_layer=1)
        idx = draw_tokens(rng, config, 4, T, anywhere=True)
        idx[1:, 0] = 0 if pooling != "cls" else rng.integers(1, config["vocab_size"], 3)
        idx[2] = 0
        calls.append(encoder(rng, config, idx))
    # Without positions, a word's place does not matter, and position 0 is PAD in both rows.
    config = draw_config(large, pooling="cls", positions="none", n_layer=1)
    words = rng.permutation(np.arange(1, config["vocab_size"]))[: T - 1]
    swapped = encoder(rng, config, np.array([[0, *words], [0, *words[::-1]]]))
    return [
        *calls,
        (swapped, ", whose rows have PAD, then the same words"),
        encoder(rng, config, np.ones((1, config["max_len"] + 1), int)),
        encoder(rng, {**config, "positions": "rotary"}, idx),
        encoder(rng, {**config, "pooling": "max"}, idx),
    ]
