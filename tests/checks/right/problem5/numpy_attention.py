"""Attention in NumPy and scaling experiments; other roundings by hand."""

import json

from instructor.mistakes.patches import Text
from instructor.release.starter import SOLUTION
from right import read

GIVEN = json.loads((SOLUTION / "problem5" / "hand_attention.json").read_text(encoding="utf-8"))
SORTED = json.dumps(GIVEN, indent=8, sort_keys=True).replace("\n", "\r\n")


def hand(before="", **matrices):
    """The right file with some entries replaced or added, and some text before it."""
    return (Text("hand_attention.json", before + json.dumps({**GIVEN, **matrices})),)


def each(name, change):
    """A matrix with each of its numbers changed."""
    return {name: [[change(x) for x in row] for row in GIVEN[name]]}


HANDS = {
    "numpy_einsum": hand(**each("weights", lambda x: round(x, 3))),
    "numpy_errstate": (Text("hand_attention.json", SORTED),),
    "numpy_float64_within": hand(
        "\ufeff", remark="a byte-order mark first", **each("scores", float)
    ),
    "numpy_sums": hand(**each("output", lambda x: x + 0.0009)),
}
RIGHT = read(r'''
=== numpy_einsum: einsum, a function softmax, the Jacobian's norm by a stable formula
--- numpy_attention.py: import math
import math


def softmax(z, mask=None):
    """Over the last axis; rows without anything are 0."""
    if mask is not None:
        z, mask = np.broadcast_arrays(z, mask)
    seen = True if mask is None else mask
    largest = np.max(z, axis=-1, keepdims=True, initial=-np.inf, where=seen)
    e = np.zeros(z.shape, z.dtype)
    np.exp(np.subtract(z, largest, out=e, where=np.isfinite(largest)), out=e, where=seen)
    if mask is not None:
        e = e * mask
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)

--- attention
if not all(x.dtype == np.float32 for x in (Q, K, V)):
    Q, K, V = Q.astype(float), K.astype(float), V.astype(float)
if Q.shape[-1] != K.shape[-1] or K.shape[-2] != V.shape[-2]:
    raise ValueError(f"shapes do not fit: {Q.shape}, {K.shape}, {V.shape}")
z = np.einsum("...qd,...kd->...qk", Q, K) * Q.shape[-1] ** -0.5
output = np.einsum("...qk,...kv->...qv", softmax(z, mask), V)
--- scaling_experiment
rng = np.random.default_rng(seed)
q = rng.standard_normal((n_query, d_k))
k = rng.standard_normal((n_key, d_k))
for label, factor in [("unscaled", 1), ("scaled", 1 / math.sqrt(d_k))]:
    z = factor * (q @ k.transpose())
    z0 = z - z.max(axis=1).reshape(-1, 1)
    e = np.exp(z0)
    s = e.sum(axis=1)
    p = e / s.reshape(-1, 1)
    # ln p = z0 - ln s is finite even where p is 0.
    entropy = -(p * (z0 - np.log(s)[:, None])).sum(axis=1)
    p2 = p ** 2
    squares = (p2 * (1 - p) ** 2).sum(axis=1) + (
        p2 * (p2.sum(axis=1, keepdims=True) - p2).clip(0)
    ).sum(axis=1)
    result[label] = {
        "variance": float(np.mean(z**2) - np.mean(z) ** 2),
        "entropy": float(np.mean(entropy)),
        "saturation": float(sum(p.max(axis=1) > 0.9)) / n_query,
        "gradient_norm": float(np.median(np.sqrt(squares))),
    }
=== numpy_errstate: infinities are let be, NaN mended at the end; a loop over queries
--- attention
kind = {x.dtype for x in (Q, K, V)}
kind = np.float32 if kind == {np.dtype("float32")} else np.float64
with np.errstate(all="ignore"):
    scores = np.matmul(Q.astype(kind), K.astype(kind).swapaxes(-2, -1)) / kind(
        math.sqrt(K.shape[-1])
    )
    if mask is not None:
        scores = np.where(mask, scores, kind(-np.inf))
    scores = scores - scores.max(-1, keepdims=True)
    weights = np.exp(scores)
    weights = np.nan_to_num(weights / weights.sum(-1, keepdims=True))
output = np.matmul(weights, V.astype(kind))
--- scaling_experiment
rng = np.random.default_rng(seed)
q, k = (rng.standard_normal(size=(n, d_k)) for n in (n_query, n_key))
for scaled in (True, False):
    rows = []
    z = np.inner(q, k)
    if scaled:
        z = z / math.sqrt(d_k)
    for row in z:
        e = np.exp(row - max(row))
        p = e / sum(e)
        h = -sum(x * math.log(x) for x in p if x > 0)
        J = np.diag(p) - np.outer(p, p)
        rows.append((h, max(p) > 0.9, np.linalg.norm(J)))
    h, s, g = zip(*rows)
    result["scaled" if scaled else "unscaled"] = {
        "saturation": sum(map(int, s)) / len(s),
        "gradient_norm": float(np.median(g)),
        "entropy": sum(h) / len(h),
        "variance": np.var(z).item(),
    }
=== numpy_float64_within: float64 within; a mask of numbers multiplies the exponentials
--- attention
out_type = np.float32 if (Q.dtype, K.dtype, V.dtype) == (np.float32,) * 3 else np.float64
q = np.array(Q, dtype=np.float64) / Q.shape[-1] ** 0.25
k = np.array(K, dtype=np.float64) / K.shape[-1] ** 0.25
z = q @ np.moveaxis(k, -1, -2)
keep = np.ones((1, 1)) if mask is None else mask.astype(np.float64)
z, keep = np.broadcast_arrays(z, keep)
low = z.min() - 1
m = np.amax(np.where(keep > 0, z, low), axis=-1)[..., None]
e = keep * np.exp(np.minimum(z - m, 0))
output = (
    e @ V.astype(np.float64) / np.maximum(e.sum(-1), np.finfo(np.float64).tiny)[..., None]
).astype(out_type)
--- scaling_experiment
random = np.random.default_rng(seed)
Q = random.standard_normal((n_query, d_k)); K = random.standard_normal((n_key, d_k))

def describe(S):
    W = np.exp(S - np.logaddexp.reduce(S, axis=1, keepdims=True))
    safe = W[W > 0]
    return {
        "variance": float(np.var(S)),
        "entropy": -float((safe * np.log(safe)).sum()) / n_query,
        "saturation": float(np.mean(np.any(W > 0.9, axis=1))),
        "gradient_norm": float(
            np.median([np.linalg.norm(np.diagflat(w) - w[:, None] * w, "fro") for w in W])
        ),
    }

return {"unscaled": describe(Q @ K.T), "scaled": describe(Q @ K.T / np.sqrt(d_k))}
=== numpy_weights_function: a function of weights; empty rows attend to all until the end
--- numpy_attention.py: import numpy as np
import numpy as np


def attention_weights(Q, K, mask):
    """(..., L_q, L_k)."""
    K_t = K.transpose(*range(K.ndim - 2), K.ndim - 1, K.ndim - 2)
    logits = (Q / math.sqrt(Q.shape[-1])) @ K_t
    if mask is None:
        mask = np.array([[True]])
    nothing = np.logical_not(mask.any(axis=-1, keepdims=True)) if mask.ndim else ~mask
    logits = np.where(np.logical_or(mask, nothing), logits, -math.inf)
    logits = logits - np.max(logits, axis=-1, keepdims=True)
    exponentials = np.exp(logits)
    weights = exponentials / np.sum(exponentials, axis=-1, keepdims=True)
    return np.where(nothing, 0, weights).astype(logits.dtype)
--- attention
arrays = [np.asarray(a) for a in (Q, K, V)]
common = np.dtype("float32" if all(x.dtype == np.float32 for x in arrays) else float)
Q, K, V = [a.astype(common) for a in arrays]
output = attention_weights(Q, K, mask) @ V
=== numpy_sums: products are sums over a broadcast axis; the experiment draws twice
--- attention
float32 = Q.dtype == K.dtype == V.dtype == np.float32
Q, K, V = (np.array(x, np.float32 if float32 else np.float64) for x in (Q, K, V))
if Q.shape[-1] != K.shape[-1]:
    raise ValueError("Q and K have different widths")
if K.shape[-2] != V.shape[-2]:
    raise ValueError("K and V have different lengths")
scores = (Q[..., :, None, :] * K[..., None, :, :]).sum(axis=-1)
scores /= math.sqrt(Q.shape[-1])
if mask is not None:
    shape = np.broadcast_shapes(scores.shape, mask.shape)
    scores = np.broadcast_to(scores, shape).copy()
    scores[~np.broadcast_to(mask, shape)] = -np.inf
top = scores.max(axis=-1, keepdims=True)
top[top == -np.inf] = 0
scores -= top
np.exp(scores, out=scores)
total = scores.sum(axis=-1, keepdims=True)
total[total == 0] = 1
scores /= total
output = (scores[..., None] * V[..., None, :, :]).sum(axis=-2)
--- scaling_experiment
def one(divide):
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((n_query, d_k))
    k = rng.standard_normal((n_key, d_k))
    if divide:
        q /= np.sqrt(d_k)
    scores = q @ k.T
    p = np.exp(scores - np.max(scores, 1)[:, None])
    p = (p.T / p.sum(1)).T
    tiny = np.finfo(float).tiny
    norms = []
    for start in range(0, n_query, 100):
        part = p[start:start + 100]
        J = np.apply_along_axis(np.diag, 1, part) - np.einsum("bi,bj->bij", part, part)
        norms.extend(np.sqrt(np.square(J).reshape(len(part), -1).sum(1)))
    return {
        "variance": scores.var(),
        "entropy": -(p * np.log(p + tiny)).sum(1).mean(),
        "saturation": (p > 0.9).any(1).mean(),
        "gradient_norm": np.median(norms),
    }

result["unscaled"], result["scaled"] = one(False), one(True)
''', **HANDS)
