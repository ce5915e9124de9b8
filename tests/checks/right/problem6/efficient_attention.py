"""Sparse attention, modules, streams and memories (6d and 6g)."""

from right import read

RIGHT = read(r'''
=== sparse_union: a block multiplies the union of its rows' keys, compiled; a dict streams
--- predicted_globals
values = scores.detach().tolist()
ranked = sorted((i for i, value in enumerate(values) if value > 0), key=lambda i: -values[i])
positions = sorted(ranked[:limit])
--- attended_positions
if i < 0 or i >= n:
    raise IndexError(i)
chosen = set(sorted_positions(global_positions, n))
for j in range(n):
    if pattern.causal and j > i:
        break
    d = abs(i - j)
    if (
        d <= pattern.window
        or d in pattern.strides
        or j in chosen
        or (i in chosen and not pattern.causal)
    ):
        attended.append(j)
--- count_connections
chosen = sorted_positions(global_positions, n)
members = set(chosen)
w = pattern.window
far = {s for s in pattern.strides if s > w}
far = far if pattern.causal else far | {-s for s in far}
for i in range(n):
    if i in members and not pattern.causal:
        count += n
        continue
    low, high = max(0, i - w), (i if pattern.causal else min(n - 1, i + w))
    count += high - low + 1
    looked = [i - s for s in far if 0 <= i - s < n]
    count += len(looked)
    count += bisect_left(chosen, low) - sum(j in members and j < low for j in looked)
    if not pattern.causal:
        count += (
            len(chosen)
            - bisect_left(chosen, high + 1)
            - sum(j in members and j > high for j in looked)
        )
--- sparse_attention
T = q.size(2)
chosen = sorted_positions(global_positions, T)
is_global = torch.zeros(T, dtype=torch.bool)
is_global[chosen] = True
shifts = [-s for s in pattern.strides] + ([] if pattern.causal else list(pattern.strides))
outputs = []
for first in range(0, T, 64):
    last = min(first + 64, T)
    keep = is_global.clone()
    keep[max(first - pattern.window, 0):last + (0 if pattern.causal else pattern.window)] = True
    for low, high in ((first + s, last + s) for s in shifts):
        keep[max(low, 0):max(high, 0)] = True
    if pattern.causal:
        keep[last:] = False
    columns = keep.nonzero()[:, 0]
    distance = torch.arange(first, last)[:, None] - columns
    mask = is_local(distance, pattern) | is_global[columns]
    if pattern.causal:
        mask = mask & (distance >= 0)
    attend = torch.compile(F.scaled_dot_product_attention)
    outputs.append(attend(q[:, :, first:last], k[:, :, columns], v[:, :, columns], attn_mask=mask))
output = torch.cat(outputs, dim=2)
if chosen and not pattern.causal:
    index = torch.tensor(chosen)
    scores = q[:, :, index] @ k.transpose(-2, -1) * q.size(-1) ** -0.5
    output = output.index_copy(2, index, scores.softmax(-1) @ v)
--- SparseSelfAttention.from_dense
sparse = cls(attention.key.in_features, attention.n_head, pattern).to(attention.key.weight.dtype)
theirs = attention.state_dict()
sparse.load_state_dict(
    {name: theirs.get(name, value) for name, value in sparse.state_dict().items()}
)
if attention.rope:
    size, head_dim = attention.mask.shape[-1], attention.key.in_features // attention.n_head
    longest = size if max_positions is None else max_positions
    t = torch.arange(longest).double()
    if longest > size:
        t *= size / longest
    table = torch.polar(
        torch.ones(1).double(),
        t[:, None] * 10000 ** -(torch.arange(0, head_dim, 2).double() / head_dim),
    )
    sparse.rope_cache = torch.view_as_real(table).float()
--- StreamingAttention
self.entries = {}
self.reach = max([attention.pattern.window, *attention.pattern.strides])
--- StreamingAttention.append
flags = [False] * x.size(1) if is_global is None else list(is_global)
if not flags or len(flags) != x.size(1):
    raise ValueError("one boolean for each position")
q, k, v = self.attention.project(x, start=self.length)
outputs = []
for t, flag in enumerate(flags):
    i = self.length
    self.entries[i] = (k[:, :, t].clone(), v[:, :, t].clone())
    if flag and len(self.global_positions) < self.max_global:
        self.global_positions.append(i)
    columns = [
        j
        for j in self.entries
        if i - j <= self.attention.pattern.window
        or i - j in self.attention.pattern.strides
        or j in self.global_positions
    ]
    keys, values = (torch.stack([self.entries[j][part] for j in columns], dim=2) for part in (0, 1))
    outputs.append(F.scaled_dot_product_attention(q[:, :, t:t + 1], keys, values))
    self.length += 1
    for old in [
        j for j in self.entries if j < self.length - self.reach and j not in self.global_positions
    ]:
        del self.entries[old]
y = self.attention.proj(self.attention.join_heads(torch.cat(outputs, dim=2)))
--- StreamingAttention.cached_positions
positions = sorted(self.entries)
--- StreamingAttention.cache_bytes
size = sum(part.nbytes for entry in self.entries.values() for part in entry)
--- cross_document_attention
lengths = list(lengths)
ends = [sum(lengths[:n + 1]) for n in range(len(lengths))]
T = q.size(2)
if not lengths or any(n < 1 for n in lengths) or ends[-1] >= T or window < 0:
    raise ValueError("lengths or window out of range")
pieces = []
for begin, end in zip([0, *ends], ends):
    for first in range(begin, end, 100):
        last = min(first + 100, end)
        near = slice(max(begin, first - window), min(end, last + window))
        distance = torch.arange(first, last)[:, None] - torch.arange(near.start, near.stop)
        scores = q[:, :, first:last] @ k[:, :, near].transpose(-2, -1) / math.sqrt(q.size(-1))
        pieces.append(
            scores.masked_fill(distance.abs() > window, -math.inf).softmax(-1) @ v[:, :, near]
        )
scores = q[:, :, ends[-1]:] @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
scores = scores.masked_fill(torch.arange(T) > torch.arange(ends[-1], T)[:, None], -math.inf)
output = torch.cat((*pieces, scores.softmax(-1) @ v), dim=2)
--- remember
if len(documents) == 0 or attention.rope_cache is not None:
    raise ValueError("no memory of this")
keys = torch.cat(
    [attention.split_heads(attention.key(document[None]))[0] for document in documents], dim=1
)
values = torch.cat(
    [attention.split_heads(attention.value(document[None]))[0] for document in documents], dim=1
)
memory = Memory(keys=keys, values=values, lengths=tuple(document.size(0) for document in documents))
--- ask
q = attention.query(x).unflatten(-1, (attention.n_head, -1))
weights = torch.einsum("bthd,hnd->bhtn", q, memory.keys).div(q.size(-1) ** 0.5).softmax(-1)
y = attention.proj(torch.einsum("bhtn,hnd->bthd", weights, memory.values).flatten(-2))
member = F.one_hot(
    torch.repeat_interleave(torch.arange(len(memory.lengths)), torch.tensor(memory.lengths))
).to(weights.dtype)
shares = weights.mean(1) @ member
=== sparse_unfold: windows by unfold; softmaxes of pieces are put together; lists stream
--- efficient_attention.py: import torch.nn as nn
import numpy as np
import torch.nn as nn
--- predicted_globals
above = (scores > 0).nonzero()[:, 0]
order = np.lexsort((above.numpy(), -scores[above].detach().double().numpy()))
positions = sorted(int(i) for i in above.numpy()[order][:limit])
--- attended_positions
if i not in range(n):
    raise IndexError(f"{i} of {n}")
j = np.arange(n)
chosen = np.isin(j, sorted_positions(global_positions, n))
d = np.abs(i - j)
allowed = (d <= pattern.window) | np.isin(d, pattern.strides) | chosen
allowed = allowed & (j <= i) if pattern.causal else allowed | chosen[i]
attended = np.flatnonzero(allowed).tolist()
--- count_connections
i = np.arange(n)
chosen = np.array(sorted_positions(global_positions, n), dtype=int)
is_global = np.zeros(n, dtype=bool)
is_global[chosen] = True
low, high = np.maximum(i - pattern.window, 0), np.minimum(i + pattern.window, n - 1)
if pattern.causal:
    high = i
rows = high - low + 1 + np.searchsorted(chosen, low)
if not pattern.causal:
    rows += len(chosen) - np.searchsorted(chosen, high, side="right")
for s in set(pattern.strides):
    if s > pattern.window:
        rows[s:] += ~is_global[:max(n - s, 0)]
        if not pattern.causal:
            rows[:max(n - s, 0)] += ~is_global[s:]
if not pattern.causal:
    rows[is_global] = n
count = int(rows.sum())
--- sparse_attention
B, H, T, D = q.shape
chosen = torch.tensor(sorted_positions(global_positions, T), dtype=torch.long)
w = min(pattern.window, T)
block, step = 64, 4
blocks = -(-T // block)
scale = D ** -0.5
spare = blocks * block - T
behind, ahead = F.pad(k, (0, 0, w, w + spare)), F.pad(v, (0, 0, w, w + spare))
windows = [x.unfold(2, block + 2 * w, block) for x in (behind, ahead)]
# (B, H, blocks, D, block + 2 w)
padded = F.pad(q, (0, 0, 0, spare)).view(B, H, blocks, block, D)
shifts = [-s for s in set(pattern.strides) if s > pattern.window]
shifts += [] if pattern.causal else [-s for s in shifts]

def piece(scores, mask, values):
    """The result of a part of each row, and the logarithm of the sum of its exponentials; 0 and
    -inf where the part is empty.
    """
    scores = scores.masked_fill(~mask, -math.inf)
    empty = ~mask.any(-1, keepdim=True)
    total = scores.masked_fill(empty, 0.0).logsumexp(-1, keepdim=True)
    weights = (scores - total).exp()
    return weights @ values, total.masked_fill(empty, -math.inf)

outputs = []
for b in range(0, blocks, step):
    some = padded[:, :, b:b + step]
    rows = torch.arange(b * block, b * block + some.size(2) * block).view(-1, block, 1)
    columns = torch.arange(block + 2 * w) - w + (rows[:, :1] // block) * block
    mask = ((rows - columns).abs() <= w) & (columns >= 0) & (columns < T)
    mask = mask & (columns <= rows) if pattern.causal else mask
    # what is cut off in the end attends to something
    mask = mask | (rows >= T) & (columns == rows[:, :1])
    near = [window[:, :, b:b + step] for window in windows]
    parts = [piece(some @ near[0] * scale, mask, near[1].transpose(-2, -1))]
    if len(chosen):
        mask = ~is_local(rows - chosen, pattern) & ((rows >= chosen) | (not pattern.causal))
        to_chosen = some @ k[:, :, None, chosen].transpose(-2, -1) * scale
        parts.append(piece(to_chosen, mask, v[:, :, None, chosen]))
    for s in shifts:
        place = (rows + s)[..., 0]
        there = (place >= 0) & (place < T)
        place = place.clamp(0, T - 1)
        score = (some * k[:, :, place]).sum(-1, keepdim=True) * scale
        parts.append((v[:, :, place], score.masked_fill(~there[..., None], -math.inf)))
    total = torch.cat([part[1] for part in parts], dim=-1).logsumexp(-1, keepdim=True)
    outputs.append(sum(result * (one - total).exp() for result, one in parts).flatten(2, 3))
output = torch.cat(outputs, dim=2)[:, :, :T]
if not pattern.causal:
    rows = [F.scaled_dot_product_attention(q[:, :, g:g + 1], k, v) for g in chosen.tolist()]
    for g, row in zip(chosen.tolist(), rows):
        output[:, :, g:g + 1] = row
--- efficient_attention.py: import re
import copy
import re
--- SparseSelfAttention.from_dense
sparse = cls(attention.key.in_features, attention.n_head, pattern)
for name in ("query", "key", "value", "proj"):
    setattr(sparse, name, copy.deepcopy(getattr(attention, name)))
if attention.rope:
    size = attention.rope_cache.size(0)
    longest = max_positions if max_positions is not None else size
    if longest <= size:
        sparse.rope_cache = attention.rope_cache[:longest].clone()
    else:
        head_dim = sparse.key.out_features // sparse.n_head
        angle = (
            np.arange(longest)[:, None]
            * size
            / longest
            / 10000 ** (np.arange(0, head_dim, 2) / head_dim)
        )
        sparse.rope_cache = torch.tensor(
            np.stack((np.cos(angle), np.sin(angle)), axis=-1), dtype=torch.float32
        )
--- StreamingAttention
self.size = max((attention.pattern.window, *attention.pattern.strides))
self.old, self.special = [], []         # [position, key, value]: the last ones, and the global ones
--- StreamingAttention.append
t = x.shape[1]
flags = torch.zeros(t, dtype=torch.bool) if is_global is None else torch.as_tensor(list(is_global))
if t < 1 or len(flags) != t:
    raise ValueError("as many booleans as positions, and at least one")
q, k, v = self.attention.project(x, start=self.length)
rows = []
for n in range(t):
    i = self.length + n
    entry = [i, k[:, :, n:n + 1].clone(), v[:, :, n:n + 1].clone()]
    if flags[n] and len(self.special) < self.max_global:
        self.special.append(entry)
        self.global_positions = [position for position, *_ in self.special]
    else:
        self.old.append(entry)
    distances = set(range(self.attention.pattern.window + 1)) | set(self.attention.pattern.strides)
    seen = self.special + [one for one in self.old if i - one[0] in distances]
    keys, values = (
        torch.cat([one[1] for one in seen], dim=2),
        torch.cat([one[2] for one in seen], dim=2),
    )
    weights = (q[:, :, n:n + 1] @ keys.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(3)
    rows.append(weights @ values)
    self.old = [one for one in self.old if one[0] > i - self.size]
self.length = self.length + t
y = self.attention.proj(torch.cat(rows, dim=2).transpose(1, 2).reshape(x.shape))
--- StreamingAttention.cached_positions
positions = sorted(position for position, *_ in self.old + self.special)
--- StreamingAttention.cache_bytes
size = sum(
    part.numel() * part.element_size() for _, *parts in self.old + self.special for part in parts
)
--- ask
q = attention.split_heads(attention.query(x))
B, n = x.shape[:2]
keys, values = memory.keys[None].expand(B, -1, -1, -1), memory.values[None].expand(B, -1, -1, -1)
y = attention.proj(attention.join_heads(F.scaled_dot_product_attention(q, keys, values)))
scores = (q @ keys.mT) / q.size(-1) ** 0.5
parts = torch.stack([part.logsumexp(-1) for part in scores.split(memory.lengths, dim=-1)], dim=-1)
shares = parts.softmax(dim=-1).mean(dim=1)
''')
