"""The whole model in float64 with NumPy: the output of a GPT with known weights."""

import math

import numpy as np

from instructor.checks.reference import attention, erf


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
) -> np.ndarray:
    """Return the logits (B, T, V) for tokens (B, T), with the `rotated` ones of q, k and v, and
    learned positions or none.
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
        x = x + attention(_norm(x, weights, block + "ln1"), own, n_head, rotated)
        hidden = _norm(x, weights, block + "ln2") @ weights[block + "mlp.0.weight"].T
        hidden = hidden + weights[block + "mlp.0.bias"]
        hidden = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
        x = x + hidden @ weights[block + "mlp.2.weight"].T + weights[block + "mlp.2.bias"]
    return _norm(x, weights, "ln_f") @ weights["head.weight"].T
