"""Right submissions that compute rotary position embeddings in many ways, with other small
differences elsewhere.
"""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right(
        "complex_polar",
        "It makes unit complex numbers with torch.polar and rotates by complex multiplication in "
        "float32.",
        (
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
            Fill("initialize_rope_model", r'''
mconf.rope = True
model = GPT(mconf)
'''),
            Fill("CharCorruptionDataset.__getitem__", r'''
doc = self.data[idx]
trunc = doc[:random.randint(4, int(self.block_size * 3 / 4))]
L = len(trunc)
m = random.randint(1, max(1, L // 2 - 1))
st = random.randint(0, L - m)
out = trunc[:st] + self.MASK_CHAR + trunc[st + m:] + self.MASK_CHAR + trunc[st:st + m] + self.MASK_CHAR
out = out + self.PAD_CHAR * (self.block_size + 1 - len(out))
x = torch.tensor([self.stoi[c] for c in out[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in out[1:]], dtype=torch.long)
'''),
        ),
    ),
    Right(
        "complex_in_the_widest_format",
        "It multiplies complex numbers of whichever precision fits x, with the table as exp(i "
        "angle) in complex128.",
        (
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
            Fill("finetune 1d", r'''
finetune_dataset = NameDataset(open(finetune_corpus_path, encoding="utf-8").read(), pretrain_dataset)
tconf = TrainerConfig(max_epochs=75, batch_size=256, learning_rate=finetune_lr, lr_decay=True, warmup_tokens=512 * 20,
                      final_tokens=200 * len(pretrain_dataset) * block_size, writer=writer)
if reading_params_path is not None:
    tconf.max_epochs = 10
trainer_obj = Trainer(model, finetune_dataset, None, tconf)
'''),
        ),
    ),
    Right(
        "repeated_cos_and_sin",
        "It repeats every cosine and sine twice, and has a helper that turns the pairs (a, b) into "
        "(-b, a).",
        (
            Edit("attention.py", "def apply_rotary_emb(", r'''def rotate_pairs(x):
    """(a, b) -> (-b, a) for each adjacent pair."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((-b, a), dim=-1).flatten(-2)


def apply_rotary_emb('''),
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
            Fill("train", r'''
trainer_obj.train()
torch.save(trainer_obj.model.state_dict(), str(writing_params_path))
'''),
        ),
    ),
    Right(
        "block_diagonal_matrices",
        "It builds a block-diagonal rotation matrix for each position and multiplies with einsum.",
        (
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
            Fill("precompute_rotary_emb", r'''
i = torch.arange(dim // 2, dtype=torch.float32)
t = torch.arange(max_positions, dtype=torch.float32)
angle = t.view(-1, 1) * torch.exp(i * (-2 * math.log(10000) / dim)).view(1, -1)
rope_cache = torch.empty(max_positions, dim // 2, 2)
rope_cache[:, :, 0] = torch.cos(angle)
rope_cache[:, :, 1] = torch.sin(angle)
'''),
            Fill("CausalSelfAttention", r'''
head_dim, rest = divmod(config.n_embd, config.n_head)
assert rest == 0
rope_cache = precompute_rotary_emb(head_dim, config.block_size)
'''),
        ),
    ),
    Right(
        "two_by_two_matrices",
        "It multiplies every pair with a 2x2 rotation matrix by matmul.",
        (
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
            Fill("CausalSelfAttention.forward", r'''
q, k = map(lambda heads: apply_rotary_emb(heads, rope_cache), (q, k))
'''),
            Fill("initialize_rope_model", r'''
mconf = copy.deepcopy(mconf)
setattr(mconf, "rope", True)
model = initialize_vanilla_model(mconf)
'''),
            Fill("pretrain", r'''
pretrain_args = dict(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, lr_decay=True)
token_args = dict(warmup_tokens=512 * 20, final_tokens=200 * len(pretrain_dataset) * block_size)
tconf = TrainerConfig(**pretrain_args, **token_args, num_workers=0, writer=writer)
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
'''),
        ),
    ),
    Right(
        "numpy_tables",
        "It makes the table with NumPy in float64 and converts it; the rotation loops over the "
        "pairs of features.",
        (
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
            Fill("finetune 1f", r'''
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
parameters = torch.load(reading_params_path, device)
model.load_state_dict(parameters)
'''),
        ),
    ),
    Right(
        "clone_and_overwrite",
        "It rotates a copy of x in place, pair by pair, with the table broadcast over batch and "
        "heads.",
        (
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
            Fill("CausalSelfAttention.forward", r'''
def rotate(heads):
    return apply_rotary_emb(heads, rope_cache)

q = rotate(q)
k = rotate(k)
'''),
            Fill("CharCorruptionDataset.__getitem__", r'''
d = self.data[idx]
d = d[:min(len(d), random.choice(range(4, 1 + int(self.block_size * 3 / 4))))]
k = random.randint(1, max(1, round(len(d) / 2) - 1))
i = random.choice(range(len(d) - k + 1))
special = self.MASK_CHAR
s = special.join([d[:i], d[i + k:], d[i:i + k]]) + special
s = s + (self.block_size + 1 - len(s)) * self.PAD_CHAR
ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
x, y = ids[:self.block_size], ids[1:self.block_size + 1]
'''),
        ),
    ),
    Right(
        "older_attention",
        "Its self-attention is like an older edition's, without a cache of keys, and applies the "
        "whole table.",
        (
            Edit("attention.py", "def forward(self, x: torch.Tensor, cache=None) -> torch.Tensor:",
                 "def forward(self, x: torch.Tensor) -> torch.Tensor:"),
            Edit("attention.py", "        start = 0 if cache is None else cache.length\n", ""),
            Edit("attention.py", "self.rope_cache[start : start + T]", "self.rope_cache"),
            Edit("attention.py",
                 "        if cache is not None:\n            k, v = cache.append(k, v)\n", ""),
            Edit("attention.py", "return self.attend(q, k, v, start)",
                 "return self.attend(q, k, v)"),
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
        ),
    ),
]
