"""Right positions that look different (question 6c)."""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right("positions_loops", "Frequencies by exp, columns in a loop, the shift by Kronecker "
                             "products, RoPE one by one.", (
        Fill("frequencies", '''
if d_model <= 0 or d_model % 2 != 0:
    raise ValueError("d_model")
return np.exp(-np.log(10000.0) * np.arange(0, d_model, 2) / d_model)
'''),
        Fill("sinusoidal", '''
if max_length < 0:
    raise ValueError("max_length")
table = np.zeros((max_length, d_model if d_model > 0 else 0))
for i, w in enumerate(frequencies(d_model)):
    table[:, 2 * i] = np.sin(np.arange(max_length) * w)
    table[:, 2 * i + 1] = np.cos(np.arange(max_length) * w)
return table
'''),
        Fill("sinusoidal_at", '''
p = np.array(positions, dtype=float).reshape(-1, 1)
w = np.repeat(frequencies(d_model), 2)
return np.where(np.arange(d_model) % 2 == 0, np.sin(p * w), np.cos(p * w))
'''),
        Fill("shift_matrix", '''
w = frequencies(d_model)
same, turn = np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]])
return np.kron(np.diag(np.cos(k * w)), same) + np.kron(np.diag(np.sin(k * w)), turn)
'''),
        Fill("rope_scores", '''
if any(p < 0 for p in [*query_positions, *key_positions]) or not 0 < len(query_positions) == len(key_positions):
    raise ValueError("negative, none, or not as many")
result = q.new_empty(len(query_positions))
for j, (m, n) in enumerate(zip(query_positions, key_positions)):
    table = precompute_rotary_emb(q.numel(), max(m, n) + 1)
    a = apply_rotary_emb(q.view(1, 1, 1, -1), table[m:m + 1])
    b = apply_rotary_emb(k.view(1, 1, 1, -1), table[n:n + 1])
    result[j] = torch.dot(a.flatten(), b.flatten())
return result
'''),
        Fill("alibi_bias", '''
if min(n_head, T) <= 0:
    raise ValueError("n_head or T")
bias = np.zeros((n_head, T, T))
for h in range(n_head):
    m = 2 ** (-8 * (h + 1) / n_head)
    for i in range(T):
        for j in range(T):
            bias[h, i, j] = -m * abs(i - j)
return bias
'''),
        Fill("interpolated_positions", '''
for length in (T, trained_length):
    if length < 1:
        raise ValueError(f"{length} positions")
positions = np.arange(T, dtype=np.float64)
if T > trained_length:
    positions *= trained_length / T
return positions
'''),
    )),
    Right("positions_complex",
          "A pair is a complex number; RoPE rotates whole sequences.", (
        Fill("sinusoidal_at", '''
turn = np.exp(1j * np.asarray(positions, dtype=np.float64)[:, None] * frequencies(d_model)[None, :])
return np.stack((turn.imag, turn.real), axis=2).reshape(-1, d_model) if len(turn) else np.zeros((0, d_model))
'''),
        Fill("shift_matrix", '''
w = k / (10000.0 ** (np.arange(0, d_model, 2) / d_model)) if frequencies(d_model) is not None else None
blocks = np.array([[np.cos(w), -np.sin(w)], [np.sin(w), np.cos(w)]]).transpose(2, 0, 1)
M = np.zeros((d_model // 2, 2, d_model // 2, 2))
M[np.arange(d_model // 2), :, np.arange(d_model // 2), :] = blocks
return M.reshape(d_model, d_model)
'''),
        Fill("rope_scores", '''
both = torch.tensor([list(query_positions), list(key_positions)])          # lists of unequal lengths are a ValueError here
if both.numel() == 0 or both.min() < 0:
    raise ValueError("no position, or a negative one")
length = int(both.max()) + 1
table = precompute_rotary_emb(q.shape[0], length)
everywhere = torch.stack((q, k.to(q))).view(1, 2, 1, -1).repeat(1, 1, length, 1)
a, b = apply_rotary_emb(everywhere, table)[0]
return torch.einsum("pd,pd->p", a[both[0]], b[both[1]])
'''),
        Fill("alibi_bias", '''
if not (n_head > 0 and T > 0):
    raise ValueError((n_head, T))
slope = np.power(2.0, -8.0 / n_head) ** np.arange(1, n_head + 1)
i = np.arange(T)
return np.einsum("h,ij->hij", slope, -1.0 * abs(np.subtract.outer(i, i)))
'''),
    )),
    Right("positions_with_float32_rope",
          "RoPE's table is made of angles in float32, which question 1h allows.", (
        Edit("attention.py", "torch.arange(dim // 2, dtype=torch.float64)",
             "torch.arange(dim // 2, dtype=torch.float32)"),
        Edit("attention.py", "torch.arange(max_positions, dtype=torch.float64)",
             "torch.arange(max_positions, dtype=torch.float32)"),
        Fill("rope_scores", '''
if len(query_positions) != len(key_positions):
    raise ValueError("not as many")
if min(min(query_positions), min(key_positions)) < 0:       # min raises ValueError where there are none
    raise ValueError("negative position")
table = precompute_rotary_emb(q.size(0), 1 + max(max(query_positions), max(key_positions)))

def rotate(x, p):
    rows = x[None, None, None].expand(1, 1, len(p), x.size(0))
    return apply_rotary_emb(rows, table[torch.tensor(p)]).squeeze(0).squeeze(0)

return (rotate(q, query_positions)[:, None] @ rotate(k, key_positions)[:, :, None]).flatten()
'''),
    )),
]
