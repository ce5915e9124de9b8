"""Question 5e: inputs of positions, LayerNorm, layers and the encoder, and the hidden checks."""

import numpy as np

from autograder import check
from checks.problem5 import q5e
from checks.problem5.q5e import ENCODER, LARGE, LAYER, LAYER_DROPS, NORM, TABLE
from instructor.checks.drawing import draws
from instructor.checks.problem5.q5d import draw_padding

GELU_OF_1 = 0.8413447460685429


@check("5e-4-hidden", "5e-5-hidden", "5e-6-hidden", "5e-11-hidden")
def test_encoder(student, calls):
    """As the basic checks, with other sizes."""
    q5e.test_encoder(student, calls)


def draw_seed(rng) -> int:
    """Draw the seed of weights."""
    return int(rng.integers(2**31))


def draw_rate(rng) -> float:
    """Draw a dropout rate."""
    return float(rng.choice([0.2, 0.3, 0.4]))


@draws(TABLE, "5e-0-basic")
def tables(rng):
    """Tables of several sizes; a long one; an odd number of features.

    In the long one, angles are small, or whole numbers, so that float32 has enough digits for them.
    """
    sizes = [(int(rng.integers(5, 8)), 2 * int(rng.integers(3, 20))), (1, 4), (3, 2)]
    sizes.append((int(rng.integers(20, 30)), 2 * int(rng.integers(6, 12))))
    sizes.append((int(rng.integers(1100, 2000)), 4))
    sizes.append((5, 2 * int(rng.integers(3, 7)) + 1))
    return [{"max_len": max_len, "n_embd": n_embd} for max_len, n_embd in sizes]


def norm(rng, x, eps=None, dtype="float32", upstream=None) -> dict:
    """Draw the inputs of a call of LayerNorm."""
    given = {"n_embd": x.shape[-1], "eps": eps, "x": x.astype(dtype)}
    return {**given, "seed": draw_seed(rng), "upstream": upstream}


@draws(NORM, "5e-1-basic")
def norms(rng):
    """Ordinary vectors and vectors of tiny variance, where eps matters; any number of axes;
    gradients.
    """
    shape = (2, 3, 5)
    draw = rng.standard_normal
    return [
        norm(rng, 2 * draw(shape) + 1),
        norm(rng, 0.004 * draw(shape) + 0.002),
        norm(rng, 0.05 * draw(shape), eps=1e-3),
        norm(rng, draw(7)),
        norm(rng, draw((2, 3, 1, 5))),
        norm(rng, draw(shape), dtype="float64", upstream=draw(shape)),
    ]


@draws(NORM, "5e-9-basic")
def flat_norms(rng):
    """An ordinary vector, and vectors of equal entries, with gradients."""
    shape = (2, 3, 8)
    # Every way to compute their mean gives exactly the same. In float64, since x * a + (bias - mean
    # * a) is also correct, but loses more than is allowed in float32.
    flat = np.tile(rng.integers(-9, 9, (2, 3, 1)) / 4, 8)
    upstream = rng.standard_normal(shape)
    return [
        norm(rng, rng.standard_normal(shape)),
        (norm(rng, flat, dtype="float64", upstream=upstream), ", where entries are equal"),
    ]


