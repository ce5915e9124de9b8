"""Wrong attention with several heads: MultiHeadAttention (question 5d)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

OUTPUT, MASK, WEIGHTS, SIZES, EMPTY, REST = (
    "5d-1-basic", "5d-2-basic", "5d-3-basic", "5d-4-hidden", "5d-5-hidden", "5d-6-hidden")
SMALL, RARE, DROPOUT, MADE = "5d-7-basic", "5d-8-basic", "5d-9-basic", "5d-10-basic"
LAYER, LOGITS, WHOLE, RARE_ROWS = "5e-2-basic", "5e-3-basic", "5e-6-hidden", "5e-11-hidden"


def init(check: str = "if n_embd % n_head != 0:\n    raise ValueError(f'{n_embd} is no multiple of "
                      "{n_head}')",
         qkv: str = "nn.Linear(n_embd, 3 * n_embd)",
         more: str = "") -> Fill:
    """A right constructor of MultiHeadAttention with some of its expressions replaced."""
    return Fill("MultiHeadAttention", f"{check}\nself.n_head = n_head\n"
                                      f"self.dropout = nn.Dropout(dropout)\nself.qkv = {qkv}\n"
                                      f"self.proj = nn.Linear(n_embd, n_embd)\n{more}")


def heads(thirds: str = "q, k, v = self.qkv(x).chunk(3, dim=-1)",
          split: str = "part.view(B, T, self.n_head, d).transpose(1, 2)",
          scale: str = "math.sqrt(d)", padding: str = "key_padding_mask[:, None, None, :]",
          hidden: str = "scores.masked_fill(hidden, float('-inf'))",
          empty: str = "weights.masked_fill(hidden.all(-1, keepdim=True), 0.0)",
          attended: str = "self.dropout(weights) @ v",
          join: str = "y.transpose(1, 2).reshape(B, T, C)",
          project: str = "self.proj(y)",
          last: str = "") -> tuple[Fill]:
    """A right body of MultiHeadAttention.forward with some of its expressions replaced."""
    return (Fill("MultiHeadAttention.forward",
                 f"B, T, C = x.shape\nd = C // self.n_head\n{thirds}\n"
                 f"q, k, v = ({split} for part in (q, k, v))\n"
                 f"scores = q @ k.transpose(-2, -1) / {scale}\nif key_padding_mask is not None:\n"
                 f"    hidden = {padding}\n    scores = {hidden}\n"
                 "weights = F.softmax(scores, dim=-1)\n"
                 f"if key_padding_mask is not None:\n    weights = {empty}\ny = {attended}\n"
                 f"y = {join}\ny = {project}\n{last}"),)


HEADS = [
    misconception("heads-split-by-view",
         "Heads are made by a view to (B, n_head, T, head_dim), which mixes them with the "
         "sequence.", heads(split="part.reshape(B, self.n_head, T, d)"),
         (OUTPUT, MASK, WEIGHTS, SIZES)),
    misconception("heads-each-own-qkv",
         "Each head has its queries, keys and values side by side, as in GPT-NeoX.",
         heads(thirds="q, k, v = self.qkv(x).view(B, T, self.n_head, 3 * d).chunk(3, dim=-1)",
               split="part.transpose(1, 2)"), (OUTPUT, WEIGHTS, SIZES)),
    misconception("heads-scale-n-embd", "Scores are divided by the root of n_embd.",
         heads(scale="math.sqrt(C)"), (OUTPUT, WEIGHTS, SIZES)),
    misconception("heads-no-scale", "Scores are not scaled.", heads(scale="1.0"),
         (OUTPUT, WEIGHTS, SIZES)),
    misconception("heads-across-the-batch",
          "The first axis is taken for the sequence, as with batch_first=False.",
          (Fill("MultiHeadAttention.forward", """L, N, C = x.shape
d = C // self.n_head
q, k, v = (part.reshape(L, N * self.n_head, d).transpose(0, 1) \
for part in self.qkv(x).chunk(3, dim=-1))
weights = F.softmax(q @ k.transpose(1, 2) / math.sqrt(d), dim=-1)
y = self.proj((self.dropout(weights) @ v).transpose(0, 1).reshape(L, N, C))
"""),), (OUTPUT, MASK, WEIGHTS, SIZES)),
    misconception("heads-torch-ops-do-it",
          "The attention is torch's own function, by its name in torch.ops.",
          (Fill("MultiHeadAttention.forward", """B, T, C = x.shape
