"""The encoder in other ways: attention, positions, LayerNorm, layers, pooling."""

from right import read
from right.problem5.encoder_training import TRAININGS

LOADERS, MOMENTUM, EARLY_END = (training.changes for training in TRAININGS)
RIGHT = read(r'''
=== encoder_einsum: einsum, a large negative number for padding, LayerNorm as a product and a sum
--- encoder.py: nn.Embedding(config.vocab_size, config.n_embd)
nn.Embedding(config.vocab_size, config.n_embd, padding_idx=PAD)
--- MultiHeadAttention
if n_embd % n_head:
    raise ValueError(f"{n_head} heads cannot share n_embd = {n_embd} evenly")
self.n_head, self.head_dim, self.rate = n_head, n_embd // n_head, dropout
self.qkv, self.proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
--- MultiHeadAttention.forward
qkv = self.qkv(x).unflatten(-1, (3, self.n_head, self.head_dim))
q, k, v = qkv.unbind(2)
scores = torch.einsum("bihd,bjhd->bhij", q * self.head_dim ** -0.5, k)
if key_padding_mask is None:
    key_padding_mask = torch.zeros(x.shape[:2], dtype=torch.bool)
scores = scores.masked_fill(key_padding_mask[:, None, None, :], -1e9)
weights = scores.softmax(-1) * ~key_padding_mask.all(1)[:, None, None, None]
y = torch.einsum("bhij,bjhd->bihd", F.dropout(weights, self.rate, self.training), v)
y = self.proj(y.flatten(2))
--- sinusoidal_positions
position = torch.arange(max_len).unsqueeze(1)
div_term = torch.exp(torch.arange(0, n_embd, 2) * (-math.log(10000.0) / n_embd))
table = torch.zeros(max_len, n_embd)
table[:, 0::2] = torch.sin(position * div_term)
table[:, 1::2] = torch.cos(position * div_term)
--- LayerNorm.forward
variance, mean = torch.var_mean(x, dim=-1, unbiased=False, keepdim=True)
scale = torch.rsqrt(variance + self.eps) * self.weight
y = x * scale + (self.bias - mean * scale)
=== encoder_loops_over_heads: a loop over heads slices qkv's weights; pooling by matrix products
--- MultiHeadAttention
head_dim, rest = divmod(n_embd, n_head)
if rest != 0:
    raise ValueError("n_embd=%d is not divisible by n_head=%d" % (n_embd, n_head))
self.n_head = n_head
self.head_dim = head_dim
self.drop = torch.nn.Dropout(p=dropout)
self.proj = nn.Linear(n_embd, n_embd, bias=True)
self.qkv = nn.Linear(n_embd, n_embd * 3, bias=True)
--- MultiHeadAttention.forward
n = x.shape[-1]
queries, keys, values = torch.split(self.qkv(x), n, dim=2)
outputs, maps = [], []
for h in range(self.n_head):
    part = slice(h * self.head_dim, (h + 1) * self.head_dim)
    scores = torch.bmm(queries[..., part], keys[..., part].transpose(1, 2)).div(self.head_dim**0.5)
    if key_padding_mask is not None:
        some = ~key_padding_mask.all(dim=1)
        mask = key_padding_mask & some.unsqueeze(1)
        scores = torch.where(
            mask.unsqueeze(1), torch.tensor(float("-inf"), dtype=scores.dtype), scores
        )
    exp = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    probs = exp / exp.sum(dim=-1, keepdim=True)
    if key_padding_mask is not None:
        probs = probs * some[:, None, None].to(probs.dtype)
    maps.append(probs)
    outputs.append(torch.bmm(self.drop(probs), values[..., part]))
weights = torch.stack(maps, dim=1)
y = self.proj(torch.cat(outputs, dim=-1))
--- sinusoidal_positions
table = torch.tensor(
    [
        [
            math.sin(t / 10000 ** (j / n_embd))
            if j % 2 == 0
            else math.cos(t / 10000 ** ((j - 1) / n_embd))
            for j in range(n_embd)
        ]
        for t in range(max_len)
    ]
)
--- LayerNorm.forward
mu = x.sum(-1, keepdim=True) / x.size(-1)
var = ((x - mu) * (x - mu)).sum(-1, keepdim=True) / x.size(-1)
y = (x - mu) / (var + self.eps) ** 0.5
y = y * self.weight + self.bias
--- Encoder.forward
pad = idx.eq(PAD)
x = self.tok_emb(idx)
if self.config.positions == "learned":
    x = x + self.pos_emb(torch.arange(T))
elif self.config.positions == "sinusoidal":
    x = x + self.pos_emb[torch.arange(T)].unsqueeze(0)
for i in range(len(self.layers)):
    x, w = self.layers[i](x, key_padding_mask=pad, return_weights=True)
    weights = weights + [w]
x = self.norm(x)
if self.config.pooling == "mean":
    share = (~pad).to(x.dtype)
    share = share / torch.maximum(share.sum(1, keepdim=True), torch.ones(1, dtype=x.dtype))
    x = torch.bmm(share.unsqueeze(1), x).squeeze(1)
elif self.config.pooling == "cls":
    x = x.select(1, 0)
logits = self.head(x)
=== encoder_three_views: three slices of qkv's output; an added mask; empty rows spare the softmax
--- MultiHeadAttention.forward
def shape(part):
    return part.reshape(x.size(0), x.size(1), self.n_head, -1).permute(0, 2, 1, 3)

width = x.size(2)
qkv = self.qkv(x)
q, k, v = shape(qkv[:, :, :width]), shape(qkv[:, :, width:2 * width]), shape(qkv[:, :, 2 * width:])
logits = torch.matmul(q, k.mT) * (1.0 / math.sqrt(k.shape[3]))
if key_padding_mask is not None:
    empty = key_padding_mask.all(dim=1).view(-1, 1, 1, 1)
    bias = torch.zeros(key_padding_mask.shape, dtype=x.dtype).masked_fill_(
        key_padding_mask, float("-inf")
    )
    bias = torch.where(empty, torch.zeros((), dtype=x.dtype), bias[:, None, None])
    logits = logits + bias
weights = torch.softmax(logits, -1)
if key_padding_mask is not None:
    weights = torch.where(empty, torch.zeros_like(weights), weights)
y = torch.matmul(self.dropout(weights), v)
y = self.proj(y.permute(0, 2, 1, 3).contiguous().view(x.shape))
--- sinusoidal_positions
columns = torch.arange(n_embd)
angles = torch.arange(max_len)[:, None] / 10000.0 ** (2 * (columns // 2) / n_embd)
table = torch.where(columns % 2 == 0, torch.sin(angles), torch.cos(angles))
--- LayerNorm.forward
std = torch.sqrt(x.var(dim=-1, keepdim=True, correction=0) + self.eps)
y = (x - torch.mean(x, -1, True)) / std * self.weight + self.bias
--- EncoderLayer.forward
residual = x
h = self.norm1(residual) if self.pre_norm else residual
h, weights = self.attn(h, key_padding_mask=key_padding_mask, return_weights=True)
h = F.dropout(h, p=self.dropout.p, training=self.training)
x = residual + h if self.pre_norm else self.norm1(residual + h)
residual = x
h = self.norm2(residual) if self.pre_norm else residual
h = self.up(h)
h = 0.5 * h * (1 + torch.erf(h / math.sqrt(2)))
h = F.dropout(self.down(h), p=self.dropout.p, training=self.training)
x = residual + h if self.pre_norm else self.norm2(residual + h)
=== encoder_baddbmm: heads and batch share an axis, as in torch's code; sums by boolean indexing
--- MultiHeadAttention.forward
B, T, C = x.shape
d = C // self.n_head
thirds = self.qkv(x).tensor_split(3, -1)
q, k, v = (
    part.reshape(B, T, self.n_head, d).transpose(1, 2).reshape(B * self.n_head, T, d)
    for part in thirds
)
bias = x.new_zeros(B, 1, 1, T)
if key_padding_mask is not None:
    bias = bias.masked_fill(key_padding_mask[:, None, None, :], torch.finfo(x.dtype).min)
bias = bias.expand(B, self.n_head, T, T).reshape(B * self.n_head, T, T)
weights = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=1 / math.sqrt(d)).softmax(-1)
if key_padding_mask is not None:
    weights = (
        weights.view(B, self.n_head, T, T)
        .masked_fill(key_padding_mask[:, None, None, :], 0)
        .view(B * self.n_head, T, T)
    )
y = torch.bmm(self.dropout(weights), v).view(B, self.n_head, T, d).transpose(1, 2).flatten(2)
y = F.linear(y, self.proj.weight, self.proj.bias)
weights = weights.view(B, self.n_head, T, T)
--- sinusoidal_positions
from ..attention import precompute_rotary_emb
table = precompute_rotary_emb(n_embd, max_len).flip(-1).reshape(max_len, n_embd)
--- Encoder.forward
keep = idx != PAD
x = self.tok_emb.weight[idx]
table = getattr(self, "pos_emb", None)
if table is not None:
    x = x + (table.weight if isinstance(table, nn.Embedding) else table)[None, :T]
for layer in self.layers:
    x, w = layer(x, ~keep, True)
    weights.append(w)
x = self.norm(x)
if self.config.pooling == "mean":
    none = torch.zeros(x.size(2), dtype=x.dtype)
    x = torch.stack([row[kept].mean(0) if kept.any() else none for row, kept in zip(x, keep)])
if self.config.pooling == "cls":
    x = x[:, 0, :]
logits = self.head(x)
=== encoder_empty_rows_apart: attention of rows with something in them alone; the rest stays 0
--- MultiHeadAttention.forward
n_head, (B, T, n_embd) = self.n_head, x.shape
head_dim = n_embd // n_head
used = torch.ones(B, dtype=torch.bool) if key_padding_mask is None else ~key_padding_mask.all(dim=1)
q, k, v = self.qkv(x[used]).view(-1, T, 3, n_head, head_dim).permute(2, 0, 3, 1, 4).unbind(0)
scores = (q / head_dim ** 0.5) @ k.transpose(2, 3)
if key_padding_mask is not None:
    scores = scores.masked_fill(key_padding_mask[used][:, None, None], -math.inf)
attended = scores.softmax(dim=3)
weights = torch.zeros(B, n_head, T, T, dtype=x.dtype).index_put((used.nonzero()[:, 0],), attended)
heads = (self.dropout(attended) @ v).transpose(1, 2).flatten(2)
y = torch.zeros_like(x).index_put((used.nonzero()[:, 0],), heads)
y = self.proj(y)
--- EncoderLayer.forward
parts = [
    lambda h: self.attn(h, key_padding_mask, True),
    lambda h: (self.down(F.gelu(self.up(h), approximate="none")), None),
]
for norm, part in zip((self.norm1, self.norm2), parts):
    y, seen = part(norm(x) if self.pre_norm else x)
    weights = seen if weights is None else weights
    x = torch.add(x, self.dropout(y))
    if not self.pre_norm:
        x = norm(x)
=== encoder_softmax_by_hand: exp and masks; PAD is embedded as zeros, and zeroed before the pooling
--- MultiHeadAttention.forward
B, T, C = x.shape
q, k, v = (
    part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
    for part in self.qkv(x).split(C, dim=-1)
)
scores = (q @ k.transpose(-1, -2)) / math.sqrt(C // self.n_head)
real = (
    torch.ones(B, 1, 1, T, dtype=x.dtype)
    if key_padding_mask is None
    else (~key_padding_mask).to(x.dtype).view(B, 1, 1, T)
)
top = scores.detach().masked_fill(real == 0, -1e30).amax(dim=-1, keepdim=True)
raised = torch.exp((scores - top).masked_fill(real == 0, 0.0)) * real
weights = raised / raised.sum(-1, keepdim=True).clamp(min=1e-9)
y = self.proj((self.dropout(weights) @ v).transpose(1, 2).reshape(B, T, C))
--- LayerNorm.forward
wide = x.double()
moments = torch.stack((wide, wide * wide)).mean(-1, keepdim=True)
variance = (moments[1] - moments[0] ** 2).clamp(min=0)
y = ((x - moments[0]) / torch.sqrt(variance + self.eps)).to(x.dtype) * self.weight + self.bias
--- encoder.py: x = self.tok_emb(idx)
x = self.tok_emb(idx) * (idx != PAD)[:, :, None]
--- encoder.py: x = x + self.pos_emb[:T]
x = x + self.pos_emb[:T] * (~padding)[:, :, None]
--- encoder.py: x = self.norm(x)
x = self.norm(x).masked_fill(padding[:, :, None], 0.0)
''', encoder_einsum=LOADERS, encoder_three_views=MOMENTUM, encoder_baddbmm=EARLY_END)
