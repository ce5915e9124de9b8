"""Wrong tables of rotations and wrong rotations: precompute_rotary_emb and apply_rotary_emb
(question 1h).

What uses them is in rope_model.py.
"""
from instructor.mistakes.patches import Fill, edge, misconception, slip

TABLE, TABLES = "1h-2-basic", "1h-4-hidden"
ROTATION, ROTATIONS, FORMATS = "1h-3-basic", "1h-5-hidden", "1h-11-basic"


def cache(theta: str = "10000.0 ** (-2.0 * torch.arange(dim // 2) / dim)",
          t: str = "torch.arange(max_positions)",
          angles: str = "torch.outer(t, theta)",
          table: str = "torch.stack((angles.cos(), angles.sin()), dim=-1)") -> tuple[Fill]:
    """A right body of precompute_rotary_emb with some of its expressions replaced."""
    return (Fill("precompute_rotary_emb",
                 f"theta = {theta}\nt = {t}\nangles = {angles}\nrope_cache = {table}"),)


def rotate(x: str = "x", T: str = "x.size(-2)", cut: str = "rope_cache[:T]",
           cos: str = "cut[..., 0]",
           sin: str = "cut[..., 1]", even: str = "a * cos - b * sin",
           odd: str = "a * sin + b * cos",
           out: str = "torch.stack((even, odd), dim=-1).flatten(-2)") -> tuple[Fill]:
    """A right body of apply_rotary_emb with some of its expressions replaced."""
    return (Fill("apply_rotary_emb",
                 f"T = {T}\nx_in = {x}\ncut = {cut}.to(x_in.dtype)\ncos, sin = {cos}, {sin}\n"
                           f"a, b = x_in[..., 0::2], x_in[..., 1::2]\neven = {even}\nodd = {odd}\n"
                           f"rotated_x = {out}"),)


