"""Counts (question 6a) and positions (6c)."""

from right import read

RIGHT = read(r'''
=== loops: exp, columns in a loop, Kronecker products, RoPE one by one; counts by named tuples
--- frequencies
if d_model <= 0 or d_model % 2 != 0:
    raise ValueError("d_model")
return np.exp(-np.log(10000.0) * np.arange(0, d_model, 2) / d_model)
--- sinusoidal
if max_length < 0:
    raise ValueError("max_length")
table = np.zeros((max_length, d_model if d_model > 0 else 0))
for i, w in enumerate(frequencies(d_model)):
    table[:, 2 * i] = np.sin(np.arange(max_length) * w)
    table[:, 2 * i + 1] = np.cos(np.arange(max_length) * w)
return table
--- sinusoidal_at
p = np.array(positions, dtype=float).reshape(-1, 1)
w = np.repeat(frequencies(d_model), 2)
return np.where(np.arange(d_model) % 2 == 0, np.sin(p * w), np.cos(p * w))
--- shift_matrix
w = frequencies(d_model)
same, turn = np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]])
return np.kron(np.diag(np.cos(k * w)), same) + np.kron(np.diag(np.sin(k * w)), turn)
--- rope_scores
if any(p < 0 for p in [*query_positions, *key_positions]) or not 0 < len(query_positions) == len(
    key_positions
):
    raise ValueError("negative, none, or not as many")
result = q.new_empty(len(query_positions))
for j, (m, n) in enumerate(zip(query_positions, key_positions)):
    table = precompute_rotary_emb(q.numel(), max(m, n) + 1)
    a = apply_rotary_emb(q.view(1, 1, 1, -1), table[m:m + 1])
    b = apply_rotary_emb(k.view(1, 1, 1, -1), table[n:n + 1])
    result[j] = torch.dot(a.flatten(), b.flatten())
return result
--- alibi_bias
if min(n_head, T) <= 0:
    raise ValueError("n_head or T")
bias = np.zeros((n_head, T, T))
for h in range(n_head):
    m = 2 ** (-8 * (h + 1) / n_head)
    for i in range(T):
        for j in range(T):
            bias[h, i, j] = -m * abs(i - j)
return bias
--- interpolated_positions
for length in (T, trained_length):
    if length < 1:
        raise ValueError(f"{length} positions")
positions = np.arange(T, dtype=np.float64)
if T > trained_length:
    positions *= trained_length / T
return positions
--- accounting.py: BYTES = {
import math
from typing import NamedTuple


class Shape(NamedTuple):
    inputs: int
    outputs: int


BYTES = {
--- require_sizes
for size in sizes.values():
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise ValueError(f"{sizes} are no sizes")
width, heads = sizes.get("d_model"), sizes.get("n_head")
if width is not None and heads is not None and width // heads * heads != width:
    raise ValueError("heads of different widths")
--- layer_parameters
if type(d_ff) is not int or d_ff < 1:
    raise ValueError("d_ff")
head_dim(d_model, n_head)
linear = lambda fan_in, fan_out: fan_in * fan_out + (fan_out if bias else 0)       # noqa: E731
norms = 4 * d_model if bias else 2 * d_model
return 4 * linear(d_model, d_model) + linear(d_model, d_ff) + linear(d_ff, d_model) + norms
--- multiply_adds
w = head_dim(d_model, n_head)
require_sizes(d_ff=d_ff, seq_len=seq_len)
product = lambda m, k, n: m * k * n       # noqa: E731
one = n_head * 3 * product(seq_len, d_model, w) + product(seq_len, d_model, d_model)
two = (
    sum(product(seq_len, w, seq_len) for _ in range(n_head))
    if n_head < 100
    else n_head * product(seq_len, w, seq_len)
)
three = n_head * product(seq_len, seq_len, w)
four = product(seq_len, d_model, d_ff) + product(seq_len, d_ff, d_model)
return dict(
    total=one + two + three + four,
    projections=one,
    scores=two,
    weighted_sum=three,
    feed_forward=four,
)
--- kv_cache_bytes
sizes = [n_layer, d_model, n_head, seq_len, batch] + ([n_kv_head] if n_kv_head is not None else [])
if any(type(size) is not int for size in sizes) or min(sizes) < 1:
    raise ValueError(f"sizes must be positive integers: {sizes}")
groups = n_head if n_kv_head is None else n_kv_head
if d_model % n_head or n_head % groups:
    raise ValueError("not divisible")
try:
    per_number = BYTES[dtype]
except KeyError:
    raise ValueError(f"unknown dtype {dtype}") from None
per_token = n_layer * 2 * (d_model * groups // n_head) * per_number
return batch * seq_len * per_token
--- weight_shapes
require_sizes(d_model=d_model, n_head=n_head)
shapes = {f"{name}_head": Shape(d_model, d_model // n_head) for name in ("query", "key", "value")}
return shapes | dict.fromkeys(("query", "key", "value", "output"), Shape(d_model, d_model))
--- score_count
return math.prod(score_shape(n_head, seq_len))
--- flops
products = multiply_adds(d_model, n_head, d_ff, seq_len)
del products["total"]
result = {name: count + count for name, count in products.items()}
result["softmax"] = sum(
    math.prod(score_shape(n_head, seq_len)) for operation in ("exponential", "sum", "division")
)
return {"total": sum(result.values()), **result}
--- model_flops
require_sizes(n_layer=n_layer, vocab_size=vocab_size)
layer = flops(d_model, n_head, d_ff, seq_len)
return n_layer * sum(count for name, count in layer.items() if name != "total") + math.prod(
    (2, seq_len, d_model, vocab_size)
)
--- model_parameters
require_sizes(
    n_layer=n_layer,
    d_model=d_model,
    n_head=n_head,
    d_ff=d_ff,
    vocab_size=vocab_size,
    block_size=block_size,
)
matrix = vocab_size * d_model
total = matrix if tied else 2 * matrix
if learned_positions:
    total += block_size * d_model
total += d_model + (d_model if bias else 0)
return total + n_layer * layer_parameters(d_model, n_head, d_ff, bias=bias)
=== positions_complex: a pair is a complex number; RoPE rotates whole sequences
--- sinusoidal_at
turn = np.exp(1j * np.asarray(positions, dtype=np.float64)[:, None] * frequencies(d_model)[None, :])
return (
    np.stack((turn.imag, turn.real), axis=2).reshape(-1, d_model)
    if len(turn)
    else np.zeros((0, d_model))
)
--- shift_matrix
w = (
    k / (10000.0 ** (np.arange(0, d_model, 2) / d_model))
    if frequencies(d_model) is not None
    else None
)
blocks = np.array([[np.cos(w), -np.sin(w)], [np.sin(w), np.cos(w)]]).transpose(2, 0, 1)
M = np.zeros((d_model // 2, 2, d_model // 2, 2))
M[np.arange(d_model // 2), :, np.arange(d_model // 2), :] = blocks
return M.reshape(d_model, d_model)
--- rope_scores
both = torch.tensor(
    [list(query_positions), list(key_positions)]
)  # lists of unequal lengths are a ValueError here
if both.numel() == 0 or both.min() < 0:
    raise ValueError("no position, or a negative one")
length = int(both.max()) + 1
table = precompute_rotary_emb(q.shape[0], length)
everywhere = torch.stack((q, k.to(q))).view(1, 2, 1, -1).repeat(1, 1, length, 1)
a, b = apply_rotary_emb(everywhere, table)[0]
return torch.einsum("pd,pd->p", a[both[0]], b[both[1]])
--- alibi_bias
if not (n_head > 0 and T > 0):
    raise ValueError((n_head, T))
slope = np.power(2.0, -8.0 / n_head) ** np.arange(1, n_head + 1)
i = np.arange(T)
return np.einsum("h,ij->hij", slope, -1.0 * abs(np.subtract.outer(i, i)))
=== positions_by_rows: RoPE rotates rows of a table, whose products are matrix products
--- rope_scores
if len(query_positions) != len(key_positions):
    raise ValueError("not as many")
if min(min(query_positions), min(key_positions)) < 0:  # min raises ValueError where there are none
    raise ValueError("negative position")
table = precompute_rotary_emb(q.size(0), 1 + max(max(query_positions), max(key_positions)))

def rotate(x, p):
    rows = x[None, None, None].expand(1, 1, len(p), x.size(0))
    return apply_rotary_emb(rows, table[torch.tensor(p)]).squeeze(0).squeeze(0)

return (rotate(q, query_positions)[:, None] @ rotate(k, key_positions)[:, :, None]).flatten()
''')