q, k, v = (part.view(B, T, self.n_head, -1).transpose(1, 2) \
for part in self.qkv(x).chunk(3, dim=-1))
mask = None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]
y = self.proj(torch.ops.aten.scaled_dot_product_attention(q, k, v, mask)\
.transpose(1, 2).reshape(B, T, C))
weights = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
"""),), (OUTPUT, MASK, WEIGHTS, SIZES, LAYER)),
    slip("heads-change-the-mask", "The mask is turned around in place.",
         heads(padding="key_padding_mask.logical_not_().logical_not()[:, None, None, :]"),
         (MASK, WEIGHTS, SIZES)),
]

PADDING = [
    misconception("padding-inverted", "The mask is taken for True: may attend.",
         heads(padding="~key_padding_mask[:, None, None, :]"), (MASK, WEIGHTS, LOGITS)),
    misconception("padding-after-softmax",
         "The mask is applied to the weights, which no longer add up to 1.",
         heads(hidden="scores", empty="weights.masked_fill(hidden, 0.0)"), (MASK, WEIGHTS)),
    edge("padding-minus-10000",
         "The scores of padding are set to -10000, which other scores may be below.",
         heads(hidden="scores.masked_fill(hidden, -10000.0)"), (EMPTY, RARE)),
    slip("padding-kept-by-shape",
         "The mask of an earlier call is used again if the shape is the same.",
         heads(padding="self.__dict__.setdefault(str(key_padding_mask.shape), key_padding_mask)"
                       "[:, None, None, :]"), (MASK, WEIGHTS, SIZES, LOGITS)),
    edge("padding-empty-nan", "A row of nothing but padding gives NaN.", heads(empty="weights"),
         (EMPTY, RARE, RARE_ROWS)),
    edge("padding-empty-gradient",
         "-inf is added to the scores, and NaN repaired after the softmax: the gradient stays NaN.",
         heads(hidden="scores + torch.zeros_like(scores).masked_fill(hidden, float('-inf'))",
               empty="torch.nan_to_num(weights)"), (EMPTY, RARE)),
    edge("padding-empty-output-zero",
         "In a row of nothing but padding, the output is 0 instead of the bias of proj.",
         heads(last="if key_padding_mask is not None:\n"
                    "    y = y.masked_fill(key_padding_mask.all(1)[:, None, None], 0.0)"),
         (EMPTY, RARE)),
]

WEIGHTS_AND_DROPOUT = [
    misconception("weights-averaged", "The weights are averaged over the heads, PyTorch's default.",
         heads(last="weights = weights.mean(dim=1)"), (WEIGHTS, LAYER)),
    slip("weights-transposed", "The weights that are returned have queries and keys exchanged.",
         heads(last="weights = weights.transpose(2, 3)"), (WEIGHTS,)),
    slip("weights-after-dropout", "The weights that are returned are those after dropout.",
         heads(empty="weights.masked_fill(hidden.all(-1, keepdim=True), 0.0)",
               attended="(weights := self.dropout(weights)) @ v"), (REST, DROPOUT)),
    misconception("weights-detached",
         "The weights are detached, to save memory, before they are used.",
         heads(attended="self.dropout(weights.detach()) @ v"), (SMALL, SIZES, WHOLE)),
    slip("dropout-forgotten", "There is no dropout.", heads(attended="weights @ v"),
         (REST, DROPOUT)),
    misconception("dropout-on-output", "Dropout acts on the output.",
         heads(attended="weights @ v", project="self.dropout(self.proj(y))"),
         (REST, DROPOUT, LAYER)),
    slip("dropout-same-for-all-heads", "One dropout mask is drawn, and used for all heads.",
         heads(attended="(weights * self.dropout(torch.ones_like(weights[:, :1]))) @ v"),
         (REST, DROPOUT)),
    misconception("dropout-keep-rate", "The rate of dropout is taken for the rate that is kept.",
         (init(more="self.dropout = nn.Dropout(1 - dropout if dropout else 0.0)"),),
         (REST, DROPOUT)),
    edge("init-one-number", "The error for sizes that do not fit does not have both numbers.",
         (init(check="if n_embd % n_head:\n    raise ValueError(f'n_embd must be a multiple of "
                     "{n_head}')"),), (EMPTY, MADE)),
    slip("init-no-bias", "qkv has no bias, as in some newer models.",
         (init(qkv="nn.Linear(n_embd, 3 * n_embd, bias=False)"),), (OUTPUT, REST, MADE)),
    slip("init-extra-parameter", "The scale is a parameter of its own.",
         (init(more="self.scale = nn.Parameter(torch.tensor((n_embd // n_head) ** -0.5))"),
          heads(scale="(1 / self.scale)")[0]), (REST, MADE)),
    slip("heads-half-precision", "The product of weights and values is computed in half precision.",
         heads(attended="(self.dropout(weights).bfloat16() @ v.bfloat16()).to(x.dtype)"),
         (OUTPUT, SIZES, SMALL)),
]

# Padding that counts at the wrong time.
GIVEN = "        if key_padding_mask is not None:\n            hidden"
TIMES = [
    slip("heads-padding-only-in-evaluation", "In training, padding is attended to.",
         (Edit("encoder.py", GIVEN, GIVEN.replace("not None", "not None and not self.training")),),
         (DROPOUT, REST)),
    slip("heads-padding-kept", "Without a mask, that of the last call is used again.",
         (Edit("encoder.py", GIVEN,
               "        if key_padding_mask is not None:\n"
               "            self.last = key_padding_mask\n"
               "        elif getattr(self, 'last', x[0]).shape == x.shape[:2]:\n"
               "            key_padding_mask = self.last\n" + GIVEN),), (OUTPUT, SIZES)),
]

# Nothing of the question: such a forward earns nothing, not even for the constructor.
NOTHING = [
    misconception("heads-nothing-identity", "The forward returns x.",
         (Fill("MultiHeadAttention.forward",
               "weights = x.new_full((len(x), self.n_head, x.shape[1], x.shape[1]), "
               "1 / x.shape[1])\ny = x + 0 * self.proj(x)"),),
         (OUTPUT, MASK, WEIGHTS, SIZES, EMPTY, REST, SMALL, RARE, DROPOUT, MADE)),
]

MISTAKES = [*HEADS, *PADDING, *WEIGHTS_AND_DROPOUT, *TIMES, *NOTHING]