ANGLES = [
    slip("theta-without-two", "The exponent has i where it should have 2i.",
         cache(theta="10000.0 ** (-torch.arange(dim // 2) / dim)"), (TABLE, TABLES)),
    slip("theta-twice-two", "The exponent has 2i although i runs over the even numbers already.",
         cache(theta="10000.0 ** (-2.0 * torch.arange(0, dim, 2) / dim)"), (TABLE, TABLES)),
    slip("theta-exponent-positive", "The exponent lacks its minus sign.",
         cache(theta="10000.0 ** (2.0 * torch.arange(dim // 2) / dim)"), (TABLE, TABLES)),
    slip("theta-half-dimension", "The exponent is divided by half the dimension.",
         cache(theta="10000.0 ** (-2.0 * torch.arange(dim // 2) / (dim // 2))"), (TABLE, TABLES)),
    slip("theta-base-1000", "The base is 1000.",
         cache(theta="1000.0 ** (-2.0 * torch.arange(dim // 2) / dim)"), (TABLE, TABLES)),
    misconception("theta-natural-base",
          "The base is e, as if the 10000 were a part of the exponent's scale.",
          cache(theta="torch.exp(-2.0 * torch.arange(dim // 2) / dim)"), (TABLE, TABLES)),
    slip("theta-from-one", "The paper's i, which runs from 1, is used without its i - 1.",
         cache(theta="10000.0 ** (-2.0 * torch.arange(1, dim // 2 + 1) / dim)"), (TABLE, TABLES)),
    slip("theta-odd-exponents",
         "The exponent runs over the odd features 2i + 1 instead of the even ones.",
         cache(theta="10000.0 ** (-torch.arange(1, dim, 2) / dim)"), (TABLE, TABLES)),
    slip("theta-linspace", "The exponents are spread from 0 to 1 with both ends, while the last "
                           "should be less than 1.",
         cache(theta="10000.0 ** -torch.linspace(0, 1, dim // 2)"), (TABLE, TABLES)),
    slip("theta-whole-division", "The exponent is rounded down to a whole number by //.",
         cache(theta="10000.0 ** (-2 * torch.arange(dim // 2) // dim)"), (TABLE, TABLES)),
    slip("theta-as-int",
         "The thetas are turned into whole numbers, so that all but the first become 0.",
         cache(theta="(10000.0 ** (-2.0 * torch.arange(dim // 2) / dim)).long()"), (TABLE, TABLES)),
    slip("theta-reversed", "The slow rotations come first and the fast ones last.",
         cache(theta="(10000.0 ** (-2.0 * torch.arange(dim // 2) / dim)).flip(0)"),
         (TABLE, TABLES)),
    misconception("theta-all-equal", "All pairs are rotated by the same angle.",
          cache(theta="torch.ones(dim // 2)"), (TABLE, TABLES)),
    slip("theta-for-32",
         "The exponent is divided by 32, the head dimension of the assignment's model.",
         cache(theta="10000.0 ** (-2.0 * torch.arange(dim // 2) / 32)"), (TABLES,)),
    slip("angles-divided", "The position is divided by theta instead of multiplied with it.",
         cache(angles="t[:, None] / theta"), (TABLE, TABLES)),
    misconception("angles-added", "The position is added to theta instead of multiplied with it.",
          cache(angles="t[:, None] + theta"), (TABLE, TABLES)),
    slip("angles-in-degrees", "The angles are taken for degrees and turned into radians.",
         cache(angles="torch.deg2rad(torch.outer(t, theta))"), (TABLE, TABLES)),
    slip("angles-in-turns", "The angles are multiplied by two pi.",
         cache(angles="2 * math.pi * torch.outer(t, theta)"), (TABLE, TABLES)),
    slip("angles-in-half-precision", "The angles are computed in half precision.",
         cache(angles="torch.outer(t.half(), theta.half()).float()"), (TABLE, TABLES)),
    slip("positions-from-one", "Positions are counted from 1.",
         cache(t="torch.arange(1, max_positions + 1)"), (TABLE, TABLES)),
    slip("positions-backwards", "Positions are counted from the end.",
         cache(t="torch.arange(max_positions).flip(0)"), (TABLE, TABLES)),
    slip("positions-negative", "The angles are negative, so that the rotation goes the other way.",
         cache(t="-torch.arange(max_positions)"), (TABLE, TABLES)),
    slip("positions-linspace",
         "The positions are spread up to max_positions itself and are not whole.",
         cache(t="torch.linspace(0, max_positions, max_positions)"), (TABLE, TABLES)),
    misconception("positions-up-to-one",
          "The positions are divided by their number, as fractions of the sequence.",
          cache(t="torch.arange(max_positions) / max_positions"), (TABLE, TABLES)),
    misconception("positions-missing", "All positions have the same angles.",
          cache(t="torch.ones(max_positions)"), (TABLE, TABLES)),
    slip("positions-over-features", "There is a row for each feature instead of each position.",
         cache(t="torch.arange(dim)"), (TABLES,)),
    slip("positions-128",
         "The table always has 128 rows, the block size of the assignment's model.",
         cache(t="torch.arange(128)"), (TABLES,)),
    slip("positions-even", "The last position is missing where the number of positions is odd.",
         cache(t="torch.arange(max_positions // 2 * 2)"), (TABLES,)),
]

