"""Wrong vanilla models, and given code that was spoiled while working on it (question 1d)."""
from instructor.mistakes.patches import Edit, Fill, misconception, slip


def model(code: str) -> tuple[Fill]:
    """A body of initialize_vanilla_model."""
    return (Fill("initialize_vanilla_model", code),)


CHANGED_COPY = "conf = copy.copy(mconf)\nconf.{}\nmodel = GPT(conf)"

WRONG_MODEL = [
    slip("vanilla-class", "The class GPT is returned instead of a model.", model("model = GPT"),
         ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-none", "The model is made but not kept, so that None is returned.",
         model("GPT(mconf)"), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-config-returned", "The config is returned instead of a model.",
         model("model = mconf"), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-config-class",
         "The class GPTConfig is used in place of the config that is passed in.",
         model("model = GPT(GPTConfig)"), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-default-sizes",
         "A new config is made that takes over the vocabulary and the block size alone.",
         model("model = GPT(GPTConfig(mconf.vocab_size, mconf.block_size))"),
         ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-fixed-sizes",
         "The sizes of the assignment are written down instead of those passed in.",
         model("model = GPT(GPTConfig(mconf.vocab_size, 128, n_layer=4, n_head=8, n_embd=256))"),
         ("1d-0-hidden", "1d-4-basic")),
    misconception("vanilla-with-rope", "The vanilla model is made with RoPE.",
          model(CHANGED_COPY.format("rope = True")), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-by-rope-function",
         "The vanilla model is made by the function for the RoPE model.",
         model("model = initialize_rope_model(mconf)"), ("1d-0-hidden", "1d-4-basic")),
    misconception("vanilla-one-head", "The model has a single head, which its weights don't show.",
          model(CHANGED_COPY.format("n_head = 1")), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-one-layer-less", "The model has a layer less than asked for.",
         model(CHANGED_COPY.format("n_layer = mconf.n_layer - 1")), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-twice-as-wide", "The model is twice as wide as asked for.",
         model(CHANGED_COPY.format("n_embd = 2 * mconf.n_embd")), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-vocabulary-too-large",
         "Two tokens are added for specials that the vocabulary has already.",
         model(CHANGED_COPY.format("vocab_size = mconf.vocab_size + 2")),
         ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-block-too-small",
         "The block size is one less, as if x were shorter than the block.",
         model(CHANGED_COPY.format("block_size = mconf.block_size - 1")),
         ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-half-precision", "The model is turned into half precision.",
         model("model = GPT(mconf).half()"), ("1d-0-hidden", "1d-4-basic")),
    misconception("vanilla-layers-shared",
          "All layers are the same object and so share their weights.",
          model("model = GPT(mconf)\nfor i in range(mconf.n_layer):\n"
                "    model.blocks[i] = model.blocks[0]"), ("1d-0-hidden", "1d-4-basic")),
    misconception("vanilla-tied", "The head shares the weights of the token embeddings.",
          model("model = GPT(mconf)\nmodel.head.weight = model.tok_emb.weight"),
          ("1d-0-hidden", "1d-4-basic")),
    misconception("vanilla-zeros",
          "All weights are set to zero, so that the units of a layer can never differ.",
          model("model = GPT(mconf)\nfor parameter in model.parameters():\n"
                "    torch.nn.init.zeros_(parameter)"), ("1d-0-hidden", "1d-4-basic")),
    slip("vanilla-same-each-time",
         "The first model that was made is returned at every later call, whatever its sizes.",
         model("if not hasattr(initialize_vanilla_model, 'made'):\n"
               "    initialize_vanilla_model.made = GPT(mconf)\n"
               "model = initialize_vanilla_model.made"), ("1d-0-hidden", "1d-4-basic")),
]

SCORES = "att = (q @ k.transpose(-2, -1)) / math.sqrt(head_dim)"
CAUSAL = ('att = att.masked_fill(self.mask[:, :, start : start + T, : k.size(-2)] == 0, '
          'float("-inf"))')
