"""Right submissions that compute rotary position embeddings in many ways."""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right("complex_polar", "Unit complex numbers by torch.polar, and complex multiplication in float32.", (
        Fill("precompute_rotary_emb", r'''
theta = 1.0 / (10000.0 ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
freqs = torch.outer(torch.arange(max_positions).float(), theta)
freqs_cis = torch.polar(torch.ones_like(freqs), freqs)
rope_cache = torch.view_as_real(freqs_cis)
'''),
        Fill("apply_rotary_emb", r'''
seq_len = x.shape[-2]
x_ = x.float().contiguous().reshape(*x.shape[:-1], -1, 2)
x_ = torch.view_as_complex(x_)
freqs_cis = torch.view_as_complex(rope_cache[:seq_len].float().contiguous())
freqs_cis = freqs_cis.view(1, 1, seq_len, -1)
rotated_x = torch.view_as_real(x_ * freqs_cis).flatten(3).type_as(x)
'''),
    )),
    Right("complex_in_the_widest_format", "Complex numbers of whichever precision fits x; the "
          "table is exp(i angle) in complex128.", (
        Fill("precompute_rotary_emb", r'''
angles = torch.arange(max_positions).double()[:, None] * 10000.0 ** (-torch.arange(0, dim, 2).double() / dim)
z = torch.exp(1j * angles)
rope_cache = torch.stack([z.real, z.imag], dim=-1).to(torch.float32)
'''),
        Fill("apply_rotary_emb", r'''
wide = torch.promote_types(x.dtype, torch.float32)
z = torch.complex(x[..., 0::2].to(wide), x[..., 1::2].to(wide))
table = rope_cache[:x.size(-2)].to(wide)
z = z * torch.complex(table[..., 0], table[..., 1])
rotated_x = torch.stack((z.real, z.imag), dim=-1).flatten(-2).to(x.dtype)
'''),
        Fill("GPT.forward", r'''
position_embeddings = 0     # the attention knows about positions
x_input = token_embeddings + position_embeddings
'''),
    )),
    Right("repeated_cos_and_sin", "Every cosine and sine is repeated, and a helper turns pairs "
          "(a, b) into (-b, a); q and k are rotated in one call.", (
        Edit("attention.py", "def apply_rotary_emb(", r'''def rotate_pairs(x):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((-b, a), dim=-1).flatten(-2)


def apply_rotary_emb('''),
        Fill("precompute_rotary_emb", r'''
freqs = torch.exp(-math.log(10000.0) * torch.arange(0, dim, 2, dtype=torch.float) / dim)
positions, freqs = torch.meshgrid(torch.arange(max_positions, dtype=torch.float), freqs, indexing="ij")
angles = positions * freqs
rope_cache = torch.stack((angles.cos(), angles.sin()), dim=2)
'''),
        Fill("apply_rotary_emb", r'''
T = x.size(-2)
cos = rope_cache[:T, :, 0].repeat_interleave(2, dim=-1)
sin = rope_cache[:T, :, 1].repeat_interleave(2, dim=-1)
rotated_x = (x * cos + rotate_pairs(x) * sin).to(dtype=x.dtype)
'''),
        Fill("CausalSelfAttention.forward", r'''
both = apply_rotary_emb(torch.cat((q, k), dim=0), rope_cache)
q, k = both.chunk(2, dim=0)
'''),
    )),
    Right("block_diagonal_matrices", "A block-diagonal rotation matrix for each position, and einsum.", (
        Fill("apply_rotary_emb", r'''
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
'''),
        Fill("CausalSelfAttention.forward", r'''
q = apply_rotary_emb(x=q, rope_cache=rope_cache)
k = apply_rotary_emb(x=k, rope_cache=rope_cache)
'''),
    )),
    Right("two_by_two_matrices", "Every pair times a 2x2 rotation matrix, by matmul.", (
        Fill("precompute_rotary_emb", r'''
exponents = -2 * torch.arange(dim // 2) / dim
thetas = torch.pow(10000.0, exponents)
angles = torch.einsum("t,i->ti", torch.arange(max_positions, dtype=torch.float32), thetas)
rope_cache = torch.stack((torch.cos(angles), torch.sin(angles)), -1)
'''),
        Fill("apply_rotary_emb", r'''
B, n_head, T, head_dim = x.size()
cos = rope_cache[:T, :, 0]
sin = rope_cache[:T, :, 1]
rows = (torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1))
matrices = torch.stack(rows, dim=-2)                                # (T, head_dim/2, 2, 2)
wide = x.dtype if x.dtype == torch.float64 else torch.float32
vectors = x.to(wide).reshape(B, n_head, T, head_dim // 2, 2, 1)
rotated_x = torch.matmul(matrices.to(wide), vectors).reshape(B, n_head, T, head_dim).to(x.dtype)
'''),
    )),
    Right("numpy_tables", "The table is NumPy's, in float64; the rotation loops over the pairs.", (
        Edit("attention.py", "import math\n", "import math\n\nimport numpy as np\n"),
        Fill("precompute_rotary_emb", r'''
theta = np.power(10000.0, -2.0 * np.arange(dim // 2) / dim)
angles = np.outer(np.arange(max_positions), theta)
table = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
rope_cache = torch.from_numpy(table.astype(np.float32))
'''),
        Fill("apply_rotary_emb", r'''
T = x.size(2)
columns = []
for i in range(x.size(3) // 2):
    cos, sin = rope_cache[:T, i, 0].to(x.dtype), rope_cache[:T, i, 1].to(x.dtype)
    a, b = x[:, :, :, 2 * i], x[:, :, :, 2 * i + 1]
    columns.append(a * cos - b * sin)
    columns.append(a * sin + b * cos)
rotated_x = torch.stack(columns, dim=-1)
'''),
        Fill("CausalSelfAttention", r'''
head_dim = config.n_embd // config.n_head
rope_cache = precompute_rotary_emb(dim=head_dim, max_positions=config.block_size)
'''),
    )),
    Right("clone_and_overwrite",
          "A copy of x is rotated in place; the table is expanded over batch and heads.", (
        Fill("precompute_rotary_emb", r'''
thetas = torch.tensor([10000 ** (-2 * i / dim) for i in range(dim // 2)], dtype=torch.float64)
positions = torch.arange(0, max_positions, 1, dtype=torch.float64).reshape(max_positions, 1)
matrix = positions @ thetas.reshape(1, -1)
rope_cache = torch.stack((torch.cos(matrix), torch.sin(matrix)), dim=-1).type(torch.float32)
'''),
        Fill("apply_rotary_emb", r'''
rope_cache = rope_cache[: x.shape[2], :, :].to(device=x.device)
cos, sin = torch.unbind(rope_cache.expand(x.shape[0], x.shape[1], -1, -1, -1), dim=-1)
rotated_x = x.clone()
rotated_x[..., 0::2] = (x[..., 0::2] * cos).sub(x[..., 1::2] * sin)
rotated_x[..., 1::2] = (x[..., 0::2] * sin).add(x[..., 1::2] * cos)
'''),
    )),
    Right("everything_in_float64", "x is rotated in float64; whole numbers make the table.", (
        Fill("precompute_rotary_emb", r'''
steps = torch.linspace(0, dim - 2, dim // 2)
angles = torch.arange(max_positions).reshape(-1, 1) * (1.0 / 10000.0 ** (steps / dim))
rope_cache = torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1)
'''),
        Fill("apply_rotary_emb", r'''
seq_len = x.size(2)
cache = rope_cache.narrow(0, 0, seq_len).to(torch.float64)
cos, sin = cache[..., 0], cache[..., 1]
pairs = x.to(torch.float64).unflatten(-1, (-1, 2))
first, second = pairs[..., 0], pairs[..., 1]
rotated = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
rotated_x = rotated.flatten(start_dim=-2).to(x.dtype)
'''),
    )),
    Right("older_attention", "The self-attention of an older edition, without a cache of keys; the "
          "whole table is applied.", (
        Edit("attention.py", "def forward(self, x: torch.Tensor, cache=None) -> torch.Tensor:",
             "def forward(self, x: torch.Tensor) -> torch.Tensor:"),
        Edit("attention.py", "        start = 0 if cache is None else cache.length\n", ""),
        Edit("attention.py", "self.rope_cache[start : start + T]", "self.rope_cache"),
        Edit("attention.py",
             "        if cache is not None:\n            k, v = cache.append(k, v)\n", ""),
        Edit("attention.py", "return self.attend(q, k, v, start)", "return self.attend(q, k, v)"),
        Fill("CausalSelfAttention.forward", r'''
q = apply_rotary_emb(q, self.rope_cache)
k = apply_rotary_emb(k, self.rope_cache)
'''),
        Fill("apply_rotary_emb", r'''
T = x.shape[2]
cos, sin = rope_cache[:T].chunk(2, dim=-1)
x_pairs = x.view(*x.shape[:-1], -1, 2) if x.is_contiguous() else x.reshape(*x.shape[:-1], -1, 2)
first = x_pairs[..., :1] * cos - x_pairs[..., 1:] * sin
second = x_pairs[..., :1] * sin + x_pairs[..., 1:] * cos
rotated_x = torch.cat([first, second], dim=-1).view(x.shape).to(x.dtype)
'''),
    )),
]