TABLE_LAYOUT = [
    slip("cache-sin-first", "Sine and cosine are swapped.",
         cache(table="torch.stack((angles.sin(), angles.cos()), dim=-1)"), (TABLE, TABLES)),
    slip("cache-sin-negated", "The sines have the wrong sign.",
         cache(table="torch.stack((angles.cos(), -angles.sin()), dim=-1)"), (TABLE, TABLES)),
    slip("cache-cosines-twice", "The cosines stand in both places.",
         cache(table="torch.stack((angles.cos(), angles.cos()), dim=-1)"), (TABLE, TABLES)),
    slip("cache-angles-alone", "The table holds the angles instead of their cosines and sines.",
         cache(table="angles"), (TABLE, TABLES)),
    slip("cache-two-first", "Cosines and sines are stacked along the first axis.",
         cache(table="torch.stack((angles.cos(), angles.sin()))"), (TABLE, TABLES)),
    slip("cache-two-in-the-middle", "Cosines and sines are stacked along the second axis.",
         cache(table="torch.stack((angles.cos(), angles.sin()), dim=1)"), (TABLE, TABLES)),
    slip("cache-flat", "Cosines and sines are put one behind the other, without an axis of their "
                       "own.",
         cache(table="torch.cat((angles.cos(), angles.sin()), dim=-1)"), (TABLE, TABLES)),
    slip("cache-flat-viewed", "The cosines are put before the sines and then viewed as pairs, "
                              "which mixes them up.",
         cache(table="torch.cat((angles.cos(), angles.sin()), dim=-1).view(max_positions, dim // "
                     "2, 2)"), (TABLE, TABLES)),
    slip("cache-complex", "The table holds complex numbers instead of their two parts.",
         cache(table="torch.polar(torch.ones_like(angles), angles)"), (TABLE, TABLES)),
    slip("cache-transposed", "Pairs run along the first axis and positions along the second.",
         cache(angles="torch.outer(theta, t)"), (TABLE, TABLES)),
    slip("cache-transposed-viewed", "Pairs run along the first axis, and a view to the right "
                                    "shape mixes the entries up.",
         cache(angles="torch.outer(theta, t).view(max_positions, dim // 2)"), (TABLE, TABLES)),
    slip("cache-entry-for-each-feature",
         "Each angle is repeated, so that there is an entry for each feature.",
         cache(angles="torch.outer(t, theta).repeat_interleave(2, dim=-1)"), (TABLE, TABLES)),
    slip("cache-half-precision", "The table is kept in half precision.",
         cache(table="torch.stack((angles.cos(), angles.sin()), dim=-1).half()"), (TABLE, TABLES)),
    slip("cache-rounded", "The table is rounded to bfloat16 and back.",
         cache(table="torch.stack((angles.cos(), angles.sin()), dim=-1).bfloat16().float()"),
         (TABLE, TABLES)),
]