HEADS = "return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)"
ATTENDED = "x = x + attended\n"
LOGITS = "logits = self.head(self.ln_f(x))"

GIVEN_ATTENTION = [
    misconception("attention-softmax-over-queries",
          "The softmax runs over the queries instead of the keys.",
          (Edit("attention.py", "F.softmax(att, dim=-1)", "F.softmax(att, dim=-2)"),),
          ("1d-0-hidden", "1d-4-basic")),
    misconception("attention-softmax-over-heads",
          "The softmax runs over the heads instead of the keys.",
          (Edit("attention.py", CAUSAL, CAUSAL.replace('float("-inf")', "-1e9")),
           Edit("attention.py", "F.softmax(att, dim=-1)", "F.softmax(att, dim=1)")),
          ("1d-0-hidden", "1d-4-basic")),
    misconception("attention-without-mask",
          "Positions see what comes after them, since the causal mask is missing.",
          (Edit("attention.py", f"        {CAUSAL}\n", ""),), ("1d-0-hidden", "1d-4-basic")),
    misconception("attention-mask-after-softmax",
          "The mask is applied after the softmax, so that the weights don't add up to one.",
          (Edit("attention.py", f"        {CAUSAL}\n", ""),
           Edit("attention.py", "F.softmax(att, dim=-1)",
                "F.softmax(att, dim=-1) * self.mask[:, :, :T, :k.size(-2)]")),
          ("1d-0-hidden", "1d-4-basic")),
    misconception("attention-mask-of-zeros",
          "Masked scores are set to 0, which a softmax does not ignore.",
          (Edit("attention.py", CAUSAL, CAUSAL.replace('float("-inf")', "0.0")),),
          ("1d-0-hidden", "1d-4-basic")),
    slip("attention-sees-the-next", "The mask is off by one, so that a position sees the "
                                    "character that it should predict.",
         (Edit("attention.py", "config.block_size).tril()", "config.block_size).tril(1)"),),
         ("1d-0-hidden", "1d-4-basic")),
    slip("attention-scaled-by-width",
         "The scores are divided by the root of n_embd instead of head_dim.",
         (Edit("attention.py", SCORES, SCORES.replace("head_dim", "n_head * head_dim")),),
         ("1d-0-hidden", "1d-4-basic")),
    misconception("attention-not-scaled", "The scores are not divided by the root of head_dim.",
          (Edit("attention.py", SCORES, "att = q @ k.transpose(-2, -1)"),),
          ("1d-0-hidden", "1d-4-basic")),
    slip("attention-scaled-without-root",
         "The scores are divided by head_dim instead of by its root.",
         (Edit("attention.py", SCORES, SCORES.replace("math.sqrt(head_dim)", "head_dim")),),
         ("1d-0-hidden", "1d-4-basic")),
    misconception("attention-dropout-in-evaluation",
          "Attention weights are dropped in evaluation, too.",
          (Edit("attention.py", "self.attn_drop(F.softmax(att, dim=-1))",
                "F.dropout(F.softmax(att, dim=-1), 0.1)"),), ("1d-0-hidden", "1d-4-basic")),
    misconception("attention-heads-mixed-up",
          "The heads are split by a view alone, which mixes positions and features.",
          (Edit("attention.py", HEADS, "return x.reshape(B, self.n_head, T, C // self.n_head)"),),
          ("1d-0-hidden", "1d-4-basic")),
]

