"""Wrong attention with RoPE, wrong inputs of the model, and wrong ways to switch RoPE on (question
1h).
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

HEADS, PIECES, MODEL, MODELS = "1h-6-basic", "1h-10-basic", "1h-7-hidden", "1h-9-basic"
REGISTER = 'self.register_buffer("rope_cache", rope_cache)'


def buffer(dim: str = "config.n_embd // config.n_head", rows: str = "config.block_size",
           after: str = "") -> tuple[Fill]:
    """The table for other sizes, or with something done to it."""
    return (Fill("CausalSelfAttention",
                 f"rope_cache = precompute_rotary_emb({dim}, {rows}){after}"),)


def attend(code: str) -> tuple[Fill]:
    """A body for the place where queries and keys are rotated."""
    return (Fill("CausalSelfAttention.forward", code),)


TABLE_OF_ONE_HEAD = [
    misconception("buffer-for-all-heads",
          "The table is made for n_embd features instead of those of one head.",
          buffer(dim="config.n_embd"), (HEADS,)),
    slip("buffer-for-number-of-heads", "The table is made for n_head features.",
         buffer(dim="config.n_head"), (HEADS,)),
    slip("buffer-for-half-head",
         "The head dimension is halved before precompute_rotary_emb halves it again.",
         buffer(dim="config.n_embd // config.n_head // 2"), (HEADS,)),
    slip("buffer-for-32", "The head dimension is written down as 32.", buffer(dim="32"), (HEADS,)),
    slip("buffer-for-eight-heads", "The number of heads is written down as 8.",
         buffer(dim="config.n_embd // 8"), (HEADS,)),
    slip("buffer-row-too-many", "The table has a row more than the block.",
         buffer(rows="config.block_size + 1"), (HEADS,)),
    slip("buffer-row-missing", "The table has a row less than the block.",
         buffer(rows="config.block_size - 1"), (HEADS,)),
    slip("buffer-128-rows", "The block size is written down as 128.", buffer(rows="128"), (HEADS,)),
    slip("buffer-rows-of-width", "The table has a row for each feature instead of each position.",
         buffer(rows="config.n_embd"), (HEADS,)),
    slip("buffer-swapped", "The arguments of precompute_rotary_emb are swapped.",
         buffer(dim="config.block_size", rows="config.n_embd // config.n_head"), (HEADS,)),
    slip("buffer-none", "The table is computed but not kept.",
         (Fill("CausalSelfAttention",
               "precompute_rotary_emb(config.n_embd // config.n_head, config.block_size)"),),
         (HEADS,)),
    misconception("buffer-random", "The table is random, as if it were to be learned.",
          (Fill("CausalSelfAttention", "rope_cache = torch.randn(config.block_size, config.n_embd "
                                       "// config.n_head // 2, 2)"),), (HEADS,)),
    slip("buffer-for-batch", "The table has additional axes for batch and heads.",
         buffer(after="[None, None]"), (HEADS,)),
    misconception("buffer-parameter", "The table is a parameter, so that training changes it.",
          (Edit("attention.py", REGISTER, "self.rope_cache = nn.Parameter(rope_cache)"),), (HEADS,)),
    slip("buffer-attribute", "The table is a plain attribute, so that it doesn't move with the "
                             "model and is not saved.",
         (Edit("attention.py", REGISTER, "self.rope_cache = rope_cache"),), (HEADS,)),
    slip("buffer-not-saved", "The table is not saved with the weights.",
         (Edit("attention.py", REGISTER, REGISTER.replace(")", ", persistent=False)")),), (HEADS,)),
    slip("buffer-other-name", "The table has another name in the state_dict.",
         (Edit("attention.py", REGISTER, 'self.register_buffer("rope_table", rope_cache)'),
          Edit("attention.py", "self.rope_cache[start : start + T]",
               "self.rope_table[start : start + T]")), (HEADS,)),
]

JOIN = "torch.cat([{0}[:, i] for i in range(self.n_head)], dim=-1).unsqueeze(1)"
SPLIT = "torch.cat({0}.chunk(self.n_head, dim=-1), dim=1)"

WHAT_IS_ROTATED = [
    misconception("attend-values-too", "The values are rotated, too.",
          attend("q, k, v = (apply_rotary_emb(part, rope_cache) for part in (q, k, v.float()))"),
          (HEADS, MODEL, MODELS)),
    misconception("attend-values-not-keys", "The values are rotated instead of the keys.",
          attend("q, v = apply_rotary_emb(q, rope_cache), apply_rotary_emb(v, rope_cache)"),
          (HEADS, MODEL, MODELS)),
    misconception("attend-values-only", "The values are rotated, and neither queries nor keys.",
          attend("v = apply_rotary_emb(v, rope_cache)"), (HEADS, MODEL, MODELS)),
    misconception("attend-queries-only", "Only the queries are rotated.",
          attend("q = apply_rotary_emb(q, rope_cache)"), (HEADS, MODEL, MODELS)),
    misconception("attend-keys-only", "Only the keys are rotated.",
          attend("k = apply_rotary_emb(k, rope_cache)"), (HEADS, MODEL, MODELS)),
    misconception("attend-nothing", "Neither queries nor keys are rotated.", attend("pass"),
          (HEADS, MODEL, MODELS)),
    slip("attend-results-dropped", "The rotated queries and keys are not kept.",
         attend("apply_rotary_emb(q, rope_cache)\napply_rotary_emb(k, rope_cache)"),
         (HEADS, MODEL, MODELS)),
    slip("attend-other-names", "The rotated queries and keys get new names, and attention goes on "
                               "with the old ones.",
         attend("q_rotated = apply_rotary_emb(q, rope_cache)\n"
                "k_rotated = apply_rotary_emb(k, rope_cache)"), (HEADS, MODEL, MODELS)),
    slip("attend-queries-twice", "The rotated queries stand in for the keys.",
         attend("q = apply_rotary_emb(q, rope_cache)\nk = apply_rotary_emb(q, rope_cache)"),
         (HEADS, MODEL, MODELS)),
    slip("attend-keys-from-queries", "The keys are made from the queries by a slip of the pen.",
         attend("q, k = apply_rotary_emb(q, rope_cache), apply_rotary_emb(q, rope_cache)"),
         (HEADS, MODEL, MODELS)),
    slip("attend-swapped", "The rotated queries and keys are swapped.",
         attend("q, k = apply_rotary_emb(k, rope_cache), apply_rotary_emb(q, rope_cache)"),
         (HEADS, MODEL, MODELS)),
    slip("attend-rotated-twice", "Queries and keys are rotated twice, by double the angle.",
         attend("for _ in range(2):\n    q, k = apply_rotary_emb(q, rope_cache), "
                "apply_rotary_emb(k, rope_cache)"), (HEADS, MODEL, MODELS)),
    misconception("attend-keys-backwards",
          "The keys are rotated the other way, so that scores depend on "
                                   "the sum of the positions.",
          attend("q = apply_rotary_emb(q, rope_cache)\n"
                 "k = apply_rotary_emb(k, rope_cache * torch.tensor([1.0, -1.0]))"),
          (HEADS, MODEL, MODELS)),
    slip("attend-first-position",
         "Every position is rotated by the first row of the table, which rotates nothing.",
         attend("q, k = apply_rotary_emb(q, rope_cache[:1]), apply_rotary_emb(k, rope_cache[:1])"),
         (HEADS, MODEL, MODELS)),
    slip("attend-keys-late", "The keys are counted from position 1, the queries from 0.",
         attend("q = apply_rotary_emb(q, rope_cache)\n"
                "k = apply_rotary_emb(k, precompute_rotary_emb(k.size(-1), T + 1)[1:])"),
         (HEADS, MODEL, MODELS)),
    edge("attend-cache-first-rows",
         "Queries and keys are rotated by the first rows of the table, wherever x begins.",
         attend("q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, self.rope_cache)"), (PIECES,)),
    edge("attend-cache-queries-first-rows",
         "The queries are rotated by the first rows of the table, wherever x begins.",
         attend("q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, rope_cache)"),
         (PIECES,)),
    misconception("attend-before-splitting",
          "Queries and keys are rotated over all n_embd features, as "
                                     "before the heads are split.",
          attend("table = precompute_rotary_emb(x.size(-1), T)\n"
                 f"q = {SPLIT.format('apply_rotary_emb(' + JOIN.format('q') + ', table)')}\n"
                 f"k = {SPLIT.format('apply_rotary_emb(' + JOIN.format('k') + ', table)')}"),
          (HEADS, MODEL, MODELS)),
    misconception("attend-input-rotated",
          "The input of the attention is rotated, which reaches the values, too.",
          attend("x = apply_rotary_emb(self.split_heads(x), rope_cache).transpose(1, "
                 "2).flatten(-2)\nq, k, v = (self.split_heads(linear(x)) for linear in "
                 "(self.query, self.key, self.value))"), (HEADS, MODEL, MODELS)),
    misconception("attend-by-head", "Heads are given to apply_rotary_emb in place of positions.",
          attend("table = precompute_rotary_emb(q.size(-1), self.n_head)\n"
                 "q = apply_rotary_emb(q.transpose(1, 2), table).transpose(1, 2)\n"
                 "k = apply_rotary_emb(k.transpose(1, 2), table).transpose(1, 2)"),
          (HEADS, MODEL, MODELS)),
    slip("attend-first-head", "Only the first head is rotated.",
         attend("q, k = (torch.cat((apply_rotary_emb(part[:, :1], rope_cache), part[:, 1:]), "
                "dim=1) for part in (q, k))"), (HEADS, MODEL, MODELS)),
    misconception("attend-after-attention",
          "What attention gives is rotated, instead of queries and keys.",
          attend("y = self.attend(q, k, v, start)\n"
                 "return apply_rotary_emb(self.split_heads(y), rope_cache).transpose(1, "
                 "2).flatten(-2)"), (HEADS, MODEL, MODELS)),
    slip("attend-own-without-mask", "RoPE has an attention of its own that lacks the causal mask.",
         attend("q, k = apply_rotary_emb(q, rope_cache), apply_rotary_emb(k, rope_cache)\n"
                "att = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)\n"
                "return self.proj((att @ v).transpose(1, 2).flatten(-2))"), (HEADS, MODEL, MODELS)),
    slip("attend-scaled-twice",
         "The queries are divided by the root of head_dim, which attend does again.",
         attend("q = apply_rotary_emb(q, rope_cache) / math.sqrt(q.size(-1))\n"
                "k = apply_rotary_emb(k, rope_cache)"), (HEADS, MODEL, MODELS)),
    misconception("attend-table-added",
          "The table is added to queries and keys, like position embeddings.",
          attend("q, k = q + rope_cache.flatten(-2), k + rope_cache.flatten(-2)"),
          (HEADS, MODEL, MODELS)),
]


def x_input(code: str) -> Fill:
    """What the blocks read under RoPE."""
    return Fill("GPT.forward", f"x_input = {code}")


POS_EMB_ALWAYS = Edit("model.py", "        if not config.rope:\n            self.pos_emb =",
                      "        self.pos_emb =")

INPUT = [
    misconception("input-with-positions",
          "Position embeddings are made and added under RoPE as well.",
          (POS_EMB_ALWAYS, x_input("token_embeddings + self.pos_emb[:, start : start + T, :]")),
          (MODEL, MODELS)),
    slip("input-positions-unused",
         "Position embeddings are made under RoPE and never used, but saved.",
         (POS_EMB_ALWAYS,), (MODEL, MODELS)),
    slip("input-positions-missing",
         "Position embeddings are added under RoPE, where there are none.",
         (x_input("token_embeddings + self.pos_emb[:, :T, :]"),), (MODEL, MODELS)),
    misconception("input-positions-alone",
          "The blocks read position embeddings alone, without the tokens.",
          (POS_EMB_ALWAYS, x_input("self.pos_emb[:, :T, :].expand(idx.size(0), -1, -1)")),
          (MODEL, MODELS)),
    misconception("input-sinusoids", "Fixed sines and cosines are added to the embeddings.",
          (x_input("token_embeddings + self.blocks[0].attn.rope_cache[:T].flatten(-2).repeat(1, "
                   "self.config.n_head)"),), (MODEL, MODELS)),
    misconception("input-positions-in-training",
          "Fixed sines and cosines are added in training alone.",
          (x_input("token_embeddings\nif self.training:\n"
                   "    table = self.blocks[0].attn.rope_cache[:T]\n"
                   "    x_input = x_input + table.flatten(-2).repeat(1, self.config.n_head)"),),
          (MODEL, MODELS)),
    misconception("input-position-numbers",
          "The embeddings are multiplied by the numbers of their positions, counted from 1.",
          (x_input("token_embeddings * torch.arange(1, T + 1)[:, None]"),), (MODEL, MODELS)),
    misconception("input-rotated", "The token embeddings themselves are rotated.",
          (Fill("GPT.forward",
                "from .attention import apply_rotary_emb\nattn = self.blocks[0].attn\n"
                         "heads = apply_rotary_emb(attn.split_heads(token_embeddings), "
                         "attn.rope_cache[start:start + T])\n"
                         "x_input = heads.transpose(1, 2).flatten(-2)"),), (MODEL, MODELS)),
    slip("input-zeros", "The blocks read zeros.", (x_input("torch.zeros_like(token_embeddings)"),),
         (MODEL, MODELS)),
    misconception("input-scaled",
          "The embeddings are multiplied by the root of their width, as in the "
                          "first Transformer.",
          (x_input("token_embeddings * token_embeddings.size(-1) ** 0.5"),), (MODEL, MODELS)),
    slip("input-normed", "The embeddings go through the last LayerNorm first.",
         (x_input("self.ln_f(token_embeddings)"),), (MODEL, MODELS)),
    slip("input-detached", "The embeddings are detached, so that they are never trained.",
         (x_input("token_embeddings.detach()"),), (MODEL, MODELS)),
    misconception("input-averaged", "All positions read the average of the embeddings.",
          (x_input("token_embeddings.mean(dim=1, keepdim=True).expand_as(token_embeddings)"),),
          (MODEL, MODELS)),
    slip("input-tokens", "The blocks are given the tokens instead of their embeddings.",
         (x_input("idx"),), (MODEL, MODELS)),
    slip("input-none", "x_input stays None, since the embeddings are given another name.",
         (Fill("GPT.forward", "x = token_embeddings"),), (MODEL, MODELS)),
]


def initialize(code: str) -> tuple[Fill]:
    """A body of initialize_rope_model."""
    return (Fill("initialize_rope_model", code),)


CHANGED_COPY = "conf = copy.copy(mconf)\nconf.{}\nmodel = GPT(conf)"

SWITCHED_ON = [
    misconception("rope-model-vanilla",
          "The vanilla model is made.", initialize("model = GPT(mconf)"), (MODEL, MODELS)),
    slip("rope-model-by-vanilla-function", "The model comes from initialize_vanilla_model.",
         initialize("model = initialize_vanilla_model(mconf)"), (MODEL, MODELS)),
    slip("rope-model-upper-case", "conf.ROPE is set, which nothing reads.",
         initialize(CHANGED_COPY.format("ROPE = True")), (MODEL, MODELS)),
    slip("rope-model-use-rope", "conf.use_rope is set, which nothing reads.",
         initialize(CHANGED_COPY.format("use_rope = True")), (MODEL, MODELS)),
    slip("rope-model-misspelled-keyword",
         "The config is given a keyword that it does not have, and raises an error.",
         initialize("model = GPT(GPTConfig(**{**vars(mconf), 'use_rope': True}))"),
         (MODEL, MODELS)),
    slip("rope-model-compared", "rope is compared with True instead of set to it.",
         initialize(CHANGED_COPY.format("rope == True")), (MODEL, MODELS)),
    slip("rope-model-off", "rope is set to False.",
         initialize(CHANGED_COPY.format("rope = False")), (MODEL, MODELS)),
    slip("rope-model-copy-dropped",
         "A copy of the config is changed, and the model is made from the old one.",
         initialize("conf = copy.copy(mconf)\nconf.rope = True\nmodel = GPT(mconf)"),
         (MODEL, MODELS)),
    slip("rope-model-set-afterwards",
         "rope is set when the model has been made, so that its attention has no table.",
         initialize("model = GPT(mconf)\nmodel.rope = True"), (MODEL, MODELS)),
    slip("rope-model-config-set-afterwards", "The config is changed when the model has been made.",
         initialize("conf = copy.copy(mconf)\nmodel = GPT(conf)\nconf.rope = True"),
         (MODEL, MODELS)),
    slip("rope-model-default-sizes",
         "A new config takes over the vocabulary and the block size alone.",
         initialize("model = GPT(GPTConfig(mconf.vocab_size, mconf.block_size, rope=True))"),
         (MODEL, MODELS)),
    slip("rope-model-fixed-sizes",
         "The sizes of the assignment are written down instead of those passed in.",
         initialize("model = GPT(GPTConfig(256, 128, n_layer=4, n_head=8, n_embd=256, rope=True))"), (MODEL, MODELS)),
    misconception("rope-model-one-head", "The model has a single head.",
          initialize("conf = copy.copy(mconf)\nconf.rope, conf.n_head = True, 1\nmodel = GPT(conf)"), (MODEL, MODELS)),
    slip("rope-model-none", "The model is made but not kept.",
         initialize("conf = copy.copy(mconf)\nconf.rope = True\nGPT(conf)"), (MODEL, MODELS)),
    slip("rope-model-config-returned", "The config is returned instead of a model.",
         initialize("model = copy.copy(mconf)\nmodel.rope = True"), (MODEL, MODELS)),
]

BLOCKS = "[Block(config) for _ in range(config.n_layer)]"
SOME_BLOCKS = ("[Block(GPTConfig(**{{**vars(config), 'rope': config.rope and layer {}}})) "
               "for layer in range(config.n_layer)]")

WHOLE_MODEL = [
    misconception("rope-in-first-block",
          "Only the first block has RoPE, as if positions were needed just once.",
          (Edit("model.py", BLOCKS, SOME_BLOCKS.format("== 0")),), (MODEL, MODELS)),
    slip("rope-not-in-first-block", "The first block has no RoPE.",
         (Edit("model.py", BLOCKS, SOME_BLOCKS.format("> 0")),), (MODEL, MODELS)),
    slip("rope-always-in-attention", "Attention has RoPE in the vanilla model, too.",
         (Edit("attention.py", "self.rope = config.rope", "self.rope = True"),), (MODEL, MODELS)),
    slip("rope-always-in-model",
         "RoPE is on by default, so that the vanilla model has it as well.",
         (Edit("model.py", "    rope = False ", "    rope = True "),), (MODEL, MODELS)),
    slip("rope-condition-inverted",
         "Position embeddings are made where there is RoPE, and not where there is none.",
         (Edit("model.py", "if not config.rope:", "if config.rope:"),), (MODEL, MODELS)),
    slip("rope-never-in-attention", "Attention has RoPE switched off, whatever the config says.",
         (Edit("attention.py", "self.rope = config.rope", "self.rope = False"),),
         (HEADS, MODEL, MODELS)),
]

MISTAKES = TABLE_OF_ONE_HEAD + WHAT_IS_ROTATED + INPUT + SWITCHED_ON + WHOLE_MODEL