PAIRS_AND_ANGLES = [
    misconception("rotate-halves",
          "A feature is paired with the one half the head away instead of its neighbor.",
          (Fill("apply_rotary_emb", "cos, sin = rope_cache[:x.size(-2)].to(x.dtype).unbind(-1)\n"
                                    "a, b = x.chunk(2, dim=-1)\n"
                          "rotated_x = torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)"),
           ), (ROTATION,)),
    misconception("rotate-half-function",
          "The features x[d/2:] and x[:d/2] are swapped with a minus sign, "
                                  "as for half-split pairs.",
          rotate(cos="cut[..., 0].repeat_interleave(2, -1)",
                 sin="cut[..., 1].repeat_interleave(2, -1)", even="x_in",
                 odd="torch.cat((-x_in.chunk(2, -1)[1], x_in.chunk(2, -1)[0]), dim=-1)",
                 out="even * cos + odd * sin"), (ROTATION,)),
    misconception("rotate-neighbors-overlap",
          "A feature is paired with the next one, whether or not that pair has begun already.",
          rotate(cos="cut[..., 0].repeat_interleave(2, -1)",
                 sin="cut[..., 1].repeat_interleave(2, -1)",
                 even="x_in", odd="x_in.roll(-1, -1)", out="even * cos - odd * sin"), (ROTATION,)),
    slip("rotate-halves-put-together",
         "The pairs are right, but the results are concatenated instead of interleaved.",
         rotate(out="torch.cat((even, odd), dim=-1)"), (ROTATION,)),
    slip("rotate-stacked-before-pairs",
         "The results are stacked on the wrong axis, so that flattening gives halves.",
         rotate(out="torch.stack((even, odd), dim=-2).flatten(-2)"), (ROTATION,)),
    slip("rotate-output-swapped", "The two features of each pair come back in the wrong order.",
         rotate(out="torch.stack((odd, even), dim=-1).flatten(-2)"), (ROTATION,)),
    slip("rotate-sin-first", "The entries of the table are read as sine and cosine.",
         rotate(cos="cut[..., 1]", sin="cut[..., 0]"), (ROTATION,)),
    slip("rotate-table-as-halves",
         "The first half of the table's pairs is read as cosines and the second as sines.",
         rotate(cos="cut.flatten(-2)[..., :x.size(-1) // 2]",
                sin="cut.flatten(-2)[..., x.size(-1) // 2:]"), (ROTATION,)),
    misconception("rotate-backwards",
          "The signs of the sines are exchanged, so that the rotation goes the other way.",
          rotate(even="a * cos + b * sin", odd="b * cos - a * sin"), (ROTATION,)),
    slip("rotate-both-signs-plus", "Both sines have a plus sign, which is no rotation.",
         rotate(even="a * cos + b * sin"), (ROTATION,)),
    slip("rotate-both-signs-minus", "Both sines have a minus sign, which is no rotation.",
         rotate(odd="b * cos - a * sin"), (ROTATION,)),
    misconception("rotate-cosines-alone", "The features are multiplied by the cosines alone.",
          rotate(even="a * cos", odd="b * cos"), (ROTATION,)),
    misconception("rotate-cos-and-sin-apart",
          "The first feature of a pair is multiplied by the cosine and "
                                      "the second by the sine.",
          rotate(even="a * cos", odd="b * sin"), (ROTATION,)),
    slip("rotate-second-from-first",
         "The second feature is computed from the first one after it was rotated.",
         rotate(odd="even * sin + b * cos"), (ROTATION,)),
    slip("rotate-second-left", "Only the first feature of each pair is changed.", rotate(odd="b"),
         (ROTATION,)),
    misconception("rotate-added",
          "Cosines and sines are added to the features, like position embeddings.",
          rotate(even="a + cos", odd="b + sin"), (ROTATION,)),
    misconception("rotate-product-as-real",
          "Features and table are multiplied entry by entry instead of as complex numbers.",
          rotate(out="(x_in.unflatten(-1, (-1, 2)) * cut).flatten(-2)"), (ROTATION,)),
    slip("rotate-real-part",
         "Only the real part of the complex product is kept, and stands for both features.",
         rotate(odd="even"), (ROTATION,)),
    slip("rotate-conjugate", "The features are conjugated before they are multiplied.",
         rotate(even="a * cos + b * sin", odd="a * sin - b * cos"), (ROTATION,)),
    misconception("rotate-scaled",
          "The result is divided by the root of 2, so that its norm is not that of x.",
          rotate(out="torch.stack((even, odd), dim=-1).flatten(-2) / math.sqrt(2)"), (ROTATION,)),
    misconception("rotate-and-add", "x is added to its rotation, like a residual.",
          rotate(out="x_in + torch.stack((even, odd), dim=-1).flatten(-2)"), (ROTATION,)),
    misconception("rotate-nothing", "x is returned as it is.", rotate(out="x_in"), (ROTATION,)),
    slip("rotate-no-last-pair", "The last pair is not rotated.",
         rotate(out="torch.cat((torch.stack((even, odd), dim=-1).flatten(-2)[..., :-2], x_in[..., "
                    "-2:]), dim=-1)"), (ROTATION,)),
    misconception("rotate-first-half-only", "Only the first half of the features is rotated.",
          rotate(out="torch.cat((torch.stack((even, odd), dim=-1).flatten(-2)[..., :x_in.size(-1) "
                     "// 2], x_in[..., x_in.size(-1) // 2:]), dim=-1)"), (ROTATION,)),
    slip("rotate-by-last-position", "Every position is rotated by the angles of the last one.",
         rotate(cut="rope_cache[T - 1]"), (ROTATION,)),
    slip("rotate-positions-backwards", "The rows of the table are taken in reverse.",
         rotate(cut="rope_cache[:T].flip(0)"), (ROTATION,)),
    slip("rotate-complex-without-last-axis",
         "The result of view_as_real is not flattened and keeps an axis of 2.",
         rotate(out="torch.stack((even, odd), dim=-1)"), (ROTATION,)),
    slip("rotate-rounded", "The rotation is computed in bfloat16.",
         rotate(x="x.bfloat16()", out="torch.stack((even, odd), dim=-1).flatten(-2).to(x.dtype)"),
         (ROTATION,)),
    slip("rotate-overwritten",
         "The first features are overwritten before the second ones are computed from them.",
         (Fill("apply_rotary_emb", "cos, sin = rope_cache[:x.size(-2)].to(x.dtype).unbind(-1)\n"
                                   "rotated_x = x.clone()\n"
                         "a, b = rotated_x[..., 0::2], rotated_x[..., 1::2]\n"
                         "rotated_x[..., 0::2] = a * cos - b * sin\n"
                         "rotated_x[..., 1::2] = a * sin + b * cos"),), (ROTATION,)),
]

