"""The whole model in float64 with NumPy, by the names of the interface: what the judge computes itself, with weights that it knows."""
import math

import numpy as np

from checks.reference import attention


def shapes_of(vocab_size: int, block_size: int, n_layer: int, n_embd: int, rope: bool) -> dict[str, tuple[int, ...]]:
    """The parameters of a GPT, and their shapes."""
    C = n_embd
    shapes = {"tok_emb.weight": (vocab_size, C), "ln_f.weight": (C,), "ln_f.bias": (C,), "head.weight": (vocab_size, C)}
    if not rope:
        shapes["pos_emb"] = (1, block_size, C)
    for i in range(n_layer):
        block = {f"attn.{name}.weight": (C, C) for name in ("key", "query", "value", "proj")}
        block |= {f"attn.{name}.bias": (C,) for name in ("key", "query", "value", "proj")}
        block |= {f"ln{n}.{part}": (C,) for n in (1, 2) for part in ("weight", "bias")}
        block |= {"mlp.0.weight": (4 * C, C), "mlp.0.bias": (4 * C,), "mlp.2.weight": (C, 4 * C), "mlp.2.bias": (C,)}
        shapes |= {f"blocks.{i}.{name}": shape for name, shape in block.items()}
    return shapes


def draw_weights(rng, shapes: dict[str, tuple[int, ...]], scale: float) -> dict[str, np.ndarray]:
    """Random float32 weights of that standard deviation, around 1 where they scale a normalised vector, around 0 elsewhere."""
    return {name: (scale * rng.standard_normal(shape) + (".ln" in "." + name and name.endswith("weight"))).astype(np.float32)
            for name, shape in shapes.items()}


def _norm(x, weights, name):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


_erf = np.vectorize(math.erf)


def logits_of(tokens: np.ndarray, weights: dict[str, np.ndarray], n_layer: int, n_head: int, rotated: str, positions: bool,
              softmax_axis: int = -1) -> np.ndarray:
    """The logits (B, T, V) for tokens (B, T), with `rotated` of q, k and v, and with learned positions or none (softmax_axis: as in
    attention)."""
    weights = {name: value.astype(float) for name, value in weights.items()}
    x = weights["tok_emb.weight"][tokens]
    if positions:
        x = x + weights["pos_emb"][:, :tokens.shape[1]]
    for i in range(n_layer):
        block = f"blocks.{i}."
        own = {name.removeprefix(block + "attn."): value for name, value in weights.items() if name.startswith(block + "attn.")}
        x = x + attention(_norm(x, weights, block + "ln1"), own, n_head, rotated, softmax_axis)
        hidden = _norm(x, weights, block + "ln2") @ weights[block + "mlp.0.weight"].T + weights[block + "mlp.0.bias"]
        hidden = hidden * (1 + _erf(hidden / math.sqrt(2))) / 2
        x = x + hidden @ weights[block + "mlp.2.weight"].T + weights[block + "mlp.2.bias"]
    return _norm(x, weights, "ln_f") @ weights["head.weight"].T


def log_probabilities(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Those of the targets (...), for logits (..., V)."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    shifted = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.take_along_axis(shifted, targets[..., None], axis=-1)[..., 0]
