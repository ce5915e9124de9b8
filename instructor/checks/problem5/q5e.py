"""Question 5e: inputs of positions, LayerNorm, layers and the encoder, and the hidden checks."""

import numpy as np

from checks.problem5.q5d import RATE
from checks.problem5.q5e import ENCODER, LAYER, NORM, TABLE
from instructor.checks.drawing import draws
from instructor.checks.problem5.q5d import draw_padding

GELU_OF_1 = 0.8413447460685429


@draws(TABLE, "5e-0-basic")
def tables(rng):
    """Tables of several sizes; a long one; an odd number of features.

    In the long one, angles are small, or whole numbers, so that float32 has enough digits for them.
    """
    width, length = 2 * int(rng.integers(3, 20)), int(rng.integers(1100, 2000))
    sizes = [(7, width), (1, 4), (3, 2), (length, 4), (5, width + 1)]
    return [{"max_len": max_len, "n_embd": n_embd} for max_len, n_embd in sizes]


def norm(rng, x, *eps, graded=False) -> dict:
    """Draw the inputs of a call of LayerNorm. graded: in float64, with gradients."""
    return {
        "arguments": [x.shape[-1], *eps],
        "x": x.astype(np.float64 if graded else np.float32),
        "seed": int(rng.integers(2**31)),
        "graded": graded,
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


def layer(rng, B, T, n_head, head_dim, n_hidden, pre_norm, rate=0.0, **more) -> dict:
    """Draw the inputs of a call of EncoderLayer. more: replaces any of them."""
    x = 0.5 + rng.standard_normal((B, T, n_head * head_dim))
    drawn = {
        "arguments": [n_head * head_dim, n_head, n_hidden, rate, pre_norm],
        "train": False,
        "x": x.astype(np.float32),
        "key_padding_mask": None,
        "seed": int(rng.integers(2**31)),
        "values": {},
    }
    return drawn | more


def dropping(rng, pre_norm, values: dict[str, float]) -> dict:
    """A layer in training mode with 2,400 features; its weights are 0 but for some."""
    others = {"weight": 0.0, "bias": 0.0, "norm1.weight": 1.0, "norm2.weight": 1.0}
    call = layer(rng, 1, 5, 3, 2, 5, pre_norm, RATE, train=True, values=others | values)
    call["x"] *= pre_norm
    return call


@draws(LAYER, "5e-2-basic")
def pre_norm_layers(rng):
    """Without padding; with it, and with dropout in evaluation; in training, where the attention
    returns 1 and the feed-forward part 2.
    """
    values = {"proj.bias": 1.0, "up.bias": 1.0, "down.weight": 2 / 5 / GELU_OF_1}
    return [
        layer(rng, 2, 5, 3, 2, 7, True),
        layer(rng, 2, 5, 3, 2, 7, True, RATE, key_padding_mask=draw_padding(rng, 2, 5)),
        dropping(rng, True, values),
    ]


@draws(LAYER, "5e-7-basic", "5e-4-hidden")
def post_norm_layers(rng, large):
    """The same; in training, one part returns 1, and the other 0."""
    B, T, *widths = (3, 7, 3, 4, 11) if large else (2, 5, 3, 2, 7)
    return [
        layer(rng, B, T, *widths, False),
        layer(rng, B, T, *widths, False, RATE, key_padding_mask=draw_padding(rng, B, T)),
        (dropping(rng, False, {"proj.bias": 1.0}), ", whose attention returns 1 everywhere"),
        (dropping(rng, False, {"down.bias": 1.0}), ", whose feed-forward part returns 1"),
    ]


def encoder(rng, B, T, large=False, graded=False, **options) -> dict:
    """Draw the inputs of a call of Encoder: distinct sizes, and rows that differ, with PAD at the
    end of all but the first.

    Args:
        graded: in float64, with gradients.
        options: replace entries of the configuration.
    """
    names = "vocab_size", "max_len", "n_classes", "n_embd", "n_head", "n_hidden"
    config = dict(zip(names, (13, 11, 5, 12, 3, 17) if large else (9, 7, 6, 4, 2, 5)))
    config |= {"positions": "sinusoidal", "pooling": "mean", "pre_norm": True, "dropout": 0.0}
    config |= {"n_layer": 2, **options}
    idx = rng.integers(1, config["vocab_size"], (B, T))
    idx[0, :3] = rng.permutation(3) + 1  # CLS and UNK are ordinary tokens
    for row in idx[1:]:
        row[T - int(rng.integers(1, T - 1)) :] = 0
    drawn = {"config": config, "idx": idx, "train": False, "seed": int(rng.integers(2**31))}
    return {**drawn, "values": {}, "graded": graded}


@draws(ENCODER, "5e-3-basic")
def encoders(rng):
    """The defaults; sentences shorter than max_len and of that length; gradients."""
    one = {"n_layer": 1, "n_embd": 6, "n_head": 3}
    return [encoder(rng, 3, 5), encoder(rng, 4, 7, **one), encoder(rng, 2, 6, graded=True, **one)]


@draws(ENCODER, "5e-7-basic", "5e-4-hidden")
def post_norm_encoders(rng, large):
    """Three layers, with gradients."""
    return [encoder(rng, 3, 5, large, graded=True, pre_norm=False, n_layer=3)]


def each_pooling(rng, large: bool) -> list[dict]:
    """Draw a call of Encoder for each pooling, with any positions."""
    T, positions = (8 if large else 5), rng.permutation(["sinusoidal", "learned", "none"]).tolist()
    return [
        encoder(rng, 4, T, large, pooling=pooling, positions=kind, n_layer=1)
        for pooling, kind in zip(("mean", "cls", "none"), positions)
    ]


@draws(ENCODER, "5e-5-hidden")
def appended(rng, large):
    """Each pooling, with PAD at the end of all rows."""
    return [c | {"idx": np.pad(c["idx"], ((0, 0), (0, 3)))} for c in each_pooling(rng, large)]


@draws(ENCODER, "5e-8-basic", "5e-6-hidden")
def options(rng, large):
    """Poolings, learned positions and none, if `large` with gradients; dropout only in the layers,
    whose output is 0.
    """
    silent = dict.fromkeys(("proj.weight", "proj.bias", "down.weight", "down.bias"), 0.0)
    return [
        *(
            encoder(rng, 3, 5, large, large, positions=positions, pooling=pooling, n_layer=1)
            for positions, pooling in (("learned", "mean"), ("none", "cls"), ("learned", "none"))
        ),
        encoder(rng, 3, 5, large, dropout=RATE) | {"train": True, "values": silent},
    ]


@draws(ENCODER, "5e-10-basic", "5e-11-hidden")
def rare_tokens(rng, large):
    """PAD anywhere, also in front; a row of only PAD, and one of a single word; inputs that are
    too long, and options that do not exist.
    """
    calls = each_pooling(rng, large)
    for call in calls:
        idx = call["idx"] = rng.permuted(call["idx"], axis=1)
        idx[1:, 0] = 0 if call["config"]["pooling"] != "cls" else rng.integers(1, 4, 3)
        idx[2] = 0
        word = np.zeros_like(idx[:1])
        word[0, 0 if call["config"]["pooling"] == "cls" else 2] = rng.integers(1, 4)
        call["idx"] = np.vstack((idx, word))
    # Without positions, a word's place does not matter, and position 0 is PAD in both rows.
    swapped = encoder(rng, 2, 5, large, pooling="cls", positions="none", n_layer=1)
    swapped["idx"] = np.array([[0, 1, 2, 3, 4], [0, 4, 3, 2, 1]])
    too_long = np.ones((1, swapped["config"]["max_len"] + 1), int)
    others = {"positions": "rotary"}, {"pooling": "max"}
    return [
        *calls,
        (swapped, ", whose rows have PAD, then the same words"),
        swapped | {"idx": too_long},
        *(swapped | {"config": swapped["config"] | other} for other in others),
    ]