TURNED = "x.reshape(x.size(0), T, x.size(1), x.size(-1))"

AXES = [
    misconception("rotate-by-head",
          "The table's rows are put along the axis of the heads instead of the positions.",
          rotate(cut="rope_cache[:x.size(1)].unsqueeze(1)"), (ROTATION,)),
    slip("rotate-cut-to-heads", "The table is cut to the number of heads.", rotate(T="x.size(1)"),
         (ROTATIONS,)),
    slip("rotate-cut-to-batch", "The table is cut to the size of the batch.",
         rotate(T="x.size(0)"), (ROTATIONS,)),
    slip("rotate-viewed-by-position",
         "A view turns heads and positions round, which mixes them up.",
         rotate(x=TURNED, cut="rope_cache[:T].unsqueeze(1)",
                out="torch.stack((even, odd), dim=-1).flatten(-2).reshape(x.shape)"), (ROTATION,)),
    slip("rotate-returns-transposed", "The axes of heads and positions come back swapped.",
         rotate(out="torch.stack((even, odd), dim=-1).flatten(-2).transpose(1, 2)"), (ROTATION,)),
    slip("rotate-first-of-batch", "Only the first sequence of the batch is rotated and returned.",
         rotate(out="torch.stack((even, odd), dim=-1).flatten(-2)[:1]"), (ROTATIONS,)),
    slip("rotate-first-copied", "The first sequence's rotation is returned for the whole batch.",
         rotate(out="torch.stack((even, odd), dim=-1).flatten(-2)[:1].expand_as(x)"), (ROTATIONS,)),
    slip("rotate-one-sequence", "The batch is expected to be a single sequence.",
         rotate(out="torch.stack((even, odd), dim=-1).flatten(-2).reshape(1, *x.shape[1:])"),
         (ROTATIONS,)),
    slip("rotate-first-head", "Only the first head is rotated.",
         rotate(out="torch.cat((torch.stack((even, odd), dim=-1).flatten(-2)[:, :1], x_in[:, "
                    "1:]), dim=1)"), (ROTATIONS,)),
    slip("rotate-eight-heads", "The number of heads is written down as 8.",
         rotate(out="torch.stack((even, odd), dim=-1).reshape(x.size(0), 8, T, -1)"), (ROTATIONS,)),
]