@draws(LARGE, "5e-9-basic")
def large_norms(rng):
    """Entries of thousands that differ by ones.

    Their squares have a mean of 2 to 12 million, which float32 resolves to a quarter at best; the
    variances are 1.71 and 1.125.
    """
    sign, middle = float(rng.choice([-1, 1])), int(rng.integers(2500, 3500))
    first, second = (
        rng.permuted(np.tile(np.linspace(-end, end, n), (2, 3, 1)), axis=-1)
        for end, n in ((2, 8), (1.5, 5))
    )
    calls = [norm(rng, sign * middle + first), norm(rng, sign * (middle // 2 + 200) + second)]
    return [(call, f", with entries around {call['x'].mean():.0f}") for call in calls]


def layer(rng, B, T, n_head, head_dim, n_hidden, **more) -> dict:
    """Draw the inputs of a call of EncoderLayer. more: replaces any of them."""
    width = n_head * head_dim
    drawn = {"sizes": [width, n_head, n_hidden], "dropout": 0.0, "pre_norm": True, "train": False}
    drawn |= {
        "x": (0.5 + rng.standard_normal((B, T, width))).astype(np.float32),
        "key_padding_mask": None,
    }
    return {**drawn, "repeat": 1, "seed": draw_seed(rng), "values": {}, **more}


@draws(LAYER, "5e-2-basic")
def pre_norm_layers(rng, pre_norm=True, sizes=(2, 5, 3, 2, 7)):
    """Without padding, with it, and with dropout in evaluation."""
    padding, p = draw_padding(rng, *sizes[:2]), draw_rate(rng)
    return [
        layer(rng, *sizes, pre_norm=pre_norm),
        layer(rng, *sizes, pre_norm=pre_norm, key_padding_mask=padding, dropout=p),
    ]


@draws(LAYER, "5e-7-basic", "5e-4-hidden")
def post_norm_layers(rng, large):
    """As with pre-norm."""
    return pre_norm_layers(rng, False, (3, 7, 3, 4, 11) if large else (2, 5, 3, 2, 7))


def dropping(rng, pre_norm, values: dict[str, float]) -> dict:
    """A layer in training mode with 2,400 features; its weights are 0 but for some."""
    values = {"weight": 0.0, "bias": 0.0, "norm1.weight": 1.0, "norm2.weight": 1.0} | values
    more = {"dropout": draw_rate(rng), "train": True, "repeat": 80, "values": values}
    call = layer(rng, 1, 5, 3, 2, 5, pre_norm=pre_norm, **more)
    if not pre_norm:
        call["x"] *= 0
    return call


@draws(LAYER_DROPS, "5e-2-basic")
def dropping_pre_norm(rng):
    """The attention returns 1 and the feed-forward part 2 for any x."""
    values = {"attn.proj.bias": 1.0, "up.bias": 1.0, "down.weight": 2 / 5 / GELU_OF_1}
    return [dropping(rng, True, values)]


@draws(LAYER_DROPS, "5e-7-basic", "5e-4-hidden")
def dropping_post_norm(rng):
    """One part returns 1, and everything else is 0."""
    return [
        (dropping(rng, False, {"attn.proj.bias": 1.0}), ", whose attention returns 1 everywhere"),
        (dropping(rng, False, {"down.bias": 1.0}), ", whose feed-forward part returns 1"),
    ]


def draw_config(rng, large: bool, **more) -> dict:
    """Draw distinct sizes of an encoder."""
    drawn = {"vocab_size": 9, "max_len": 7, "n_classes": 6, "n_embd": 4, "n_head": 2, "n_hidden": 5}
    if large:
        n_head, head_dim = int(rng.choice([3, 5])), int(rng.choice([2, 4]))
        drawn = {"vocab_size": 13, "max_len": 11, "n_classes": 6, "n_hidden": 17}
        drawn |= {"n_embd": n_head * head_dim, "n_head": n_head}
    fixed = {"positions": "sinusoidal", "pooling": "mean", "pre_norm": True, "dropout": 0.0}
    return {**drawn, **fixed, "n_layer": 2, **more}


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


def encoder(rng, config: dict, idx: np.ndarray, **more) -> dict:
    """Draw the inputs of a call of Encoder. more: replaces any of them."""
    drawn = {"config": config, "idx": idx, "train": False, "seed": draw_seed(rng), "values": {}}
    return {**drawn, "upstream": None, **more}


@draws(ENCODER, "5e-3-basic")
def encoders(rng):
    """The defaults, with PAD at the end; sentences shorter than max_len and of that length;
    gradients.
    """
    plain = draw_config(rng, False)
    one = {**plain, "n_layer": 1, "n_embd": 6, "n_head": 3}
    upstream = rng.standard_normal((2, plain["n_classes"]))
    return [
        encoder(rng, plain, draw_tokens(rng, plain, 3, 5)),
        encoder(rng, one, draw_tokens(rng, one, 4, 7)),
        encoder(rng, one, draw_tokens(rng, one, 2, 6), upstream=upstream),
    ]


@draws(ENCODER, "5e-7-basic", "5e-4-hidden")
def post_norm_encoders(rng, large):
    """Three layers."""
    config = draw_config(rng, large, pre_norm=False, n_layer=3)
    calls = [encoder(rng, config, draw_tokens(rng, config, 3, 5))]
    if large:
        each = {**config, "pooling": "none"}
        calls.append(encoder(rng, each, draw_tokens(rng, each, 4, 9)))
    return calls


@draws(ENCODER, "5e-5-hidden")
def appended(rng):
    """Each pooling; with the same weights, more PAD at the end."""
    calls = []
    for pooling in ("mean", "cls", "none"):
        positions = str(rng.choice(["sinusoidal", "learned"]))
        config = draw_config(rng, True, pooling=pooling, positions=positions)
        idx = draw_tokens(rng, config, 5, 8)
        call = encoder(rng, config, idx)
        calls += [call, {**call, "idx": np.pad(idx, ((0, 0), (0, 3)))}]
    return calls


@draws(ENCODER, "5e-8-basic", "5e-6-hidden")
def options(rng, large):
    """Poolings, learned positions and none; gradients; dropout only in the layers."""
    choices = [("learned", "mean", True), ("none", "cls", True), ("learned", "none", True)]
    if large:
        choices = [*choices[:2], ("learned", "none", False), ("sinusoidal", "mean", True)]
    calls = []
    for positions, pooling, pre_norm in choices:
        config = draw_config(rng, large, positions=positions, pooling=pooling, pre_norm=pre_norm)
        config |= {} if large else {"n_layer": 1, "n_classes": 3}
        B, T, classes = 3, int(rng.integers(4, config["max_len"])), config["n_classes"]
        idx = draw_tokens(rng, config, B, T)
        calls.append(encoder(rng, config, idx))
        if large:
            # The differentiated sum has no vector at PAD: an untrained embedding of PAD
            # (padding_idx) is also right.
            upstream = rng.standard_normal((B, T, classes)) * (idx != 0)[:, :, None]
            upstream = upstream if pooling == "none" else upstream[:, 0]
            calls.append(encoder(rng, config, idx, upstream=upstream))
            calls.append(encoder(rng, config, idx[:1, :1]))
    config = draw_config(rng, large, dropout=draw_rate(rng))
    silent = dict.fromkeys(("attn.proj.weight", "attn.proj.bias", "down.weight", "down.bias"), 0.0)
    idx = draw_tokens(rng, config, 3, 5)
    return [*calls, encoder(rng, config, idx, train=True, values=silent)]


@draws(ENCODER, "5e-10-basic", "5e-11-hidden")
def rare_tokens(rng, large):
    """PAD anywhere, also in front; a row of only PAD; inputs that are too long, and options that
    do not exist.
    """
    calls, T = [], 8 if large else 5
    for pooling in ("mean", "cls", "none"):
        positions = str(rng.choice(["sinusoidal", "learned"]))
        config = draw_config(rng, large, pooling=pooling, positions=positions, n_layer=1)
        idx = draw_tokens(rng, config, 4, T, anywhere=True)
        idx[1:, 0] = 0 if pooling != "cls" else rng.integers(1, config["vocab_size"], 3)
        idx[2] = 0
        calls.append(encoder(rng, config, idx))
    # Without positions, a word's place does not matter, and position 0 is PAD in both rows.
    config = draw_config(rng, large, pooling="cls", positions="none", n_layer=1)
    words = rng.permutation(np.arange(1, config["vocab_size"]))[: T - 1]
    swapped = np.array([[0, *words], [0, *words[::-1]]])
    calls.append((encoder(rng, config, swapped), ", whose rows have PAD, then the same words"))
    longest = config["max_len"]
    long = [encoder(rng, config, np.ones((1, longest + more), int)) for more in (0, 1, 9)]
    others = [{"positions": "rotary"}, {"pooling": "max"}]
    return calls + long + [encoder(rng, {**config, **other}, idx) for other in others]
