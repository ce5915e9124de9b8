"""Wrong parts of the encoder: positions, LayerNorm, layers and the whole (question 5e). Wrong
attention is in q5d.py.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

TABLE, NORM, LAYER, LOGITS = "5e-0-basic", "5e-1-basic", "5e-2-basic", "5e-3-basic"
POST, POOLS, WHOLE, RARE_TOKENS = "5e-4-hidden", "5e-5-hidden", "5e-6-hidden", "5e-11-hidden"
SEEN_POST, SEEN_POOLS, RARE_NORM, SEEN_RARE = (f"5e-{n}-basic" for n in range(7, 11))


def positions(t: str = "torch.arange(max_len)",
              table: str = "torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)"
              ) -> tuple[Fill]:
    """A right body of sinusoidal_positions with some of its expressions replaced."""
    return (Fill("sinusoidal_positions", "frequencies = 10000.0 ** "
        "(-torch.arange(0, n_embd, 2) / n_embd)\n"
        f"angles = torch.outer({t}, frequencies)\ntable = "
        f"{table}"),)


POSITIONS = [
    misconception("sinusoids-not-interleaved", "All sines stand first, then all cosines.",
         positions(table="torch.cat((angles.sin(), angles.cos()), dim=-1)"), (TABLE,)),
    slip("sinusoids-from-one", "Positions are counted from 1.",
         positions(t="torch.arange(1, max_len + 1)"), (TABLE, LOGITS)),
    slip("sinusoids-end-at-1024", "All positions from 1,023 on are the same.",
         positions(t="torch.arange(max_len).clamp(max=1023)"), (TABLE,)),
    slip("sinusoids-double", "The table is float64.",
         positions(table="torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).double()"),
         (TABLE,)),
]


def norm(mean: str = "x.mean(-1, keepdim=True)",
         variance: str = "x.var(-1, unbiased=False, keepdim=True)",
         root: str = "torch.sqrt(variance + self.eps)") -> tuple[Fill]:
    """A right body of LayerNorm.forward with some of its expressions replaced."""
    return (Fill("LayerNorm.forward",
                 f"mean = {mean}\nvariance = {variance}\nroot = {root}\n"
                 "y = self.weight * (x - mean) / root + self.bias"),)


NORMS = [
    slip("norm-unbiased", "The variance is divided by n - 1.",
         norm(variance="x.var(-1, keepdim=True)"), (NORM, LAYER, LOGITS)),
    slip("norm-no-eps", "There is no eps.", norm(root="torch.sqrt(variance)"), (NORM, RARE_NORM)),
    slip("norm-eps-fixed", "eps is always 1e-5, whatever the constructor was told.",
         norm(root="torch.sqrt(variance + 1e-5)"), (NORM,)),
    misconception("norm-rms", "It is RMSNorm.",
         norm(mean="0.0", variance="(x ** 2).mean(-1, keepdim=True)"), (NORM, LAYER)),
    misconception("norm-detached", "Mean and variance are treated as constants in the gradient.",
         norm(mean="x.mean(-1, keepdim=True).detach()",
              variance="x.var(-1, unbiased=False, keepdim=True).detach()"), (NORM, LOGITS, WHOLE)),
    misconception("norm-torch-ops-do-it",
         "The normalization is torch's own function, by its name in torch.ops.",
         (Fill("LayerNorm.forward", "y = torch.ops.aten.native_layer_norm(x, [x.size(-1)], "
                                    "self.weight, self.bias, self.eps)[0]"),),
         (NORM, LAYER, LOGITS)),
    edge("norm-root-of-zero",
         "The root is taken of the variance alone before eps comes in, so that its gradient is not "
         "finite.", norm(root="torch.sqrt(torch.sqrt(variance) ** 2 + self.eps)"), (RARE_NORM,)),
    edge("norm-variance-of-squares",
         "The variance is the mean of the squares less the square of the mean.",
         norm(variance="(x ** 2).mean(-1, keepdim=True) - mean ** 2"), (RARE_NORM,)),
]


def layer(pre: str | None = None, post: str | None = None, gelu: str = "F.gelu") -> tuple[Fill]:
    """A right body of EncoderLayer.forward with some of its lines replaced."""
    pre = pre or "x = x + F1(self.norm1(x))\nx = x + F2(self.norm2(x))"
    post = post or "x = self.norm1(x + F1(x))\nx = self.norm2(x + F2(x))"
    indent = "\n    "
    return (Fill("EncoderLayer.forward", f"""seen = []
