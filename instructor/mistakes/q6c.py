"""Wrong sines and cosines, shifts, RoPE scores, ALiBi and interpolation (question 6c)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

MATRIX, SHIFT, ROPE, OTHERS = (f"6c-{n}-basic" for n in range(4, 8))
LARGE, FAR, REFUSED, ANYWHERE = "6c-8-hidden", "6c-9-hidden", "6c-10-basic", "6c-11-basic"


NEGATIVE = "if min([*query_positions, *key_positions], default=0) < 0:\n    raise ValueError('negative')"
UNEQUAL = "if not query_positions or len(query_positions) != len(key_positions):\n    raise ValueError('not as many')"
REFUSAL = """    if d_model < 2 or d_model % 2:
        raise ValueError(f"d_model must be even and at least 2, not {d_model}")
"""


def edit(old: str, new: str) -> tuple[Edit]:
    """Another line in positions.py."""
    return (Edit("positions.py", old, new),)


def at(angles: str = "np.outer(positions, frequencies(d_model))",
       columns: str = "np.stack((np.sin(a), np.cos(a)), axis=-1)",
       before: str = "positions = np.asarray(positions, float)", after: str = "") -> tuple[Fill]:
    """A right body of sinusoidal_at with some of its expressions replaced."""
    return (Fill("sinusoidal_at",
                 f"{before}\na = {angles}\nvectors = {columns}.reshape(len(a), d_model)\n{after}"
                                  "return vectors"),)


def frequencies(values: str) -> tuple[Fill]:
    """Other frequencies."""
    return (Fill("frequencies",
                 f"if d_model < 2 or d_model % 2:\n    raise ValueError(d_model)\nreturn {values}"),
            )


def block(upper: str = "c, -s", lower: str = "s, c", angle: str = "k * w",
          before: str = "") -> tuple[Fill]:
    """A right body of shift_matrix with other blocks."""
    return (Fill("shift_matrix", f"{before}\nM = np.zeros((d_model, d_model))\n"
                                 "for i, w in enumerate(frequencies(d_model)):\n"
                          f"    c, s = np.cos({angle}), np.sin({angle})\n"
                          f"    M[2 * i:2 * i + 2, 2 * i:2 * i + 2] = [[{upper}], [{lower}]]\n"
                          "return M"),)


def scores(query: str = "query_positions", key: str = "key_positions",
           result: str = "(a * b).sum(dim=-1)",
           q: str = "q", k: str = "k",
           table: str = "precompute_rotary_emb(len(q), max(*query_positions, *key_positions) + 1)",
           check: str = f"{NEGATIVE}\n{UNEQUAL}") -> tuple[Fill]:
    """A right body of rope_scores with some of its expressions replaced."""
    return (Fill("rope_scores", f"{check}\ntable = {table}\nP = len(query_positions)\n"
                                f"a = apply_rotary_emb({q}.expand(1, 1, P, len(q)), "
                                f"table[{query}])[0, 0]\n"
                                f"b = apply_rotary_emb({k}.expand(1, 1, P, len(q)), "
                                f"table[{key}])[0, 0]\nreturn {result}"),)


FORMULA = [
    slip("sinusoids-cosine-first", "Cosines stand in the even columns.",
         at(columns="np.stack((np.cos(a), np.sin(a)), axis=-1)"), (MATRIX, LARGE)),
    slip("sinusoids-in-halves", "All sines stand first.",
         at(columns="np.concatenate((np.sin(a), np.cos(a)), axis=1)"), (MATRIX, LARGE)),
    misconception("sinusoids-no-factor-two", "The exponent is i / d_model.",
          frequencies("10000.0 ** (-np.arange(d_model // 2) / d_model)"),
          (MATRIX, SHIFT, LARGE, FAR)),
    misconception("sinusoids-factor-twice", "The numbers of columns are taken twice.",
          frequencies("10000.0 ** (-2 * np.arange(0, d_model, 2) / d_model)"),
          (MATRIX, SHIFT, LARGE, FAR)),
    misconception("sinusoids-column-by-column", "Each column has its own frequency.",
          (Fill("sinusoidal_at", "frequencies(d_model)\nj = np.arange(d_model)\n"
                                 "a = np.outer(np.asarray(positions, float), 10000.0 ** (-j / "
                                 "d_model))\n"
                                 "return np.where(j % 2, np.cos(a), np.sin(a))"),), (MATRIX, LARGE)),
    slip("sinusoids-whole-exponents", "The exponent is rounded down.",
         frequencies("10000.0 ** (-(np.arange(0, d_model, 2) // d_model))"),
         (MATRIX, SHIFT, LARGE, FAR)),
    slip("sinusoids-few-digits", "The logarithm of 10000 is written with six digits.",
         frequencies("np.exp(np.arange(0, d_model, 2) * (-9.21034 / d_model))"),
         (MATRIX, SHIFT, LARGE, FAR)),
    misconception("sinusoids-last-is-base", "The frequencies end at 1/10000 exactly.",
          frequencies("np.geomspace(1, 1e-4, d_model // 2)"), (MATRIX, SHIFT, LARGE, FAR)),
    misconception("sinusoids-rise", "The frequencies rise.",
          frequencies("10000.0 ** (np.arange(0, d_model, 2) / d_model)"),
          (MATRIX, SHIFT, LARGE, FAR)),
    slip("sinusoidal-from-one", "Positions count from 1.",
         edit("return sinusoidal_at(np.arange(max_length), d_model)",
              "return sinusoidal_at(np.arange(1, max_length + 1), d_model)"), (MATRIX, LARGE)),
    misconception("sinusoids-float32-angles",
          "Angles are float32, and the result is made float64 again.",
          at(before="positions = np.asarray(positions, np.float32)",
             angles="np.outer(positions, frequencies(d_model).astype(np.float32))",
             after="vectors = vectors.astype(float)\n"), (MATRIX, LARGE)),
    slip("sinusoids-float32-frequencies", "The frequencies are float32.",
         frequencies("(10000.0 ** (-np.arange(0, d_model, 2) / d_model)).astype(np.float32)"),
         (MATRIX, SHIFT, LARGE, FAR)),
    slip("sinusoids-float32-result", "The result is float32.",
         at(after="vectors = vectors.astype(np.float32)\n"), (MATRIX, LARGE)),
    slip("sinusoids-torch", "torch computes in float32, and NumPy gets the result.",
         at(columns="torch.stack((torch.tensor(a).float().sin(), torch.tensor(a).float().cos()), "
                    "dim=-1).double().numpy()"), (MATRIX, LARGE)),
    slip("sinusoids-tensor", "The result is a tensor.",
         at(after="vectors = torch.from_numpy(vectors)\n"), (MATRIX, LARGE)),
    misconception("sinusoids-table-lookup", "sinusoidal_at takes rows of a table.",
          (Fill("sinusoidal", "if max_length < 0:\n    raise ValueError(max_length)\n"
                              "a = np.outer(np.arange(max_length), frequencies(d_model))\n"
                              "return np.stack((np.sin(a), np.cos(a)), "
                              "axis=-1).reshape(max_length, d_model)"),
           Fill("sinusoidal_at", "return sinusoidal(2000, d_model)[np.asarray(positions, int)]")),
          (MATRIX, LARGE)),
    misconception("sinusoids-rounded-positions", "Positions are made whole numbers.",
          at(before="positions = np.asarray(positions).astype(int)"), (MATRIX, LARGE)),
    edge("sinusoids-no-negative", "Negative positions are taken as 0.",
         at(before="positions = np.maximum(positions, 0)"), (ANYWHERE,)),
    edge("sinusoids-float32-stays", "Positions in float32 give angles in float32.",
         at(angles="positions[:, None] * frequencies(d_model).astype(positions.dtype)",
            before="positions = positions if positions.dtype.kind == 'f' else "
                   "positions.astype(float)"), (ANYWHERE,)),
    slip("sinusoids-in-place", "The caller's positions are changed.",
         at(before="positions = np.asarray(positions)",
            after="if positions.dtype == float:\n    positions *= 0\n"), (MATRIX, LARGE)),
    slip("sinusoids-sorted", "Positions are sorted.", at(before="positions = np.sort(positions)"),
         (MATRIX, LARGE)),
    edge("sinusoids-no-empty", "No positions are refused.",
         at(before="positions = np.asarray(positions, float)\npositions[0]"), (ANYWHERE,)),
    edge("sinusoids-odd-width", "An odd width is cut.",
         (Fill("frequencies", "d_model -= d_model % 2\n"
                              "return 10000.0 ** (-np.arange(0, d_model, 2) / d_model)"),
          Fill("sinusoidal_at",
               "a = np.outer(np.asarray(positions, float), frequencies(d_model))\n"
                                "return np.stack((np.sin(a), np.cos(a)), axis=-1).reshape(len(a), "
                                "d_model // 2 * 2)")), (REFUSED,)),
    edge("sinusoids-odd-width-fails", "An odd width ends with NumPy's error of shapes, or none.",
         edit(REFUSAL, ""), (REFUSED,)),
    edge("sinusoids-width-of-zero", "No width is a width.",
         edit("if d_model < 2 or d_model % 2:", "if d_model % 2:"), (REFUSED,)),
    slip("sinusoids-asserted", "An odd width raises AssertionError.",
         edit(REFUSAL, "    assert d_model >= 2 and d_model % 2 == 0\n"), (REFUSED,)),
    edge("sinusoids-negative-length", "A negative length gives no rows.",
         edit("    if max_length < 0:\n", "    if False:\n"), (REFUSED,)),
]

SHIFTS = [
    misconception("shift-transposed", "The vector is taken for a column.", block("c, s", "-s, c"),
          (SHIFT, FAR)),
    misconception("shift-no-sign", "Both sines are positive.", block("c, s", "s, c"), (SHIFT, FAR)),
    slip("shift-cosine-first", "The block is that of pairs (cosine, sine) and columns.",
         block("s, c", "c, -s"), (SHIFT, FAR)),
    misconception("shift-by-one", "k is not used.", block(angle="w"), (SHIFT, FAR)),
    slip("shift-forward-only", "A shift back is one forward.", block(angle="abs(k) * w"),
         (SHIFT, FAR)),
    slip("shift-refuses-negative", "A shift back is refused.",
         block(before="if k < 0:\n    raise ValueError('k')"), (SHIFT, FAR)),
    misconception("shift-of-halves", "The vectors have all sines first.", (Fill("shift_matrix", '''
w = k * frequencies(d_model)
C, S = np.diag(np.cos(w)), np.diag(np.sin(w))
return np.block([[C, -S], [S, C]])
'''),), (SHIFT, FAR)),
    misconception("shift-least-squares",
          "The matrix is fitted to the first vectors.", (Fill("shift_matrix", '''
P = 2 * d_model
A = sinusoidal_at(np.arange(P), d_model)
B = sinusoidal_at(np.arange(P) + k, d_model)
return np.linalg.lstsq(A, B, rcond=None)[0]
'''),), (SHIFT, FAR)),
    slip("shift-power-float32",
         "The matrix of a shift of 1 in float32 is raised to the k-th power.", (Fill("shift_matrix", '''
M = np.zeros((d_model, d_model), np.float32)
for i, w in enumerate(frequencies(d_model)):
    M[2 * i:2 * i + 2, 2 * i:2 * i + 2] = [[np.cos(w), -np.sin(w)], [np.sin(w), np.cos(w)]]
return np.linalg.matrix_power(M if k >= 0 else M.T, abs(k)).astype(float)
'''),), (SHIFT, FAR)),
    misconception("shift-diagonal-alone",
          "The blocks have no sines.", block("c, 0", "0, c"), (SHIFT, FAR)),
]

ROTATION = [
    misconception("rope-scores-scaled", "The scores are scaled.",
          scores(result="(a * b).sum(dim=-1) / len(q) ** 0.5"), (ROPE, FAR)),
    misconception("rope-scores-key-not-rotated",
          "Only the query is rotated.", scores(key="[0] * P"), (ROPE, FAR)),
    misconception("rope-scores-query-not-rotated",
          "Only the key is rotated.", scores(query="[0] * P"), (ROPE, FAR)),
    misconception("rope-scores-by-entry",
          "Entry j is rotated to position j.", scores(query=":P", key=":P",
          table="precompute_rotary_emb(len(q), len(query_positions))"), (ROPE, FAR)),
    slip("rope-scores-exchanged", "The positions are swapped.",
         scores(query="key_positions", key="query_positions"), (ROPE, FAR)),
    misconception("rope-scores-all-pairs", "All queries meet all keys.", scores(result="a @ b.T"),
          (ROPE, FAR)),
    slip("rope-scores-short-table", "The table ends before the last position.",
         scores(table="precompute_rotary_emb(len(q), max(*query_positions, *key_positions))"),
         (ROPE, FAR)),
    slip("rope-scores-small-table", "The table is made for 32 positions.",
         scores(table="precompute_rotary_emb(len(q), 32)"), (ROPE, FAR)),
    slip("rope-scores-float64", "The scores are float64.",
         scores(result="(a.double() * b.double()).sum(dim=-1)"), (ROPE, FAR)),
    slip("rope-scores-float32", "The scores are float32.", scores(q="q.float()", k="k.float()"),
         (ROPE, FAR)),
    slip("rope-scores-bfloat16", "The vectors are rounded.",
         scores(q="q.bfloat16().to(q.dtype)", k="k.bfloat16().to(q.dtype)"), (ROPE, FAR)),
    slip("rope-scores-list", "The scores are a list.",
         scores(result="(a * b).sum(dim=-1).tolist()"), (ROPE, FAR)),
    misconception("rope-scores-opposite", "The key is turned the other way.",
          scores(result="(a * apply_rotary_emb(k.expand(1, 1, P, len(q)), back)[0, 0]).sum(dim=-1)",
                 table="precompute_rotary_emb(len(q), 99)\n"
                       "back = table[key_positions] * torch.tensor([1, -1])"), (ROPE, FAR)),
    slip("rope-scores-sorts", "The caller's lists are sorted.",
         scores(check="query_positions.sort()\nkey_positions.sort()"), (ROPE, FAR)),
    slip("rope-scores-one-position", "Every entry gets the first pair of positions.",
         scores(query="query_positions[:1] * P", key="key_positions[:1] * P"), (ROPE, FAR)),
    edge("rope-scores-negative", "Negative positions are rows counted from the end of the table.",
         scores(check=UNEQUAL), (REFUSED,)),
    edge("rope-scores-negative-key", "Only the queries' positions are looked at.",
         scores(check=UNEQUAL
                + "\nif min(query_positions) < 0:\n    raise ValueError('negative')"), (REFUSED,)),
    edge("rope-scores-negative-index-error", "Negative positions raise IndexError.",
         scores(check=f"{UNEQUAL}\n{NEGATIVE}".replace("ValueError('negative",
             "IndexError('negative")), (REFUSED,)),
    edge("rope-scores-broadcast", "One position is paired with all of the other list.",
         scores(check=NEGATIVE
                + "\nif not query_positions or not key_positions:\n    raise ValueError('none')",
                table="precompute_rotary_emb(len(q), max(*query_positions, *key_positions) + 1)\n"
                      "query_positions = query_positions * (1 if len(query_positions) > 1 else "
                      "len(key_positions))\nkey_positions = key_positions * (1 if "
                      "len(key_positions) > 1 else len(query_positions))"), (REFUSED,)),
    edge("rope-scores-of-none", "No positions give no scores.",
         scores(check=NEGATIVE + "\nif len(query_positions) != len(key_positions):\n"
                                 "    raise ValueError('not as many')\n"
                      "if not query_positions:\n    return q.new_zeros(0)"), (REFUSED,)),
    misconception("rope-scores-zeros", "Scores at one distance are the same, whatever they are.",
          scores(result="0 * (a * b).sum(dim=-1)"), (ROPE, FAR)),
    misconception("rope-scores-turned-back", "attention.py rotates by the negative angle.",
          (Edit("attention.py", "rope_cache = torch.stack((angles.cos(), angles.sin())",
                "rope_cache = torch.stack((angles.cos(), -angles.sin())"),), (ROPE, FAR)),
    misconception("rope-scores-halves", "attention.py rotates the two halves of a vector.",
          (Edit("attention.py", "a, b = x[..., 0::2], x[..., 1::2]", "a, b = x.chunk(2, dim=-1)"),),
          (ROPE, FAR)),
]

NEWER = [
    misconception("alibi-positive", "What is farther gets more.",
          edit("return -slopes[:, None, None] *", "return slopes[:, None, None] *"),
          (OTHERS, LARGE)),
    slip("alibi-slope-of-one", "The first slope is 1.",
         edit("np.arange(1, n_head + 1) / n_head", "np.arange(n_head) / n_head"), (OTHERS, LARGE)),
    misconception("alibi-powers", "The slopes are 1/2, 1/4, ... for every number of heads.",
          edit("2.0 ** (-8 * np.arange(1, n_head + 1) / n_head)",
               "2.0 ** -np.arange(1.0, n_head + 1)"), (OTHERS, LARGE)),
    slip("alibi-whole-exponents", "The exponent is rounded.",
         edit("2.0 ** (-8 * np.arange(1, n_head + 1) / n_head)",
              "2.0 ** (-8 * np.arange(1, n_head + 1) // n_head)"), (OTHERS, LARGE)),
    slip("alibi-mixed-slopes", "For other numbers than powers of two, slopes are mixed as the "
                               "authors' program does.",
         (Fill("alibi_bias", '''
def slopes_of(n):
    if n & (n - 1) == 0:
        return [2.0 ** (-8 * (h + 1) / n) for h in range(n)]
    power = 1 << (n.bit_length() - 1)
    return slopes_of(power) + slopes_of(2 * power)[0::2][:n - power]

position = np.arange(T)
return -np.array(slopes_of(n_head))[:, None, None] * np.abs(position[:, None] - position[None, :])
'''),), (OTHERS, LARGE)),
    slip("alibi-causal", "A causal mask is in it.",
         edit("* np.abs(position[:, None] - position[None, :])",
              "* np.abs(position[:, None] - position[None, :]) + np.where(position[:, None] < "
              "position, -np.inf, 0)"), (OTHERS, LARGE)),
    misconception("alibi-one-side", "Later keys have no bias.",
          edit("np.abs(position[:, None] - position[None, :])",
               "np.maximum(position[:, None] - position[None, :], 0)"), (OTHERS, LARGE)),
    misconception("alibi-signed", "The distance has a sign.",
          edit("np.abs(position[:, None] - position[None, :])",
               "(position[:, None] - position[None, :])"), (OTHERS, LARGE)),
    slip("alibi-heads-last", "Heads are the last axis.",
         edit("return -slopes[:, None, None] * np.abs(position[:, None] - position[None, :])",
              "return -slopes * np.abs(position[:, None] - position[None, :])[:, :, None]"),
         (OTHERS, LARGE)),
    slip("alibi-float32", "The bias is float32.",
         edit("return -slopes[:, None, None] * np.abs(position[:, None] - position[None, :])",
              "return (-slopes[:, None, None] * np.abs(position[:, None] - position[None, "
              ":])).astype(np.float32)"), (OTHERS, LARGE)),
    edge("alibi-of-no-heads", "No heads and no positions are a bias of no entries.",
         edit("    if n_head < 1 or T < 1:\n", "    if n_head < 0 or T < 0:\n"), (REFUSED,)),
    edge("alibi-of-no-positions", "Only the heads are looked at.",
         edit("    if n_head < 1 or T < 1:\n", "    if n_head < 1:\n"), (REFUSED,)),
    edge("interpolated-to-nothing", "A model of no trained positions has all at 0.",
         edit("    if T < 1 or trained_length < 1:\n", "    if T < 1:\n"), (REFUSED,)),
    slip("interpolated-unchecked", "Nothing is refused: 0 positions end with ZeroDivisionError.",
         edit("    if T < 1 or trained_length < 1:\n", "    if False:\n"), (REFUSED,)),
    slip("interpolated-asserted", "AssertionError is raised.",
         edit("    if T < 1 or trained_length < 1:\n",
              "    assert T >= 1 and trained_length >= 1\n    if False:\n"), (REFUSED,)),
    misconception("interpolated-always", "Short sequences are stretched.",
          edit("np.arange(T) * min(1.0, trained_length / T)",
          "np.arange(T) * (trained_length / T)"), (OTHERS, LARGE)),
    misconception("interpolated-never", "Nothing is squeezed.",
          edit("np.arange(T) * min(1.0, trained_length / T)", "np.arange(float(T))"),
          (OTHERS, LARGE)),
    misconception("interpolated-to-the-end", "The last position is the last of the training.",
          edit("np.arange(T) * min(1.0, trained_length / T)",
               "np.linspace(0, min(T, trained_length) - 1, T)"), (OTHERS, LARGE)),
    slip("interpolated-upside-down", "The factor is upside down.",
         edit("min(1.0, trained_length / T)", "max(1.0, T / trained_length)"), (OTHERS, LARGE)),
    slip("interpolated-integers",
         "Where all fit, positions are whole numbers in an integer array.",
         edit("return np.arange(T) * min(1.0, trained_length / T)",
              "return np.arange(T) if T <= trained_length else np.arange(T) * trained_length / T"),
         (OTHERS, LARGE)),
    misconception("interpolated-floor", "Fractions are cut off.",
          edit("return np.arange(T) * min(1.0, trained_length / T)",
               "return np.floor(np.arange(T) * min(1.0, trained_length / T))"), (OTHERS, LARGE)),
    misconception("interpolated-clipped", "Positions beyond the training are the last one.",
          edit("return np.arange(T) * min(1.0, trained_length / T)",
               "return np.minimum(np.arange(T), trained_length - 1.0)"), (OTHERS, LARGE)),
]

MISTAKES = FORMULA + SHIFTS + ROTATION + NEWER
