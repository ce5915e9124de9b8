"""Wrong vanilla models, and given code that was spoiled while working on it (question 1d)."""
from instructor.mistakes.patches import Edit, Fill, misconception, slip

VALUES, DATA = ("1d-0-hidden", "1d-4-basic"), ("1d-2-hidden", "1d-5-basic")


def model(code: str) -> tuple[Fill]:
    """A body of initialize_vanilla_model."""
    return (Fill("initialize_vanilla_model", code),)


CHANGED_COPY = "conf = copy.copy(mconf)\nconf.{}\nmodel = GPT(conf)"

WRONG_MODEL = [
    slip("vanilla-none", "The model is made but not kept, so that None is returned.",
         model("GPT(mconf)"), VALUES),
    slip("vanilla-config-returned", "The config is returned instead of a model.",
         model("model = mconf"), VALUES),
    slip("vanilla-default-sizes",
         "A new config is made that takes over the vocabulary and the block size alone.",
         model("model = GPT(GPTConfig(mconf.vocab_size, mconf.block_size))"),
         VALUES),
    misconception("vanilla-with-rope", "The vanilla model is made with RoPE.",
          model(CHANGED_COPY.format("rope = True")), VALUES),
    misconception("vanilla-one-head", "The model has a single head, which its weights don't show.",
          model(CHANGED_COPY.format("n_head = 1")), VALUES),
    slip("vanilla-half-precision", "The model is turned into half precision.",
         model("model = GPT(mconf).half()"), VALUES),
    misconception("vanilla-zeros",
          "All weights are set to zero, so that the units of a layer can never differ.",
          model("model = GPT(mconf)\nfor parameter in model.parameters():\n"
                "    torch.nn.init.zeros_(parameter)"), VALUES),
    slip("vanilla-same-each-time",
         "The first model that was made is returned at every later call, whatever its sizes.",
         model("if not hasattr(initialize_vanilla_model, 'made'):\n"
               "    initialize_vanilla_model.made = GPT(mconf)\n"
               "model = initialize_vanilla_model.made"), VALUES),
]

CAUSAL = ('att = att.masked_fill(self.mask[:, :, start : start + T, : k.size(-2)] == 0, '
          'float("-inf"))')

GIVEN_ATTENTION = [
    misconception("attention-softmax-over-queries",
          "The softmax runs over the queries instead of the keys.",
          (Edit("attention.py", "F.softmax(att, dim=-1)", "F.softmax(att, dim=-2)"),),
          VALUES),
    misconception("attention-without-mask",
          "Positions see what comes after them, since the causal mask is missing.",
          (Edit("attention.py", f"        {CAUSAL}\n", ""),), VALUES),
    slip("attention-sees-the-next", "The mask is off by one, so that a position sees the "
                                    "character that it should predict.",
         (Edit("attention.py", "config.block_size).tril()", "config.block_size).tril(1)"),),
         VALUES),
    misconception("attention-dropout-in-evaluation",
          "Attention weights are dropped in evaluation, too.",
          (Edit("attention.py", "self.attn_drop(F.softmax(att, dim=-1))",
                "F.dropout(F.softmax(att, dim=-1), 0.1)"),), VALUES),
]

GIVEN_MODEL = [
    slip("model-loss-counts-pads", "The loss counts the padding, since ignore_index is missing.",
         (Edit("model.py", "targets.reshape(-1), ignore_index=0\n            )",
               "targets.reshape(-1))"),), VALUES),
    misconception("model-without-positions",
          "The position embeddings are not added in the vanilla model.",
          (Edit("model.py", "token_embeddings + self.pos_emb[:, start : start + T, :]",
                "token_embeddings"),), (*VALUES, "1h-7-hidden")),
    misconception("model-post-norm", "The LayerNorm stands behind the MLP instead of before it.",
          (Edit("model.py", "return x + self.mlp(self.ln2(x))", "return x + self.ln2(self.mlp(x))"),
           ), VALUES),
    misconception("model-probabilities", "The model returns probabilities instead of logits.",
          (Edit("model.py", "logits = self.head(self.ln_f(x))",
                "logits = F.softmax(self.head(self.ln_f(x)), dim=-1)"),),
          VALUES),
]

ANSWER = "y = self.PAD_CHAR * len(question) + text[len(question) + 1 :]"
TEXT = "text = question + self.MASK_CHAR + place + self.MASK_CHAR\n"

GIVEN_QUESTIONS = [
    misconception("questions-in-the-loss", "y holds the question too, so that the loss counts it.",
          (Edit("dataset.py", ANSWER, "y = text[1:]"),), DATA),
    slip("questions-without-end",
         "No MASK stands after the place, so that the model never learns to stop.",
         (Edit("dataset.py", TEXT, "text = question + self.MASK_CHAR + place\n"),),
         DATA),
]

MISTAKES = WRONG_MODEL + GIVEN_ATTENTION + GIVEN_MODEL + GIVEN_QUESTIONS