def F1(h):
    y, attended = self.attn(h, key_padding_mask, return_weights=True)
    seen.append(attended)
    return self.dropout(y)
def F2(h):
    return self.dropout(self.down({gelu}(self.up(h))))
if self.pre_norm:
    {pre.replace(chr(10), indent)}
else:
    {post.replace(chr(10), indent)}
weights = seen[0]"""),)


LAYERS = [
    misconception("layer-residual-after-norm", "The residual starts after the norm.",
         layer("h = self.norm1(x)\nx = h + F1(h)\nh = self.norm2(x)\nx = h + F2(h)"),
         (LAYER, LOGITS)),
    misconception("layer-always-pre", "It is always pre-norm.",
         layer(post="x = x + F1(self.norm1(x))\nx = x + F2(self.norm2(x))"), (POST, SEEN_POST)),
    misconception("layer-norm-inside-post",
         "In post-norm, what a part returns is normalized, and not the sum.",
         layer(post="x = x + self.norm1(F1(x))\nx = x + self.norm2(F2(x))"), (POST, SEEN_POST)),
    slip("layer-gelu-tanh", "The GELU is the tanh approximation.",
         layer(gelu="(lambda h: F.gelu(h, approximate='tanh'))"), (LAYER, LOGITS, POST)),
    slip("layer-mask-not-passed", "The padding mask does not reach the attention.",
         (Edit("encoder.py", "x, key_padding_mask, return_weights=True\n        )\n"
                             "        x = x + self.dropout(attended)",
               "x, return_weights=True)\n        x = x + self.dropout(attended)"),),
         (LAYER, LOGITS, POOLS)),
    misconception("layer-dropout-on-sum", "Dropout acts on the sums, after the residual.",
         layer("x = self.dropout(x + F1(self.norm1(x)))\nx = self.dropout(x + F2(self.norm2(x)))",
               "x = self.norm1(self.dropout(x + F1(x)))\nx = self.norm2(self.dropout(x + F2(x)))"),
         (LAYER, POST, SEEN_POST)),
    slip("layer-dropout-inside", "There is dropout after the activation, too.",
         layer(gelu="(lambda h: self.dropout(F.gelu(h)))"), (LAYER,)),
]


def encoder(positions: str = "x = x + (self.pos_emb.weight if self.config.positions == 'learned' "
                             "else self.pos_emb)[:T]",
            embed: str = "self.tok_emb(idx)",
            padding: str = "idx == PAD", norm: str = "x = self.norm(x)",
            mean: str = "(x * ~padding[..., None]).sum(1) / count",
            count: str = "(~padding).sum(1, keepdim=True).clamp(min=1)", cls: str = "x[:, 0]",
            loop: str = "for layer in self.layers:",
            head: str = "self.head(x)", collect: str = "weights.append(attended)") -> tuple[Fill]:
    """A right body of Encoder.forward with some of its expressions replaced."""
    return (Fill("Encoder.forward", f"""
padding = {padding}
x = {embed}
if self.config.positions != "none":
    {positions}
{loop}
    x, attended = layer(x, padding, return_weights=True)
    {collect}
{norm}
count = {count}
if self.config.pooling == "mean":
    x = {mean}
elif self.config.pooling == "cls":
    x = {cls}
