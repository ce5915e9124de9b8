"""Wrong sines and cosines, shifts, RoPE scores, ALiBi and interpolation (question 6c)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

MATRIX, SHIFT, ROPE, OTHERS = (f"6c-{n}-basic" for n in range(4, 8))
LARGE, FAR, REFUSED, ANYWHERE = "6c-8-hidden", "6c-9-hidden", "6c-10-basic", "6c-11-basic"


NEGATIVE = """if min([*query_positions, *key_positions], default=0) < 0:
    raise ValueError('negative')"""
UNEQUAL = """if not query_positions or len(query_positions) != len(key_positions):
    raise ValueError('not as many')"""


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


def scores(query: str = "query_positions", key: str = "key_positions",
           result: str = "(a * b).sum(dim=-1)",
           table: str = "precompute_rotary_emb(len(q), max(*query_positions, *key_positions) + 1)",
           check: str = f"{NEGATIVE}\n{UNEQUAL}") -> tuple[Fill]:
    """A right body of rope_scores with some of its expressions replaced."""
    return (Fill("rope_scores", f"{check}\ntable = {table}\nP = len(query_positions)\n"
                                f"a = apply_rotary_emb(q.expand(1, 1, P, len(q)), "
                                f"table[{query}])[0, 0]\n"
                                f"b = apply_rotary_emb(k.expand(1, 1, P, len(q)), "
                                f"table[{key}])[0, 0]\nreturn {result}"),)


FORMULA = [
    slip("sinusoids-cosine-first", "Cosines are in the even columns; sines should be.",
         at(columns="np.stack((np.cos(a), np.sin(a)), axis=-1)"), (MATRIX, LARGE)),
    slip("sinusoids-few-digits", "The logarithm of 10000 is written with six digits.",
         frequencies("np.exp(np.arange(0, d_model, 2) * (-9.21034 / d_model))"),
         (MATRIX, SHIFT, LARGE, FAR)),
    misconception("sinusoids-last-is-base",
         "The exponent is divided by d_model - 2, so that the last frequency is 1/10000.",
         frequencies("np.geomspace(1, 1e-4, d_model // 2)"), (MATRIX, SHIFT, LARGE, FAR)),
    slip("sinusoidal-table-of-1024", "The rows are those of a table that ends at 1,024.",
         edit("return sinusoidal_at(np.arange(max_length), d_model)",
              "return sinusoidal_at(np.arange(1024), d_model)[:max_length]"), (MATRIX,)),
    misconception("sinusoids-float32-angles",
         "Angles are float32, and the result is made float64 again.",
         at(before="positions = np.asarray(positions, np.float32)",
            angles="np.outer(positions, frequencies(d_model).astype(np.float32))",
            after="vectors = vectors.astype(float)\n"), (MATRIX, LARGE)),
    misconception("sinusoids-table-lookup",
         "sinusoidal_at takes rows of a table, and so loses fractions.",
         (Fill("sinusoidal", "if max_length < 0:\n    raise ValueError(max_length)\n"
                             "a = np.outer(np.arange(max_length), frequencies(d_model))\n"
                             "return np.stack((np.sin(a), np.cos(a)), "
                             "axis=-1).reshape(max_length, d_model)"),
          Fill("sinusoidal_at", "return sinusoidal(2000, d_model)[np.asarray(positions, int)]")),
         (MATRIX, LARGE)),
    slip("sinusoids-kept-by-shape",
         "The vectors are those of an earlier call with as many positions.",
         at(before="key = f'{len(positions)} {d_model}'\nkept = sinusoidal_at.__dict__\n"
                   "if key in kept:\n    return kept[key]",
            after="kept[key] = vectors\n"), (MATRIX,)),
    edge("sinusoids-no-negative", "Negative positions are treated as 0.",
         at(before="positions = np.maximum(positions, 0)"), (ANYWHERE,)),
    edge("sinusoids-float32-stays", "Positions in float32 give angles in float32.",
         at(angles="positions[:, None] * frequencies(d_model).astype(positions.dtype)",
            before="positions = positions if positions.dtype.kind == 'f' else "
                   "positions.astype(float)"), (ANYWHERE,)),
    slip("sinusoids-in-place", "The caller's positions are changed.",
         at(before="positions = np.asarray(positions)",
            after="if positions.dtype == float:\n    positions *= 0\n"), (MATRIX, LARGE)),
    edge("sinusoids-odd-width", "An odd width is cut.",
         (Fill("frequencies", "d_model -= d_model % 2\n"
                              "return 10000.0 ** (-np.arange(0, d_model, 2) / d_model)"),
          Fill("sinusoidal_at",
               "a = np.outer(np.asarray(positions, float), frequencies(d_model))\n"
                                "return np.stack((np.sin(a), np.cos(a)), axis=-1).reshape(len(a), "
                                "d_model // 2 * 2)")), (REFUSED,)),
    edge("sinusoids-negative-length",
         "A negative length gives no rows; it should raise ValueError.",
         edit("    if max_length < 0:\n", "    if False:\n"), (REFUSED,)),
]

SHIFTS = [
    misconception("shift-transposed",
         "It is transposed: PE[p] is a row and on the left, PE[p + k] = PE[p] @ M.",
         edit("np.sin(angles), -np.sin(angles)", "-np.sin(angles), np.sin(angles)"), (SHIFT, FAR)),
    misconception("shift-least-squares",
          "The matrix is fitted to the first vectors.", (Fill("shift_matrix", '''
P = 2 * d_model
A = sinusoidal_at(np.arange(P), d_model)
B = sinusoidal_at(np.arange(P) + k, d_model)
return np.linalg.lstsq(A, B, rcond=None)[0]
'''),), (SHIFT, FAR)),
]

SWAPPED = "The positions are swapped; or attention.py, which is used here, turns the other way."
ROTATION = [
    misconception("rope-scores-scaled", "The scores are scaled; here they should not be.",
         scores(result="(a * b).sum(dim=-1) / len(q) ** 0.5"), (ROPE, FAR)),
    misconception("rope-scores-by-entry",
         "Entry j is rotated to position j. apply_rotary_emb uses row t of the table for row t of "
         "x: pass it the rows of the positions, table[query_positions].",
         scores(query=":P", key=":P",
         table="precompute_rotary_emb(len(q), len(query_positions))"), (ROPE, FAR)),
    slip("rope-scores-exchanged", SWAPPED,
         scores(query="key_positions", key="query_positions"), (ROPE, FAR)),
    slip("rope-scores-table-of-128", "The table is made for 128 positions.",
         scores(table="precompute_rotary_emb(len(q), 128)"), (ROPE,)),
    slip("rope-scores-kept-by-shape",
         "The scores are those of an earlier call with the same shapes.",
         scores(check=f"{NEGATIVE}\n{UNEQUAL}\nkept = rope_scores.__dict__\n"
                      "key = f'{q.dtype} {len(q)} {len(query_positions)}'\n"
                      "if key in kept:\n    return kept[key]",
                result="kept.setdefault(key, (a * b).sum(dim=-1))"), (ROPE,)),
    slip("rope-scores-sorts", "The caller's lists are sorted.",
         scores(check="query_positions.sort()\nkey_positions.sort()"), (ROPE, FAR)),
    edge("rope-scores-negative", "Negative positions are rows counted from the end of the table.",
         scores(check=UNEQUAL), (REFUSED,)),
    edge("rope-scores-of-none", "No positions give no scores; they should raise ValueError.",
         scores(check=NEGATIVE + "\nif len(query_positions) != len(key_positions):\n"
                                 "    raise ValueError('not as many')\n"
                      "if not query_positions:\n    return q.new_zeros(0)"), (REFUSED,)),
    misconception("rope-scores-halves",
         "apply_rotary_emb in attention.py takes pairs from the two halves of a vector; they "
         "should be adjacent. Fix that first.",
         (Edit("attention.py", "a, b = x[..., 0::2], x[..., 1::2]", "a, b = x.chunk(2, dim=-1)"),),
         (ROPE, FAR)),
]

NEWER = [
    slip("alibi-mixed-slopes", "The slopes of the next power of two are mixed in. Here one formula "
                               "serves for every n_head.",
         (Fill("alibi_bias", '''
def slopes_of(n):
    if n & (n - 1) == 0:
        return [2.0 ** (-8 * (h + 1) / n) for h in range(n)]
    power = 1 << (n.bit_length() - 1)
    return slopes_of(power) + slopes_of(2 * power)[0::2][:n - power]

position = np.arange(T)
return -np.array(slopes_of(n_head))[:, None, None] * np.abs(position[:, None] - position[None, :])
'''),), (OTHERS, LARGE)),
    misconception("alibi-one-side", "Later keys have no bias; the distance is |i - j|.",
         edit("np.abs(position[:, None] - position[None, :])",
              "np.maximum(position[:, None] - position[None, :], 0)"), (OTHERS, LARGE)),
    slip("interpolated-unchecked", "No length is refused.",
         edit("    if T < 1 or trained_length < 1:\n", "    if False:\n"), (REFUSED,)),
    misconception("interpolated-to-the-end",
         "The last position becomes trained_length - 1; each should be multiplied by "
         "trained_length / T.",
         edit("np.arange(T) * min(1.0, trained_length / T)",
              "np.linspace(0, min(T, trained_length) - 1, T)"), (OTHERS, LARGE)),
    slip("interpolated-integers",
         "Where all fit, positions are whole numbers in an integer array; float64 is right.",
         edit("return np.arange(T) * min(1.0, trained_length / T)",
              "return np.arange(T) if T <= trained_length else np.arange(T) * trained_length / T"),
         (OTHERS, LARGE)),
]

MISTAKES = FORMULA + SHIFTS + ROTATION + NEWER
