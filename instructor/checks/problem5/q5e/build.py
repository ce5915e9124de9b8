"""Builds cases of question 5e: calls of the encoder and its parts, with their results."""

import numpy as np

from checks.support.cases import Case
from instructor.checks.problem5.encoder import (
    draw,
    encode,
    encoder_shapes,
    gelu,
    layer,
    layer_norm,
    layer_shapes,
    multi_head,
    of,
    sinusoids,
)
from instructor.checks.problem5.q5e.head_mistakes import brief, floats, short
from instructor.checks.problem5.q5e.mistakes import encoder_mistakes, layer_mistakes
from instructor.checks.problem5.q5e.norm_mistakes import norm_mistakes
from instructor.checks.problem5.slopes import slopes


def norm_case(
    rng,
    x: np.ndarray,
    mistakes: bool = False,
    cause: str | None = None,
    large: bool = False,
    **more,
) -> Case:
    """Make a case of LayerNorm with random weights.

    Args:
        mistakes: whether to include known mistakes.
        cause: the likely cause if no mistake is recognized.
        large: all entries are large, so that rounding leaves few digits.
        more: replaces any of the inputs. With an `upstream`, the case has slopes of sum(output *
            upstream).
    """
    C = x.shape[-1]
    weights = {"weight": 1 + 0.3 * rng.standard_normal(C), "bias": 0.3 * rng.standard_normal(C)}
    inputs = {
        "n_embd": C,
        "eps": None,
        "dtype": "float32",
        "upstream": None,
        "x": x.astype(np.float32),
    }
    inputs |= {
        "weights": {name: value.astype(np.float32) for name, value in weights.items()},
        **more,
    }
    eps = 1e-5 if inputs["eps"] is None else inputs["eps"]
    x, weights = inputs["x"].astype(float), floats(inputs["weights"])
    right, about = {"y": layer_norm(x, weights, eps)}, {"cause": cause, "large": large}
    if inputs["upstream"] is not None:

        def number(given):
            return (layer_norm(given["x"], given, eps) * inputs["upstream"]).sum()

        about["slopes"] = slopes({"x": x, **weights}, number, rng)
    known = norm_mistakes(x, weights, eps) if mistakes else []
    return Case(
        inputs, short(right), [(sentence, brief({"y": y}, right)) for sentence, y in known], about
    )


def layer_case(
    rng, B: int, T: int, n_head: int, head_dim: int, n_hidden: int, mistakes: str = "all", **more
) -> Case:
    """Make a case of EncoderLayer with random weights and x.

    Args:
        mistakes: which known mistakes to include, with the parts' results: "all", "masks" or
            "none".
        more: replaces any of the inputs.
    """
    C = n_head * head_dim
    inputs = {
        "n_embd": C,
        "n_head": n_head,
        "n_hidden": n_hidden,
        "dropout": 0.0,
        "pre_norm": True,
        "train": False,
    }
    inputs |= {
        "padding": None,
        "repeat": 1,
        "dtype": "float32",
        "weights": draw(rng, layer_shapes(C, n_hidden)),
    }
    inputs |= {"x": (0.5 + rng.standard_normal((B, T, C))).astype(np.float32), **more}
    x, weights, maps = inputs["x"].astype(float), floats(inputs["weights"]), []
    y = layer(x, weights, n_head, inputs["padding"], inputs["pre_norm"], maps=maps)
    right = {"y": y, "weights": maps[0]}
    normed = layer_norm(x / 100, of(weights, "norm1"))
    attended, plain = multi_head(x, of(weights, "attn"), n_head, inputs["padding"])
    known = layer_mistakes(inputs, x, weights, mistakes)
    wrong = [(sentence, lambda work=work: brief({"y": work()}, right)) for sentence, work in known]
    if mistakes == "all":
        wrong.append(
            (
                "they are those for an input that is not normalized.",
                brief({"weights": plain}, right),
            )
        )
    return Case(inputs, short(right), wrong, {"parts": short({"norm1": normed, "attn": attended})})