logits = {head}"""),)


ENCODERS = [
    slip("encoder-dropout-on-embeddings",
         "There is dropout on the embeddings, too, as in the paper.",
         encoder(loop="x = F.dropout(x, self.config.dropout, self.training)\n"
                      "for layer in self.layers:"), (WHOLE, SEEN_POOLS)),
    slip("encoder-scaled-embeddings",
         "Token embeddings are multiplied by the root of n_embd, as in the paper.",
         encoder(embed="self.tok_emb(idx) * math.sqrt(self.config.n_embd)"),
         (LOGITS, POST, POOLS, WHOLE)),
    slip("encoder-learned-ignored", "Learned positions are never added.",
         encoder(positions="x = x + self.pos_emb[:T] if self.config.positions == 'sinusoidal' "
                           "else x"), (WHOLE, SEEN_POOLS)),
    misconception("encoder-mean-over-pad", "The mean counts PAD.", encoder(mean="x.mean(1)"),
         (LOGITS, POST, POOLS)),
    edge("encoder-empty-mean-nan", "A row of nothing but PAD divides 0 by 0.",
         encoder(count="(~padding).sum(1, keepdim=True)"), (RARE_TOKENS, SEEN_RARE)),
    misconception("encoder-cls-last", "Pooling cls takes the last position.",
         encoder(cls="x[:, -1]"), (POOLS, WHOLE, SEEN_POOLS)),
    edge("encoder-mean-of-two", "The mean of a single word is divided by 2.",
         encoder(count="(~padding).sum(1, keepdim=True).clamp(min=2)"), (RARE_TOKENS, SEEN_RARE)),
    edge("encoder-pad-at-the-end-only", "PAD is looked for only behind the last other token.",
         encoder(padding="(idx != PAD).flip(1).cumsum(1).flip(1) == 0"), (RARE_TOKENS, SEEN_RARE)),
    misconception("encoder-unk-is-pad", "UNK counts as padding, too.",
         encoder(padding="(idx == PAD) | (idx == 2)"), (LOGITS, POOLS)),
    slip("encoder-padding-kept-by-shape",
         "The padding of an earlier call is used again if the shape is the same.",
         encoder(padding="self.__dict__.setdefault(str(idx.shape), idx == PAD)"),
         (LOGITS, POST, POOLS)),
    edge("encoder-cls-first-word",
         "Pooling cls takes the first word that is not PAD instead of position 0.",
         encoder(cls="x[torch.arange(B), (~padding).int().argmax(dim=1)]"),
         (RARE_TOKENS, SEEN_RARE)),
    misconception("encoder-norm-after-pooling", "The last norm comes after the pooling.",
         encoder(norm="pass", head="self.head(self.norm(x))"), (LOGITS, POOLS)),
    slip("encoder-two-layers", "There are always two layers.",
         encoder(loop="for layer in self.layers[:2]:"), (POST, SEEN_POST)),
    slip("encoder-weights-of-the-last-layer", "Only the weights of the last layer are returned.",
         encoder(collect="weights = [attended]"), (LOGITS,)),
    edge("encoder-long-cut", "Inputs that are too long are cut instead of refused.",
         (Edit("encoder.py", '            raise ValueError(\n'
                             '                f"the encoder reads at most max_len = '
                             '{self.config.max_len} tokens; got {T}"\n            )',
               "            idx, T = idx[:, :self.config.max_len], self.config.max_len"),),
         (RARE_TOKENS, SEEN_RARE)),
    slip("encoder-positions-trained", "The sinusoidal positions are a parameter, and trained.",
         (Edit("encoder.py", "self.register_buffer(\"pos_emb\", "
                             "sinusoidal_positions(config.max_len, config.n_embd))",
               "self.pos_emb = nn.Parameter(sinusoidal_positions(config.max_len, config.n_embd))"),
          ), (LOGITS, WHOLE)),
]

MISTAKES = [*POSITIONS, *NORMS, *LAYERS, *ENCODERS]