GENERALITY = [
    slip("rotate-not-cut", "The table is not cut, so that only sequences of its full length work.",
         rotate(cut="rope_cache"), (ROTATIONS, FORMATS)),
    misconception("rotate-cut-at-the-end", "Short sequences get the last rows of the table.",
          rotate(cut="rope_cache[-T:]"), (ROTATIONS, FORMATS)),
    misconception("rotate-stretched", "The table's rows are stretched over short sequences.",
          rotate(cut="rope_cache[torch.linspace(0, len(rope_cache) - 1, T).round().long()]"),
          (ROTATIONS, FORMATS)),
    slip("rotate-from-second-row", "Short sequences begin with the table's second row.",
         rotate(cut="rope_cache[1:T + 1] if T < len(rope_cache) else rope_cache"),
         (ROTATIONS, FORMATS)),
    misconception("rotate-full-length-only",
          "Sequences that are shorter than the table are not rotated.",
          rotate(cut="(rope_cache if T == len(rope_cache) else torch.tensor([1.0, 0.0]).expand(T, "
                     "x.size(-1) // 2, 2))"), (ROTATIONS, FORMATS)),
    slip("rotate-padded", "Short sequences come back padded to the length of the table.",
         rotate(x="F.pad(x, (0, 0, 0, len(rope_cache) - T))", cut="rope_cache"),
         (ROTATIONS, FORMATS)),
    edge("rotate-returns-float32", "The result is always float32.",
         rotate(x="x.float()"), (ROTATIONS, FORMATS)),
    slip("rotate-through-half", "Numbers of any format are computed in float16.",
         rotate(x="x.half()", out="torch.stack((even, odd), dim=-1).flatten(-2).to(x.dtype)"),
         (ROTATIONS,)),
    slip("rotate-view-over-axes",
         "A view over batch and heads fails where x is not contiguous, as in the model.",
         rotate(x="x.view(-1, T, x.size(-1))",
                out="torch.stack((even, odd), dim=-1).reshape(x.shape)"), (ROTATIONS,)),
    slip("rotate-in-place", "x itself is overwritten.",
         (Fill("apply_rotary_emb", "cos, sin = rope_cache[:x.size(-2)].to(x.dtype).unbind(-1)\n"
                         "a, b = x[..., 0::2].clone(), x[..., 1::2].clone()\n"
                         "x[..., 0::2] = a * cos - b * sin\n"
                         "x[..., 1::2] = a * sin + b * cos\nrotated_x = x"),),
         (ROTATIONS, FORMATS)),
    slip("rotate-in-place-data",
         "x itself is overwritten, through its data, which hides it from autograd.",
         rotate(out="x.data.copy_(torch.stack((even, odd), dim=-1).flatten(-2))"),
         (ROTATIONS, FORMATS)),
    slip("rotate-detached", "The result is detached, so that no gradient reaches x.",
         rotate(out="torch.stack((even, odd), dim=-1).flatten(-2).detach()"), (ROTATIONS, FORMATS)),
    slip("rotate-detached-input", "x is detached before it is rotated.", rotate(x="x.detach()"),
         (ROTATIONS, FORMATS)),
    slip("rotate-data", "x.data is rotated, which cuts off the gradient.", rotate(x="x.data"),
         (ROTATIONS, FORMATS)),
    slip("rotate-new-tensor", "The result is put into a new tensor, which cuts off the gradient.",
         rotate(out="torch.tensor(torch.stack((even, odd), dim=-1).flatten(-2).tolist(), "
                    "dtype=x.dtype)"), (ROTATIONS, FORMATS)),
    misconception("rotate-no-grad", "The rotation is computed under torch.no_grad().",
          (Fill("apply_rotary_emb", "with torch.no_grad():\n"
                                    "    cos, sin = "
                                    "rope_cache[:x.size(-2)].to(x.dtype).unbind(-1)\n"
                          "    a, b = x[..., 0::2], x[..., 1::2]\n"
                          "    rotated_x = torch.stack((a * cos - b * sin, a * sin + b * cos), "
                          "dim=-1).flatten(-2)"),), (ROTATIONS, FORMATS)),
    slip("rotate-half-the-gradient",
         "The second features are detached, so that only half of x gets a gradient.",
         rotate(even="a * cos - b.detach() * sin", odd="a * sin + b.detach() * cos"),
         (ROTATIONS, FORMATS)),
    slip("rotate-spoils-the-table", "The table's sines are negated in place, so that the next "
                                    "rotation goes the other way.",
         rotate(cut="rope_cache[:T]", even="a * cos + b * sin.neg_()", odd="b * cos - a * sin"),
         ("1h-6-basic",)),
]

MISTAKES = ANGLES + TABLE_LAYOUT + PAIRS_AND_ANGLES + AXES + GENERALITY