def dropping_case(rng, p: float, part: str | None = None) -> Case:
    """Make a case of a layer in training mode whose output shows what it drops: pre-norm, or with a
    `part` post-norm.

    Pre-norm: the attention returns 1 and the feed-forward part 2 for any x. Post-norm: `part`,
    "attention" or "feed-forward part", returns 1, and everything else 0.
    """
    C, n_hidden, T = 6, 5, 5
    weights = {
        name: np.zeros(shape, np.float32) for name, shape in layer_shapes(C, n_hidden).items()
    }
    weights |= {f"norm{n}.weight": np.ones(C, np.float32) for n in (1, 2)}
    more = {
        "dropout": p,
        "train": True,
        "repeat": 112,
        "mistakes": "none",
    }  # 112 * T * C = 3,360 features
    if part is None:
        down = np.full((C, n_hidden), 2 / n_hidden / gelu(np.ones(1))[0], np.float32)
        weights |= {
            "attn.proj.bias": np.ones(C, np.float32),
            "up.bias": np.ones(n_hidden, np.float32),
        }
        weights |= {"down.weight": down}
        case = layer_case(rng, 1, T, 3, 2, n_hidden, weights=weights, **more)
        return Case(case.inputs)
    name = {"attention": "attn.proj.bias", "feed-forward part": "down.bias"}[part]
    weights |= {name: np.ones(C, np.float32)}
    x = np.zeros((1, T, C), np.float32)
    case = layer_case(rng, 1, T, 3, 2, n_hidden, weights=weights, x=x, pre_norm=False, **more)
    return Case(case.inputs, about={"part": part})


def draw_rate(rng) -> float:
    """Draw a dropout rate."""
    return float(rng.choice([0.2, 0.3, 0.4]))


DEFAULTS = {
    "positions": "sinusoidal",
    "pooling": "mean",
    "pre_norm": True,
    "dropout": 0.0,
    "n_layer": 2,
}


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


def draw_scattered(rng, config: dict, B: int, T: int) -> np.ndarray:
    """Draw tokens with PAD anywhere, with one row starting with PAD, and one entirely PAD."""
    idx = draw_tokens(rng, config, B, T, anywhere=True)
    idx[1, 0], idx[2] = 0, 0
    return idx


def encoder_case(rng, idx: np.ndarray, config: dict, mistakes: str = "all", **more) -> Case:
    """Make a case of Encoder with random weights.

    Args:
        config: the sizes, and fields that differ from DEFAULTS.
        mistakes: which known mistakes to include: "all", "own" (those in positions and poolings) or
            "none".
        more: replaces any of the inputs. With an `upstream`, the case has slopes of sum(logits *
            upstream).
    """
    config = {**DEFAULTS, **config}
    inputs = {"config": config, "idx": idx, "train": False, "upstream": None, "dtype": "float32"}
    inputs |= {"weights": draw(rng, encoder_shapes(config)), **more}
    weights, maps = floats(inputs["weights"]), []
    right = {"logits": encode(idx, weights, config, maps=maps)}
    _leave_open(idx == 0, right["logits"], maps, config["pooling"])
    about = {"parts": {}}
    if inputs["upstream"] is not None:

        def number(given):
            return (encode(idx, given, config) * inputs["upstream"]).sum()

        about["slopes"] = slopes(weights, number, rng)
    known = encoder_mistakes(idx, weights, config, mistakes)
    if not inputs["train"]:
        about["parts"] = _parts(idx, weights, config)
    wrong = [
        (sentence, lambda work=work: brief({"logits": work()}, right)) for sentence, work in known
    ]
    kept = [value.astype(np.float32) for value in maps] if mistakes == "all" else []
    return Case(inputs, {**short(right), "weights": kept}, wrong, about)


def _leave_open(padding, logits, maps, pooling):
    """Set the weights and outputs at PAD itself to NaN, which matches anything: nothing depends on
    them.
    """
    for weights in maps:
        weights.swapaxes(1, 2)[padding] = np.nan
    if pooling == "none":
        logits[padding] = np.nan
    elif pooling == "cls":
        logits[padding[:, 0]] = np.nan


def _parts(idx, weights, config):
    """Return the parts' own results for the token embeddings."""
    first, x = of(weights, "layers.0"), weights["tok_emb.weight"][idx]
    n_head, padding = config["n_head"], idx == 0
    parts = {"norm1": layer_norm(x / 100, of(first, "norm1"))}
    parts["attn"] = multi_head(x, of(first, "attn"), n_head, padding)[0]
    parts["layer"] = layer(x, first, n_head, padding, config["pre_norm"])
    if config["positions"] == "sinusoidal":
        parts = {"positions": sinusoids(config["max_len"], config["n_embd"]), **parts}
    return short(parts)


def silent_case(rng, config: dict, B: int, T: int) -> Case:
    """Make a case of an encoder in training mode whose layers return 0, so that their dropout
    changes nothing.
    """
    config = {**DEFAULTS, **config, "dropout": draw_rate(rng)}
    silent = ("attn.proj.weight", "attn.proj.bias", "down.weight", "down.bias")
    weights = draw(rng, encoder_shapes(config))
    weights = {
        name: 0 * value if name.endswith(silent) else value for name, value in weights.items()
    }
    return encoder_case(
        rng, draw_tokens(rng, config, B, T), config, "none", train=True, weights=weights
    )