GIVEN_MODEL = [
    slip("model-loss-counts-pads", "The loss counts the padding, since ignore_index is missing.",
         (Edit("model.py", "targets.reshape(-1), ignore_index=0\n            )",
               "targets.reshape(-1))"),), ("1d-0-hidden", "1d-4-basic")),
    misconception("model-without-positions",
          "The position embeddings are not added in the vanilla model.",
          (Edit("model.py", "token_embeddings + self.pos_emb[:, start : start + T, :]",
                "token_embeddings"),), ("1d-0-hidden", "1d-4-basic", "1h-7-hidden")),
    slip("model-last-positions",
         "Short sequences get the last position embeddings instead of the first.",
         (Edit("model.py", "self.pos_emb[:, start : start + T, :]", "self.pos_emb[:, -T:, :]"),),
         ("1d-0-hidden", "1d-4-basic")),
    slip("model-one-position",
         "Every place of the sequence gets the embedding of the first position.",
         (Edit("model.py", "self.pos_emb[:, start : start + T, :]", "self.pos_emb[:, :1, :]"),),
         ("1d-0-hidden", "1d-4-basic")),
    misconception("model-no-residual",
          "What attention computes replaces the residual stream instead of being added to it.",
          (Edit("model.py", ATTENDED, "x = attended\n"),), ("1d-0-hidden", "1d-4-basic")),
    misconception("model-no-residual-mlp",
          "What the MLP computes replaces the residual stream instead of being added to it.",
          (Edit("model.py", "return x + self.mlp(self.ln2(x))", "return self.mlp(self.ln2(x))"),),
          ("1d-0-hidden", "1d-4-basic")),
    misconception("model-post-norm", "The LayerNorm stands behind the MLP instead of before it.",
          (Edit("model.py", "return x + self.mlp(self.ln2(x))", "return x + self.ln2(self.mlp(x))"),
           ), ("1d-0-hidden", "1d-4-basic")),
    slip("model-no-final-norm", "The last LayerNorm is skipped.",
         (Edit("model.py", LOGITS, "logits = self.head(x)"),), ("1d-0-hidden", "1d-4-basic")),
    slip("model-relu", "The MLP has ReLU instead of GELU.",
         (Edit("model.py", "nn.GELU()", "nn.ReLU()"),), ("1d-0-hidden", "1d-4-basic")),
    misconception("model-probabilities", "The model returns probabilities instead of logits.",
          (Edit("model.py", LOGITS, "logits = F.softmax(self.head(self.ln_f(x)), dim=-1)"),),
          ("1d-0-hidden", "1d-4-basic")),
]

ANSWER = "y = self.PAD_CHAR * len(question) + text[len(question) + 1 :]"
TEXT = "text = question + self.MASK_CHAR + place + self.MASK_CHAR\n"

GIVEN_QUESTIONS = [
    misconception("questions-in-the-loss", "y holds the question too, so that the loss counts it.",
          (Edit("dataset.py", ANSWER, "y = text[1:]"),), ("1d-2-hidden", "1d-5-basic")),
    slip("questions-without-mask", "No MASK stands between question and place.",
         (Edit("dataset.py", TEXT, "text = question + place + self.MASK_CHAR\n"),),
         ("1d-2-hidden", "1d-5-basic")),
    slip("questions-without-end",
         "No MASK stands after the place, so that the model never learns to stop.",
         (Edit("dataset.py", TEXT, "text = question + self.MASK_CHAR + place\n"),),
         ("1d-2-hidden", "1d-5-basic")),
    misconception("questions-not-shifted",
          "y is not shifted by one, so that the model is asked for what it has just read.",
          (Edit("dataset.py", ANSWER,
                "y = self.PAD_CHAR * (len(question) + 1) + text[len(question) + 1:-1]"),),
          ("1d-2-hidden", "1d-5-basic")),
    slip("questions-off-by-one",
         "One PAD too many hides the first character of the place from the loss.",
         (Edit("dataset.py", ANSWER,
               "y = self.PAD_CHAR * (len(question) + 1) + text[len(question) + 2:]"),),
         ("1d-2-hidden", "1d-5-basic")),
]

MISTAKES = WRONG_MODEL + GIVEN_ATTENTION + GIVEN_MODEL + GIVEN_QUESTIONS
