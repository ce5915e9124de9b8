"""Rotary position embeddings in many ways."""

from right import read

RIGHT = read(r'''
=== complex_polar: unit complex numbers by torch.polar, multiplied in float32
--- precompute_rotary_emb
theta = 1.0 / (10000.0 ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
freqs = torch.outer(torch.arange(max_positions).float(), theta)
freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
rope_cache = torch.view_as_real(freqs_cis)
--- apply_rotary_emb
seq_len = x.shape[-2]
x_ = x.float().contiguous().reshape(*x.shape[:-1], -1, 2)
x_ = torch.view_as_complex(x_)
freqs_cis = torch.view_as_complex(rope_cache[:seq_len].float().contiguous())
freqs_cis = freqs_cis.view(1, 1, seq_len, -1)
rotated_x = torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)
=== complex_in_the_widest_format: complex numbers of the precision of x; the table in complex128
--- precompute_rotary_emb
angles = torch.arange(max_positions).double()[:, None] * 10000.0 ** (
    -torch.arange(0, dim, 2).double() / dim
)
z = torch.exp(1j * angles)
rope_cache = torch.stack([z.real, z.imag], dim=-1).to(torch.float32)
--- apply_rotary_emb
wide = torch.promote_types(x.dtype, torch.float32)
z = torch.complex(x[..., 0::2].to(wide), x[..., 1::2].to(wide))
table = rope_cache[:x.size(-2)].to(wide)
z = z * torch.complex(table[..., 0], table[..., 1])
rotated_x = torch.stack((z.real, z.imag), dim=-1).flatten(-2).to(x.dtype)
--- GPT.forward
position_embeddings = 0     # the attention knows about positions
x_input = token_embeddings + position_embeddings
=== repeated_cos_and_sin: cosines and sines repeated, pairs (a, b) to (-b, a), q and k in one call
--- attention.py: def apply_rotary_emb(
def rotate_pairs(x):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((-b, a), dim=-1).flatten(-2)


def apply_rotary_emb(
--- precompute_rotary_emb
freqs = torch.exp(-math.log(10000.0) * torch.arange(0, dim, 2, dtype=torch.float) / dim)
positions, freqs = torch.meshgrid(
    torch.arange(max_positions, dtype=torch.float), freqs, indexing="ij"
)
angles = positions * freqs
rope_cache = torch.stack((angles.cos(), angles.sin()), dim=2)
--- apply_rotary_emb
T = x.size(-2)
cos = rope_cache[:T, :, 0].repeat_interleave(2, dim=-1)
sin = rope_cache[:T, :, 1].repeat_interleave(2, dim=-1)
rotated_x = (x * cos + rotate_pairs(x) * sin).to(dtype=x.dtype)
--- CausalSelfAttention.forward
both = apply_rotary_emb(torch.cat((q, k), dim=0), rope_cache)
q, k = both.chunk(2, dim=0)
=== block_diagonal_matrices: a block-diagonal matrix for each position, and einsum
--- apply_rotary_emb
T, d = x.shape[-2:]
cos, sin = rope_cache[:T, :, 0].to(x.dtype), rope_cache[:T, :, 1].to(x.dtype)
R = torch.zeros(T, d, d, dtype=x.dtype, device=x.device)
even = torch.arange(0, d, 2, device=x.device)
odd = even + 1
R[:, even, even] = cos
R[:, even, odd] = -sin
R[:, odd, even] = sin
R[:, odd, odd] = cos
rotated_x = torch.einsum("tij,bhtj->bhti", R, x)
--- CausalSelfAttention.forward
q = apply_rotary_emb(x=q, rope_cache=rope_cache)
k = apply_rotary_emb(x=k, rope_cache=rope_cache)
=== two_by_two_matrices: every pair times a 2x2 matrix, by matmul
--- precompute_rotary_emb
exponents = -2 * torch.arange(dim // 2) / dim
thetas = torch.pow(10000.0, exponents)
angles = torch.einsum("t,i->ti", torch.arange(max_positions, dtype=torch.float32), thetas)
rope_cache = torch.stack((torch.cos(angles), torch.sin(angles)), -1)
--- apply_rotary_emb
B, n_head, T, head_dim = x.size()
cos = rope_cache[:T, :, 0]
sin = rope_cache[:T, :, 1]
rows = (torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1))
matrices = torch.stack(rows, dim=-2)                                # (T, head_dim/2, 2, 2)
wide = x.dtype if x.dtype == torch.float64 else torch.float32
vectors = x.to(wide).reshape(B, n_head, T, head_dim // 2, 2, 1)
rotated_x = torch.matmul(matrices.to(wide), vectors).reshape(B, n_head, T, head_dim).to(x.dtype)
=== numpy_tables: NumPy's table in float64; a loop over pairs
--- attention.py: import math
import math

import numpy as np
--- precompute_rotary_emb
theta = np.power(10000.0, -2.0 * np.arange(dim // 2) / dim)
angles = np.outer(np.arange(max_positions), theta)
table = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
rope_cache = torch.from_numpy(table.astype(np.float32))
--- apply_rotary_emb
T = x.size(2)
columns = []
for i in range(x.size(3) // 2):
    cos, sin = rope_cache[:T, i, 0].to(x.dtype), rope_cache[:T, i, 1].to(x.dtype)
    a, b = x[:, :, :, 2 * i], x[:, :, :, 2 * i + 1]
    columns.append(a * cos - b * sin)
    columns.append(a * sin + b * cos)
rotated_x = torch.stack(columns, dim=-1)
--- CausalSelfAttention
head_dim = config.n_embd // config.n_head
rope_cache = precompute_rotary_emb(dim=head_dim, max_positions=config.block_size)
=== clone_and_overwrite: a copy of x is rotated in place; the table is expanded
--- precompute_rotary_emb
thetas = torch.tensor([10000 ** (-2 * i / dim) for i in range(dim // 2)], dtype=torch.float64)
positions = torch.arange(0, max_positions, 1, dtype=torch.float64).reshape(max_positions, 1)
matrix = positions @ thetas.reshape(1, -1)
rope_cache = torch.stack((torch.cos(matrix), torch.sin(matrix)), dim=-1).type(torch.float32)
--- apply_rotary_emb
rope_cache = rope_cache[: x.shape[2], :, :].to(device=x.device)
cos, sin = torch.unbind(rope_cache.expand(x.shape[0], x.shape[1], -1, -1, -1), dim=-1)
rotated_x = x.clone()
rotated_x[..., 0::2] = (x[..., 0::2] * cos).sub(x[..., 1::2] * sin)
rotated_x[..., 1::2] = (x[..., 0::2] * sin).add(x[..., 1::2] * cos)
=== everything_in_float64: x is rotated in float64; whole numbers make the table; assertions
--- precompute_rotary_emb
steps = torch.linspace(0, dim - 2, dim // 2)
angles = torch.arange(max_positions).reshape(-1, 1) * (1.0 / 10000.0 ** (steps / dim))
rope_cache = torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1)
--- apply_rotary_emb
seq_len: int = x.size(2)
assert seq_len <= rope_cache.shape[0], "the table is too short"
assert x.shape[-1] == 2 * rope_cache.shape[1], "the table is for another width"
cache = rope_cache.narrow(0, 0, seq_len).to(torch.float64)
cos, sin = cache[..., 0], cache[..., 1]
pairs = x.to(torch.float64).unflatten(-1, (-1, 2))
first, second = pairs[..., 0], pairs[..., 1]
rotated = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
rotated_x = rotated.flatten(start_dim=-2).to(x.dtype)
=== older_attention: an older edition's attention without a cache; the whole table is applied
--- attention.py: def forward(self, x: torch.Tensor, cache=None) -> torch.Tensor:
def forward(self, x: torch.Tensor) -> torch.Tensor:
--- attention.py:         start = 0 if cache is None else cache.length

--- attention.py: self.rope_cache[start : start + T]
self.rope_cache
--- attention.py:         if cache is not None:

--- attention.py:             k, v = cache.append(k, v)

--- attention.py: return self.attend(q, k, v, start)
return self.attend(q, k, v)
--- CausalSelfAttention.forward
q = apply_rotary_emb(q, self.rope_cache)
k = apply_rotary_emb(k, self.rope_cache)
--- apply_rotary_emb
T = x.shape[2]
cos, sin = rope_cache[:T].chunk(2, dim=-1)
x_pairs = x.view(*x.shape[:-1], -1, 2) if x.is_contiguous() else x.reshape(*x.shape[:-1], -1, 2)
first = x_pairs[..., :1] * cos - x_pairs[..., 1:] * sin
second = x_pairs[..., :1] * sin + x_pairs[..., 1:] * cos
rotated_x = torch.cat([first, second], dim=-1).view(x.shape).to(x.dtype)
''')
