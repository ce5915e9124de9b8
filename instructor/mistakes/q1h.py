"""Wrong rotary position embeddings: the table, the rotation, the attention layer, and the model
(question 1h).
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

TABLES = "1h-2-basic", "1h-4-hidden"
FORMATS = "1h-11-basic", "1h-5-hidden"
ROTATIONS = ("1h-3-basic", *FORMATS)
LAYER, PIECES = "1h-6-basic", "1h-10-basic"
MODELS = "1h-9-basic", "1h-7-hidden"


def cache(theta: str = "10000.0 ** (-2.0 * torch.arange(dim // 2) / dim)",
          t: str = "torch.arange(max_positions)",
          table: str = "torch.stack((angles.cos(), angles.sin()), dim=-1)") -> tuple[Fill]:
    """A right body of precompute_rotary_emb with some of its expressions replaced."""
    return (Fill("precompute_rotary_emb",
                 f"theta = {theta}\nt = {t}\nangles = torch.outer(t, theta)\n"
                 f"rope_cache = {table}"),)


ANGLES = [
    slip("theta-without-two", "The exponent has i where it should have 2i.",
         cache(theta="10000.0 ** (-torch.arange(dim // 2) / dim)"), TABLES),
    slip("theta-whole-division", "The exponent is rounded down to a whole number by //.",
         cache(theta="10000.0 ** (-2 * torch.arange(dim // 2) // dim)"), TABLES),
    slip("positions-from-one", "Positions are counted from 1.",
         cache(t="torch.arange(1, max_positions + 1)"), TABLES),
    slip("positions-128",
         "The table always has 128 rows, the block size of the assignment's model.",
         cache(t="torch.arange(128)"), TABLES),
    slip("positions-end-at-1024", "Positions start again after 1,024.",
         cache(t="torch.arange(max_positions) % 1024"), TABLES),
    slip("cache-kept-by-dimension",
         "A table is kept by its dimension, and is too short for more positions.",
         (Fill("precompute_rotary_emb",
               "kept = precompute_rotary_emb.__dict__\n"
               "if dim not in kept:\n"
               "    theta = 10000.0 ** (-2.0 * torch.arange(dim // 2) / dim)\n"
               "    angles = torch.outer(torch.arange(max_positions), theta)\n"
               "    kept[dim] = torch.stack((angles.cos(), angles.sin()), dim=-1)\n"
               "rope_cache = kept[dim][:max_positions]"),), TABLES),
    slip("positions-even", "The last position is missing where the number of positions is odd.",
         cache(t="torch.arange(max_positions // 2 * 2)"), TABLES),
]

TABLE_LAYOUT = [
    slip("cache-sin-first", "Sine and cosine are swapped.",
         cache(table="torch.stack((angles.sin(), angles.cos()), dim=-1)"), TABLES),
    slip("cache-flat-viewed",
         "The cosines are put before the sines and then viewed as pairs, which mixes them up.",
         cache(table="torch.cat((angles.cos(), angles.sin()), dim=-1)"
                     ".view(max_positions, dim // 2, 2)"), TABLES),
]


def rotate(x: str = "x", cut: str = "rope_cache[:T]",
           cos: str = "cut[..., 0]",
           sin: str = "cut[..., 1]", even: str = "a * cos - b * sin",
           odd: str = "a * sin + b * cos",
           out: str = "torch.stack((even, odd), dim=-1).flatten(-2)") -> tuple[Fill]:
    """A right body of apply_rotary_emb with some of its expressions replaced."""
    return (Fill("apply_rotary_emb",
                 f"T = x.size(-2)\nx_in = {x}\ncut = {cut}.to(x_in.dtype)\n"
                 f"cos, sin = {cos}, {sin}\na, b = x_in[..., 0::2], x_in[..., 1::2]\n"
                 f"even = {even}\nodd = {odd}\nrotated_x = {out}"),)


PAIRS_AND_ANGLES = [
    misconception("rotate-nothing", "apply_rotary_emb returns x as it is.", rotate(out="x_in"),
         ROTATIONS),
    misconception("rotate-halves-taken",
         "The pairs are taken by the half-split convention, (x[i], x[i + d/2]); here they are "
         "neighbors.",
         rotate(even="x_in.chunk(2, -1)[0] * cos - x_in.chunk(2, -1)[1] * sin",
                odd="x_in.chunk(2, -1)[0] * sin + x_in.chunk(2, -1)[1] * cos"), ROTATIONS),
    slip("rotate-halves-put-together",
         "The pairs are right, but the results are concatenated instead of interleaved.",
         rotate(out="torch.cat((even, odd), dim=-1)"), ROTATIONS),
    slip("rotate-sin-first", "The entries of the table are read as sine and cosine.",
         rotate(cos="cut[..., 1]", sin="cut[..., 0]"), ROTATIONS),
    misconception("rotate-backwards",
         "The signs of the sines are exchanged, so that the rotation goes the other way.",
         rotate(even="a * cos + b * sin", odd="b * cos - a * sin"), ROTATIONS),
    slip("rotate-own-table",
         "apply_rotary_emb ignores the table that is passed in, and computes another one.",
         rotate(cut="precompute_rotary_emb(x.size(-1), T)"), (*ROTATIONS, PIECES)),
]

GENERALITY = [
    misconception("rotate-by-head",
         "The table's rows are put along the axis of the heads instead of the positions.",
         rotate(cut="rope_cache[:x.size(1)].unsqueeze(1)"), ROTATIONS),
    misconception("rotate-cut-at-the-end", "Short sequences get the last rows of the table.",
         rotate(cut="rope_cache[-T:]"), ROTATIONS),
    edge("rotate-returns-float32", "The result is always float32.", rotate(x="x.float()"), FORMATS),
    slip("rotate-view-over-axes",
         "A view over batch and heads fails where x is not contiguous, as in the model.",
         rotate(x="x.view(-1, T, x.size(-1))",
                out="torch.stack((even, odd), dim=-1).reshape(x.shape)"), FORMATS),
    slip("rotate-remembered-table",
         "Cosines and sines are remembered by the length of the sequence, and the table passed in "
         "is ignored.", rotate(cut="apply_rotary_emb.__dict__.setdefault(str(T), rope_cache[:T])"),
         FORMATS),
    slip("rotate-in-place", "x itself is overwritten.",
         (Fill("apply_rotary_emb", "cos, sin = rope_cache[:x.size(-2)].to(x.dtype).unbind(-1)\n"
                         "a, b = x[..., 0::2].clone(), x[..., 1::2].clone()\n"
                         "x[..., 0::2] = a * cos - b * sin\n"
                         "x[..., 1::2] = a * sin + b * cos\nrotated_x = x"),), FORMATS),
    misconception("rotate-no-grad", "The rotation is computed under torch.no_grad().",
         (Fill("apply_rotary_emb", "with torch.no_grad():\n"
                                   "    cos, sin = "
                                   "rope_cache[:x.size(-2)].to(x.dtype).unbind(-1)\n"
                         "    a, b = x[..., 0::2], x[..., 1::2]\n"
                         "    rotated_x = torch.stack((a * cos - b * sin, a * sin + b * cos), "
                         "dim=-1).flatten(-2)"),), (*FORMATS, *MODELS)),
    slip("rotate-half-the-gradient",
         "The second features are detached, so that only half of x gets a gradient.",
         rotate(even="a * cos - b.detach() * sin", odd="a * sin + b.detach() * cos"), FORMATS),
    slip("rotate-spoils-the-table",
         "The second rotation goes the other way: are the table's sines changed in place, or those "
         "of the keys negated?",
         rotate(cut="rope_cache[:T]", even="a * cos + b * sin.neg_()", odd="b * cos - a * sin"),
         (LAYER,)),
]

REGISTER = 'self.register_buffer("rope_cache", rope_cache)'


def buffer(dim: str = "config.n_embd // config.n_head",
           rows: str = "config.block_size") -> tuple[Fill]:
    """The table for other sizes."""
    return (Fill("CausalSelfAttention", f"rope_cache = precompute_rotary_emb({dim}, {rows})"),)


def attend(code: str) -> tuple[Fill]:
    """A body for the place where queries and keys are rotated."""
    return (Fill("CausalSelfAttention.forward", code),)


TABLE_OF_ONE_HEAD = [
    misconception("buffer-for-all-heads",
         "The table is made for n_embd features instead of those of one head, n_embd / n_head.",
         buffer(dim="config.n_embd"), (LAYER, PIECES, *MODELS)),
    slip("buffer-row-missing", "The table has a row less than the block.",
         buffer(rows="config.block_size - 1"), (LAYER,)),
    misconception("buffer-parameter", "The table is a parameter, so that training changes it.",
         (Edit("attention.py", REGISTER, "self.rope_cache = nn.Parameter(rope_cache)"),),
         (LAYER, *MODELS)),
    slip("buffer-attribute",
         "The table is a plain attribute, or a buffer with persistent=False: it is not saved.",
         (Edit("attention.py", REGISTER, "self.rope_cache = rope_cache"),), (LAYER,)),
]

ATTENDING = (LAYER, PIECES, *MODELS)

WHAT_IS_ROTATED = [
    misconception("attend-nothing", "Neither queries nor keys are rotated.", attend("pass"),
         ATTENDING),
    misconception("attend-queries-only", "Only the queries are rotated.",
         attend("q = apply_rotary_emb(q, rope_cache)"), ATTENDING),
    misconception("attend-values-too", "The values are rotated, too.",
         attend("q, k, v = (apply_rotary_emb(part, rope_cache) for part in (q, k, v.float()))"),
         ATTENDING),
    misconception("rotate-in-evaluation-only",
         "Queries and keys are rotated in evaluation and not in training.",
         attend("if not self.training:\n    q, k = apply_rotary_emb(q, rope_cache), "
                "apply_rotary_emb(k, rope_cache)"), MODELS),
    slip("attend-keys-late", "The keys are counted from position 1, the queries from 0.",
         attend("q = apply_rotary_emb(q, rope_cache)\n"
                "k = apply_rotary_emb(k, precompute_rotary_emb(k.size(-1), T + 1)[1:])"),
         ATTENDING),
    slip("attend-whole-table",
         "Queries and keys are rotated by the first rows of self.rope_cache. The local rope_cache "
         "has the rows of the positions in x.",
         attend("q = apply_rotary_emb(q, self.rope_cache)\n"
                "k = apply_rotary_emb(k, self.rope_cache)"), (PIECES, "1h-7-hidden")),
]


def x_input(code: str) -> Fill:
    """What the blocks read under RoPE."""
    return Fill("GPT.forward", f"x_input = {code}")


INPUT = [
    misconception("input-with-positions",
         "Position embeddings are made and added under RoPE as well.",
         (Edit("model.py", "        if not config.rope:\n            self.pos_emb =",
               "        self.pos_emb ="),
          x_input("token_embeddings + self.pos_emb[:, start : start + T, :]")), MODELS),
    slip("input-detached", "The embeddings are detached, so that they are never trained.",
         (x_input("token_embeddings.detach()"),), MODELS),
    slip("input-dropped-twice",
         "The embeddings go through dropout, which the line below applies again.",
         (x_input("self.drop(token_embeddings)"),), MODELS),
]


def initialize(code: str) -> tuple[Fill]:
    """A body of initialize_rope_model."""
    return (Fill("initialize_rope_model", code),)


SWITCHED_ON = [
    misconception("rope-model-vanilla", "The vanilla model is made.",
         initialize("model = GPT(mconf)"), MODELS),
    slip("rope-set-on-the-class",
         "RoPE is switched on in the class GPTConfig, so that every model made later has it.",
         initialize("GPTConfig.rope = True\nmodel = GPT(mconf)"), MODELS),
    misconception("rope-in-first-block",
         "Only the first block has RoPE, as if positions were needed just once.",
         (Edit("model.py", "[Block(config) for _ in range(config.n_layer)]",
               "[Block(GPTConfig(**{**vars(config), 'rope': config.rope and layer == 0})) "
               "for layer in range(config.n_layer)]"),), MODELS),
    slip("rope-always-in-attention", "Attention has RoPE in the vanilla model, too.",
         (Edit("attention.py", "self.rope = config.rope", "self.rope = True"),), MODELS),
]

MISTAKES = [
    # the first with the same reply is the likely cause
    *ANGLES, *TABLE_LAYOUT, *TABLE_OF_ONE_HEAD, *WHAT_IS_ROTATED, *PAIRS_AND_ANGLES, *GENERALITY,
    *INPUT, *SWITCHED_ON,
]
