"""Right counts that look different (question 6a)."""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right("accounting_otherwise", "Functions check for themselves, and write sums in another order; "
          "shapes are named tuples, and counts come from math.prod.", (
        Edit("accounting.py", 'BYTES = {', '''import math
from typing import NamedTuple


class Shape(NamedTuple):
    inputs: int
    outputs: int


BYTES = {'''),
        Fill("require_sizes", '''
for size in sizes.values():
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise ValueError(f"{sizes} are no sizes")
width, heads = sizes.get("d_model"), sizes.get("n_head")
if width is not None and heads is not None and width // heads * heads != width:
    raise ValueError("heads of different widths")
'''),
        Fill("layer_parameters", '''
if type(d_ff) is not int or d_ff < 1:
    raise ValueError("d_ff")
head_dim(d_model, n_head)
linear = lambda fan_in, fan_out: fan_in * fan_out + (fan_out if bias else 0)       # noqa: E731
norms = 4 * d_model if bias else 2 * d_model
return 4 * linear(d_model, d_model) + linear(d_model, d_ff) + linear(d_ff, d_model) + norms
'''),
        Fill("multiply_adds", '''
w = head_dim(d_model, n_head)
require_sizes(d_ff=d_ff, seq_len=seq_len)
product = lambda m, k, n: m * k * n       # noqa: E731
one = n_head * 3 * product(seq_len, d_model, w) + product(seq_len, d_model, d_model)
two = sum(product(seq_len, w, seq_len) for _ in range(n_head)) if n_head < 100 else n_head * product(seq_len, w, seq_len)
three = n_head * product(seq_len, seq_len, w)
four = product(seq_len, d_model, d_ff) + product(seq_len, d_ff, d_model)
return dict(total=one + two + three + four, projections=one, scores=two, weighted_sum=three, feed_forward=four)
'''),
        Fill("kv_cache_bytes", '''
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
'''),
        Fill("weight_shapes", '''
require_sizes(d_model=d_model, n_head=n_head)
shapes = {f"{name}_head": Shape(d_model, d_model // n_head) for name in ("query", "key", "value")}
return shapes | dict.fromkeys(("query", "key", "value", "output"), Shape(d_model, d_model))
'''),
        Fill("score_count", "return math.prod(score_shape(n_head, seq_len))"),
        Fill("flops", '''
products = multiply_adds(d_model, n_head, d_ff, seq_len)
del products["total"]
result = {name: count + count for name, count in products.items()}
result["softmax"] = sum(math.prod(score_shape(n_head, seq_len)) for operation in ("exponential", "sum", "division"))
return {"total": sum(result.values()), **result}
'''),
        Fill("model_flops", '''
require_sizes(n_layer=n_layer, vocab_size=vocab_size)
layer = flops(d_model, n_head, d_ff, seq_len)
return n_layer * sum(count for name, count in layer.items() if name != "total") + math.prod((2, seq_len, d_model, vocab_size))
'''),
        Fill("model_parameters", '''
require_sizes(n_layer=n_layer, d_model=d_model, n_head=n_head, d_ff=d_ff, vocab_size=vocab_size, block_size=block_size)
matrix = vocab_size * d_model
total = matrix if tied else 2 * matrix
if learned_positions:
    total += block_size * d_model
total += d_model + (d_model if bias else 0)
return total + n_layer * layer_parameters(d_model, n_head, d_ff, bias=bias)
'''),
    )),
]
