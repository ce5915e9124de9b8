"""The encoder of problem 5 in float64 with NumPy, with the handout's names, and the known mistakes
in it.

Weights are a dict of arrays, named as in a state_dict: "qkv.weight", "layers.0.norm1.bias", ...
Mistakes are keyword arguments, so that a check can compute the result of a wrong formula.
"""

import math
from collections.abc import Callable

import numpy as np

from instructor.checks.reference import angles, erf

PAD = 0


def of(weights: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the weights of a part, by their names inside it."""
    return {
        name.removeprefix(prefix + "."): value
        for name, value in weights.items()
        if name.startswith(prefix + ".")
    }


def attention_shapes(n_embd: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of MultiHeadAttention's parameters."""
    return {
        "qkv.weight": (3 * n_embd, n_embd),
        "qkv.bias": (3 * n_embd,),
        "proj.weight": (n_embd, n_embd),
        "proj.bias": (n_embd,),
    }


def layer_shapes(n_embd: int, n_hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of EncoderLayer's parameters."""
    shapes = {f"attn.{name}": shape for name, shape in attention_shapes(n_embd).items()}
    shapes |= {f"norm{n}.{part}": (n_embd,) for n in (1, 2) for part in ("weight", "bias")}
    return shapes | {
        "up.weight": (n_hidden, n_embd),
        "up.bias": (n_hidden,),
        "down.weight": (n_embd, n_hidden),
        "down.bias": (n_embd,),
    }


def encoder_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Return the shapes of Encoder's parameters; `config` has all fields of EncoderConfig."""
    n_embd = config["n_embd"]
    shapes = {"tok_emb.weight": (config["vocab_size"], n_embd)}
    if config["positions"] == "learned":
        shapes["pos_emb.weight"] = (config["max_len"], n_embd)
    for i in range(config["n_layer"]):
        shapes |= {
            f"layers.{i}.{name}": shape
            for name, shape in layer_shapes(n_embd, config["n_hidden"]).items()
        }
    if config["pre_norm"]:
        shapes |= {"norm.weight": (n_embd,), "norm.bias": (n_embd,)}
    return shapes | {
        "head.weight": (config["n_classes"], n_embd),
        "head.bias": (config["n_classes"],),
    }


def draw(rng, shapes: dict[str, tuple[int, ...]], scale: float = 0.3) -> dict[str, np.ndarray]:
    """Draw random float32 weights with standard deviation `scale`: mean 1 if they scale a
    normalized vector, else 0.
    """

    def is_gain(name):
        return name.split(".")[-2][:4] == "norm" and name.endswith("weight")

    return {
        name: (scale * rng.standard_normal(shape) + is_gain(name)).astype(np.float32)
        for name, shape in shapes.items()
    }


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the weights for scores; zeros where all scores along the axis are -inf."""
    top = scores.max(axis=axis, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def multi_head(
    x: np.ndarray,
    weights: dict[str, np.ndarray],
    n_head: int,
    padding: np.ndarray | None = None,
    *,
    order: str = "qkv",
    split: str = "blocks",
    join: str = "blocks",
    divisor: float | None = None,
    axis: int = -1,
    hide: str = "keys",
    fill: float = -np.inf,
    causal: bool = False,
    project: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute multi-head attention, (B, T, C) -> (B, T, C), and the weights, (B, n_head, T, T).

    Args:
        x: float64. weights: of "qkv" and "proj". padding: boolean, (B, T).

    The other arguments are for mistakes. order: the meaning of the three thirds of qkv's output.
    split, join: "blocks" of features for each head; "view", without a transpose; "features", with
    the head's index varying fastest; "each", with each head's queries, keys and values side by
    side. divisor: of the scores. axis: of the softmax. hide: which scores padding hides; fill:
    their value.
    """
    B, T, C = x.shape
    d = C // n_head
    heads = x @ weights["qkv.weight"].T + weights["qkv.bias"]
    if split == "each":
        parts = heads.reshape(B, T, n_head, 3, d).transpose(3, 0, 2, 1, 4)
    else:
        parts = [_split(heads[..., i * C : (i + 1) * C], n_head, split) for i in range(3)]
    q, k, v = (parts[order.index(letter)] for letter in "qkv")
    scores = q @ k.swapaxes(-1, -2) / (math.sqrt(d) if divisor is None else divisor)
    padding = np.zeros((B, T), bool) if padding is None else padding
    keys, queries = padding[:, None, None, :], padding[:, None, :, None]
    hidden = {"keys": keys, "other": ~keys, "queries": queries, "both": keys | queries}.get(
        hide, np.zeros_like(keys)
    )
    if causal:
        hidden = hidden | np.triu(np.ones((T, T), bool), 1)
    if hide == "zeros":  # the scores are multiplied by the mask
        scores = np.where(keys, 0.0, scores)
    if hide == "rows":
        scores = np.where(queries, 0.0, scores)
    attended = softmax(np.where(hidden, fill, scores), axis)
    if hide == "after":  # rows no longer sum to 1
        attended = np.where(keys, 0.0, attended)
    y = attended @ v
    if join == "view":
        y = y.reshape(B, T, C)
    else:
        y = y.transpose((0, 2, 3, 1) if join == "features" else (0, 2, 1, 3)).reshape(B, T, C)
    return (y @ weights["proj.weight"].T + weights["proj.bias"] if project else y), attended


def _split(features, n_head, how):
    """(B, T, C) -> (B, n_head, T, C / n_head)."""
    B, T, C = features.shape
    if how == "view":
        return features.reshape(B, n_head, T, C // n_head)
    if how == "features":
        return features.reshape(B, T, C // n_head, n_head).transpose(0, 3, 1, 2)
    return features.reshape(B, T, n_head, C // n_head).transpose(0, 2, 1, 3)


def layer_norm(x: np.ndarray, weights: dict[str, np.ndarray], eps: float = 1e-5) -> np.ndarray:
    """Compute LayerNorm with "weight" and "bias", (..., C) -> the same."""
    centered = x - x.mean(axis=-1, keepdims=True)
    return (
        centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps) * weights["weight"]
        + weights["bias"]
    )


def gelu(x: np.ndarray) -> np.ndarray:
    """Compute the exact GELU."""
    return x * (1 + erf(x / math.sqrt(2))) / 2


def layer(
    x: np.ndarray,
    weights: dict[str, np.ndarray],
    n_head: int,
    padding: np.ndarray | None = None,
    pre_norm: bool = True,
    *,
    residual: str = "12",
    start: str = "",
    norms: str = "12",
    also: str = "",
    act=gelu,
    attention: dict | None = None,
    maps: list | None = None,
) -> np.ndarray:
    """Compute an encoder layer, (B, T, C) -> the same. The attention weights are appended to maps.

    For mistakes: residual: which of the two sums start from x; start: which of them start from the
    normalized x; norms: the first and second norm ("-": none); also: "norm2" to apply post-norm's
    last norm in pre-norm, too; act: the activation; attention: mistakes of multi_head.
    """

    def norm(place, x):
        return x if norms[place] == "-" else layer_norm(x, of(weights, f"norm{norms[place]}"))

    def attend(x):
        y, attended = multi_head(x, of(weights, "attn"), n_head, padding, **(attention or {}))
        if maps is not None:
            maps.append(attended)
        return y

    def feed_forward(x):
        return (
            act(x @ weights["up.weight"].T + weights["up.bias"]) @ weights["down.weight"].T
            + weights["down.bias"]
        )

    for place, part in enumerate((attend, feed_forward)):
        kept = str(place + 1) in residual
        if pre_norm:
            normed = norm(place, x)
            x = (normed if str(place + 1) in start else x) * kept + part(normed)
        else:
            x = norm(place, x * kept + part(x))
    return layer_norm(x, of(weights, "norm2")) if also == "norm2" else x


def sinusoids(max_len: int, n_embd: int) -> np.ndarray:
    """Compute sinusoidal positions, (max_len, n_embd)."""
    angle = angles(n_embd, max_len)
    return np.stack((np.sin(angle), np.cos(angle)), axis=-1).reshape(max_len, n_embd)


def encode(
    idx: np.ndarray,
    weights: dict[str, np.ndarray],
    config: dict,
    *,
    positions: str | None = None,
    factor: float = 1.0,
    first: int = 0,
    seen: bool = True,
    norm: bool | None = None,
    pooling: str | None = None,
    is_pad: Callable[[np.ndarray], np.ndarray] = lambda idx: idx == PAD,
    **mistakes,
) -> np.ndarray:
    """Compute the encoder's logits for tokens (B, T).

    Args:
        weights: float64, by the names of encoder_shapes.
        config: all fields of EncoderConfig.

    For mistakes: positions and pooling instead of the config's; factor: of the token embeddings;
    first: the first position; seen: whether the layers get the padding mask; norm: whether there is
    a last norm; is_pad: which tokens are treated as padding; the others, and maps, are those of
    `layer`.
    """
    T, n_embd = idx.shape[1], config["n_embd"]
    padding = is_pad(idx)
    x = factor * weights["tok_emb.weight"][idx]
    table = {
        "learned": lambda: weights["pos_emb.weight"],
        "sinusoidal": lambda: sinusoids(first + T, n_embd),
        "none": lambda: np.zeros((first + T, 1)),
    }
    x = x + table[positions or config["positions"]]()[first : first + T]
    for i in range(config["n_layer"]):
        x = layer(
            x,
            of(weights, f"layers.{i}"),
            config["n_head"],
            padding if seen else None,
            **{"pre_norm": config["pre_norm"], **mistakes},
        )
    if config["pre_norm"] if norm is None else norm:
        x = layer_norm(x, of(weights, "norm"))
    x = pool(x, padding, pooling or config["pooling"])
    return x @ weights["head.weight"].T + weights["head.bias"]


def pool(x: np.ndarray, padding: np.ndarray, how: str) -> np.ndarray:
    """Pool (B, T, C) -> (B, C), or return x unchanged for "none". All other ways but "mean" and
    "cls" are known mistakes.
    """
    real = np.where(padding[..., None], 0.0, x)
    count = np.maximum((~padding).sum(axis=1, keepdims=True), 1)
    ways = {
        "mean": lambda: real.sum(axis=1) / count,
        "cls": lambda: x[:, 0],
        "none": lambda: x,
        "all": lambda: x.mean(axis=1),
        "length": lambda: real.mean(axis=1),
        "counted": lambda: x.sum(axis=1) / count,
        "sum": lambda: real.sum(axis=1),
        "last": lambda: x[:, -1],
        "max": lambda: np.where(padding[..., None], -1e9, x).max(axis=1),
        "maximum": lambda: x.max(axis=1),
    }
    return ways[how]()
