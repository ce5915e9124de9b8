"""The whole model in float64 with NumPy, and cases of it: the expected output of a GPT with known
weights.
"""

import math

import numpy as np

from checks.problem1.models import SPREAD
from checks.problem1.random_weights import draw_parameter
from checks.support.cases import Case
from instructor.checks.reference import attention, erf, log_probabilities


def shapes_of(
    vocab_size: int, block_size: int, n_layer: int, n_embd: int, rope: bool
) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of a GPT's parameters."""
    C = n_embd
    shapes = {
        "tok_emb.weight": (vocab_size, C),
        "ln_f.weight": (C,),
        "ln_f.bias": (C,),
        "head.weight": (vocab_size, C),
    }
    if not rope:
        shapes["pos_emb"] = (1, block_size, C)
    for i in range(n_layer):
        block = {f"attn.{name}": shape for name, shape in attention_shapes(C).items()}
        block |= {f"ln{n}.{part}": (C,) for n in (1, 2) for part in ("weight", "bias")}
        block |= {
            "mlp.0.weight": (4 * C, C),
            "mlp.0.bias": (4 * C,),
            "mlp.2.weight": (C, 4 * C),
            "mlp.2.bias": (C,),
        }
        shapes |= {f"blocks.{i}.{name}": shape for name, shape in block.items()}
    return shapes


def attention_shapes(n_embd: int) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of an attention layer's parameters."""
    return {
        f"{name}.{part}": (n_embd, n_embd) if part == "weight" else (n_embd,)
        for name in ("key", "query", "value", "proj")
        for part in ("weight", "bias")
    }


def weights_of(seed: int, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Draw a case's weights from its seed, in float64."""
    return {
        name: draw_parameter.function(seed, name, shape, SPREAD).astype(float)
        for name, shape in shapes.items()
    }


def _norm(x, weights, name):
    centered = x - x.mean(axis=-1, keepdims=True)
    normed = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)
    return normed * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def logits_of(
    tokens: np.ndarray,
    weights: dict[str, np.ndarray],
    n_layer: int,
    n_head: int,
    rotated: str,
    positions: bool,
    softmax_axis: int = -1,
) -> np.ndarray:
    """Return the logits (B, T, V) for tokens (B, T), with the `rotated` ones of q, k and v, and
    learned positions or none (softmax_axis: as in attention).
    """
    x = weights["tok_emb.weight"][tokens]
    if positions:
        x = x + weights["pos_emb"][:, : tokens.shape[1]]
    for i in range(n_layer):
        block = f"blocks.{i}."
        own = {
            name.removeprefix(block + "attn."): value
            for name, value in weights.items()
            if name.startswith(block + "attn.")
        }
        x = x + attention(_norm(x, weights, block + "ln1"), own, n_head, rotated, softmax_axis)
        hidden = _norm(x, weights, block + "ln2") @ weights[block + "mlp.0.weight"].T
        hidden = hidden + weights[block + "mlp.0.bias"]
        hidden = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
        x = x + hidden @ weights[block + "mlp.2.weight"].T + weights[block + "mlp.2.bias"]
    return _norm(x, weights, "ln_f") @ weights["head.weight"].T


def model_case(rng, initialize: str | None, rope: bool) -> Case:
    """Make a case of a model created by a function of helper.py (or GPT itself, for None), with
    distinct sizes, run on random tokens; see `checks.problem1.models`.
    """
    n_head = int(rng.integers(2, 5))
    config = {
        "vocab_size": int(rng.integers(11, 15)),
        "block_size": int(rng.integers(7, 10)),
        "n_layer": 2,
        "n_head": n_head,
        "n_embd": n_head * 2 * int(rng.integers(3, 5)),
        "embd_pdrop": 0.05,
        "resid_pdrop": 0.15,
        "attn_pdrop": 0.25,
    }
    shape = (2, config["block_size"] - int(rng.integers(2, 5)))
    tokens, targets = (rng.integers(0, config["vocab_size"], size=shape) for _ in range(2))
    targets[:, :2] = 0  # padding, which the loss must not count
    targets[:, 2:] = np.maximum(targets[:, 2:], 1)
    seed = int(rng.integers(2**31))
    sizes = {name: config[name] for name in ("vocab_size", "block_size", "n_layer", "n_embd")}
    shapes = shapes_of(**sizes, rope=rope)
    weights = weights_of(seed, shapes_of(**sizes, rope=False))  # learned positions for a mistake

    def logits(rotated, positions, softmax_axis=-1):
        return logits_of(tokens, weights, 2, n_head, rotated, positions, softmax_axis)

    def mistake(*arguments):
        return lambda: {"logits": logits(*arguments)}

    rotated = "qk" if rope else ""
    wrong = [
        (
            "the attention's softmax is over the queries; it should be over the keys.",
            mistake(rotated, not rope, -2),
        )
    ]
    if rope:
        wrong += [
            ("neither queries nor keys are rotated.", mistake("", False)),
            ("the keys are not rotated.", mistake("q", False)),
            ("the queries are not rotated.", mistake("k", False)),
            ("the values are rotated, too.", mistake("qkv", False)),
        ]
    else:
        wrong += [
            ("the learned positions are not added.", mistake("", False)),
            ("queries and keys are rotated, as in the RoPE model.", mistake("qk", True)),
        ]
    right = logits(rotated, not rope)
    losses = -log_probabilities(right, targets)
    about = {"rope": rope, "shapes": shapes, "loss_with_padding": float(losses.mean())}
    inputs = {
        "initialize": initialize,
        "config": config,
        "tokens": tokens,
        "targets": targets,
        "seed": seed,
    }
    answer = {"logits": right, "loss": float(losses[targets != 0].mean())}
    return Case(inputs, answer, wrong, about)
