"""Wrong parts of the encoder: positions, LayerNorm, layers and the whole (question 5e). Wrong
attention is in heads.py.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

TABLE, NORM, LAYER, LOGITS = "5e-0-basic", "5e-1-basic", "5e-2-basic", "5e-3-basic"
POST, POOLS, WHOLE, RARE_TOKENS = "5e-4-hidden", "5e-5-hidden", "5e-6-hidden", "5e-11-hidden"
SEEN_POST, SEEN_POOLS, RARE_NORM, SEEN_RARE = "5e-7-basic", "5e-8-basic", "5e-9-basic", "5e-10-basic"


def positions(frequencies: str = "10000.0 ** (-torch.arange(0, n_embd, 2) / n_embd)",
              t: str = "torch.arange(max_len)",
              table: str = "torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)") -> tuple[Fill]:
    """A right body of sinusoidal_positions with some of its expressions replaced."""
    return (Fill("sinusoidal_positions", f"frequencies = {frequencies}\n"
        f"angles = torch.outer({t}, frequencies)\ntable = "
        f"{table}"),)


POSITIONS = [
    misconception("sinusoids-not-interleaved", "All sines stand first, then all cosines.",
          positions(table="torch.cat((angles.sin(), angles.cos()), dim=-1)"), (TABLE,)),
    slip("sinusoids-cosines-first", "Cosines stand in the even columns.",
         positions(table="torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(-2)"),
         (TABLE, LOGITS)),
    slip("sinusoids-base", "The base is 1000.",
         positions(frequencies="1000.0 ** (-torch.arange(0, n_embd, 2) / n_embd)"), (TABLE,)),
    slip("sinusoids-exponent-one", "The exponent lacks its factor 2.",
         positions(frequencies="10000.0 ** (-torch.arange(n_embd // 2) / n_embd)"), (TABLE,)),
    slip("sinusoids-exponent-four",
         "The exponent has a factor 2 although i runs over the even numbers.",
         positions(frequencies="10000.0 ** (-2 * torch.arange(0, n_embd, 2) / n_embd)"), (TABLE,)),
    slip("sinusoids-exponent-sign", "The exponent lacks its minus sign.",
         positions(frequencies="10000.0 ** (torch.arange(0, n_embd, 2) / n_embd)"), (TABLE,)),
    misconception("sinusoids-own-frequency",
          "Each column has a frequency of its own; the cosines do not "
                                     "share those of the sines.",
          (Fill("sinusoidal_positions", "angles = torch.outer(torch.arange(max_len), 10000.0 ** "
                                        "(-torch.arange(n_embd) / n_embd))\n"
                             "table = torch.where(torch.arange(n_embd) % 2 == 0, angles.sin(), "
                             "angles.cos())"),), (TABLE,)),
    slip("sinusoids-from-one", "Positions are counted from 1.",
         positions(t="torch.arange(1, max_len + 1)"), (TABLE, LOGITS)),
    slip("sinusoids-double", "The table is float64.",
         positions(table="torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).double()"),
         (TABLE,)),
    slip("sinusoids-transposed", "Positions run along the second axis.",
         positions(table="torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).T"),
         (TABLE,)),
]


def norm(mean: str = "x.mean(-1, keepdim=True)",
         variance: str = "x.var(-1, unbiased=False, keepdim=True)",
         root: str = "torch.sqrt(variance + self.eps)",
         y: str = "self.weight * (x - mean) / root + self.bias") -> tuple[Fill]:
    """A right body of LayerNorm.forward with some of its expressions replaced."""
    return (Fill("LayerNorm.forward",
                 f"mean = {mean}\nvariance = {variance}\nroot = {root}\ny = {y}"),)


NORMS = [
    slip("norm-unbiased", "The variance is divided by n - 1.",
         norm(variance="x.var(-1, keepdim=True)"), (NORM, LAYER, LOGITS)),
    slip("norm-eps-outside", "eps is added to the root.",
         norm(root="torch.sqrt(variance) + self.eps"), (NORM,)),
    slip("norm-std-eps", "x.std() is used, which divides by n - 1, and eps added to it.",
         norm(root="x.std(-1, keepdim=True) + self.eps"), (NORM, LAYER)),
    slip("norm-no-eps", "There is no eps.", norm(root="torch.sqrt(variance)"), (NORM, RARE_NORM)),
    slip("norm-eps-fixed", "eps is always 1e-5, whatever the constructor was told.",
         norm(root="torch.sqrt(variance + 1e-5)"), (NORM,)),
    slip("norm-by-variance", "It divides by the variance.", norm(root="variance + self.eps"),
         (NORM, LAYER)),
    misconception("norm-over-sequence", "Mean and variance are taken over the sequence.",
          norm(mean="x.mean(max(-2, -x.dim()), keepdim=True)",
               variance="x.var(max(-2, -x.dim()), unbiased=False, keepdim=True)"), (NORM, LAYER)),
    misconception("norm-over-axis-one",
          "Mean and variance are taken over axis 1, which is the sequence, or not there.",
          norm(mean="x.mean(1, keepdim=True)", variance="x.var(1, unbiased=False, keepdim=True)"),
          (NORM, LAYER, LOGITS)),
    slip("norm-large-eps", "eps is 0.1, whatever the constructor was told.",
         norm(root="torch.sqrt(variance + 0.1)"), (NORM, LAYER, LOGITS)),
    misconception("norm-over-batch", "Mean and variance are taken over the batch, as in BatchNorm.",
          norm(mean="x.mean(0, keepdim=True)", variance="x.var(0, unbiased=False, keepdim=True)"),
          (NORM, LAYER)),
    misconception("norm-over-all", "Mean and variance are taken over everything.",
          norm(mean="x.mean()", variance="x.var(unbiased=False)"), (NORM, LAYER)),
    slip("norm-no-weight", "The weight is not used.", norm(y="(x - mean) / root + self.bias"),
         (NORM, LAYER, WHOLE)),
    slip("norm-no-bias", "The bias is not used.", norm(y="self.weight * (x - mean) / root"),
         (NORM, LAYER, WHOLE)),
    misconception("norm-rms", "It is RMSNorm.",
          norm(mean="0.0", variance="(x ** 2).mean(-1, keepdim=True)"), (NORM, LAYER)),
    misconception("norm-detached", "Mean and variance are treated as constants in the gradient.",
          norm(mean="x.mean(-1, keepdim=True).detach()",
               variance="x.var(-1, unbiased=False, keepdim=True).detach()"), (NORM, LOGITS, WHOLE)),
    misconception("norm-torch-does-it", "The normalization is torch's own function.",
          (Fill("LayerNorm.forward",
                "y = F.layer_norm(x, (x.size(-1),), self.weight, self.bias, self.eps)"),),
          (NORM, LAYER, LOGITS)),
    misconception("norm-torch-ops-do-it",
          "The normalization is torch's own function, by its name in torch.ops.",
          (Fill("LayerNorm.forward", "y = torch.ops.aten.native_layer_norm(x, [x.size(-1)], "
                                     "self.weight, self.bias, self.eps)[0]"),),
          (NORM, LAYER, LOGITS)),
    misconception("norm-by-group-norm",
          "The normalization is torch's own, for groups, with all features as one group.",
          (Fill("LayerNorm.forward", "y = F.group_norm(x.reshape(-1, x.size(-1)), 1, self.weight, "
                                     "self.bias, self.eps).view_as(x)"),), (NORM, LAYER, LOGITS)),
    misconception("norm-by-rms-norm", "What is centered is normalized by torch's own RMSNorm.",
          (Fill("LayerNorm.forward", "y = F.rms_norm(x - x.mean(-1, keepdim=True), (x.size(-1),), "
                                     "self.weight, self.eps) + self.bias"),),
          (NORM, LAYER, LOGITS)),
    misconception("norm-by-batch-norm",
          "The normalization is torch's own, for batches, with features and batch exchanged.",
          (Fill("LayerNorm.forward", "y = F.batch_norm(x.reshape(-1, x.size(-1)).T, None, None, "
                                     "None, None, True, eps=self.eps)\n"
                             "y = y.T.view_as(x) * self.weight + self.bias"),),
          (NORM, LAYER, LOGITS)),
    edge("norm-root-of-zero", "The root is taken of the variance alone before eps comes in, so "
                              "that its gradient is not finite.",
         norm(root="torch.sqrt(torch.sqrt(variance) ** 2 + self.eps)"), (RARE_NORM,)),
    edge("norm-variance-of-squares",
         "The variance is the mean of the squares less the square of the mean.",
         norm(variance="(x ** 2).mean(-1, keepdim=True) - mean ** 2"), (RARE_NORM,)),
    edge("norm-variance-of-squares-clamped", "The same, kept from being negative.",
         norm(variance="((x ** 2).mean(-1, keepdim=True) - mean ** 2).clamp(min=0)"), (RARE_NORM,)),
]


def layer(pre: str | None = None, post: str | None = None, gelu: str = "F.gelu",
          drop: str = "self.dropout") -> tuple[Fill]:
    """A right body of EncoderLayer.forward with some of its lines replaced."""
    pre = pre or "x = x + F1(self.norm1(x))\nx = x + F2(self.norm2(x))"
    post = post or "x = self.norm1(x + F1(x))\nx = self.norm2(x + F2(x))"
    indent = "\n    "
    return (Fill("EncoderLayer.forward", f"""seen = []
def F1(h):
    y, attended = self.attn(h, key_padding_mask, return_weights=True)
    seen.append(attended)
    return {drop}(y)
def F2(h):
    return {drop}(self.down({gelu}(self.up(h))))
if self.pre_norm:
    {pre.replace(chr(10), indent)}
else:
    {post.replace(chr(10), indent)}
weights = seen[0]"""),)


LAYERS = [
    misconception("layer-no-residual-attention", "The residual around the attention is missing.",
          layer("x = F1(self.norm1(x))\nx = x + F2(self.norm2(x))",
                "x = self.norm1(F1(x))\nx = self.norm2(x + F2(x))"), (LAYER, LOGITS, POST)),
    misconception("layer-no-residual-forward",
          "The residual around the feed-forward part is missing.",
          layer("x = x + F1(self.norm1(x))\nx = F2(self.norm2(x))"), (LAYER, LOGITS)),
    misconception("layer-no-residuals", "There are no residuals.",
          layer("x = F2(self.norm2(F1(self.norm1(x))))", "x = self.norm2(F2(self.norm1(F1(x))))"),
          (LAYER, POST)),
    misconception("layer-residual-after-norm", "The residual starts after the norm.",
          layer("h = self.norm1(x)\nx = h + F1(h)\nh = self.norm2(x)\nx = h + F2(h)"),
          (LAYER, LOGITS)),
    misconception("layer-residual-after-norm-1",
          "The residual around the attention starts after the norm.",
          layer("h = self.norm1(x)\nx = h + F1(h)\nx = x + F2(self.norm2(x))"), (LAYER, LOGITS)),
    misconception("layer-residual-after-norm-2",
          "The residual around the feed-forward part starts after the norm.",
          layer("x = x + F1(self.norm1(x))\nh = self.norm2(x)\nx = h + F2(h)"), (LAYER, LOGITS)),
    slip("layer-mask-wrong-shape",
         "The mask gets an axis too many before it reaches the attention, which fails.",
         (Edit("encoder.py", "x, key_padding_mask, return_weights=True\n        )\n"
                             "        x = x + self.dropout(attended)",
               "x, None if key_padding_mask is None else key_padding_mask[:, None, :, None], "
               "return_weights=True)\n"
               "        x = x + self.dropout(attended)"),), (LAYER, LOGITS)),
    misconception("layer-always-post", "It is always post-norm.",
          layer(pre="x = self.norm1(x + F1(x))\nx = self.norm2(x + F2(x))"), (LAYER, LOGITS)),
    misconception("layer-always-pre", "It is always pre-norm.",
          layer(post="x = x + F1(self.norm1(x))\nx = x + F2(self.norm2(x))"), (POST, SEEN_POST)),
    misconception("layer-pre-and-post", "In pre-norm, the sums are normalized, too, at the end.",
          layer("x = x + F1(self.norm1(x))\nx = self.norm2(x + F2(self.norm2(x)))"),
          (LAYER, LOGITS)),
    slip("layer-one-norm", "norm1 is used in both places.",
         layer("x = x + F1(self.norm1(x))\nx = x + F2(self.norm1(x))"), (LAYER, LOGITS, WHOLE)),
    misconception("layer-no-norm", "There are no norms.", layer("x = x + F1(x)\nx = x + F2(x)"),
          (LAYER, LOGITS)),
    slip("layer-norms-exchanged", "norm1 and norm2 are swapped.",
         layer("x = x + F1(self.norm2(x))\nx = x + F2(self.norm1(x))"), (LAYER,)),
    misconception("layer-parallel", "Both parts start from the same x.",
          layer("x = x + F1(self.norm1(x)) + F2(self.norm2(x))"), (LAYER, LOGITS)),
    slip("layer-second-sum-from-input", "The second sum starts from the layer's input.",
         layer("h = x + F1(self.norm1(x))\nx = x + F2(self.norm2(h))"), (LAYER,)),
    slip("layer-forward-first", "The feed-forward part comes first.",
         layer("x = x + F2(self.norm2(x))\nx = x + F1(self.norm1(x))"), (LAYER,)),
    misconception("layer-norm-inside-post",
          "In post-norm, what a part returns is normalized, and not the sum.",
          layer(post="x = x + self.norm1(F1(x))\nx = x + self.norm2(F2(x))"), (POST, SEEN_POST)),
    slip("layer-relu", "The activation is ReLU.", layer(gelu="F.relu"), (LAYER, LOGITS, POST)),
    slip("layer-gelu-tanh", "The GELU is the tanh approximation.",
         layer(gelu="(lambda h: F.gelu(h, approximate='tanh'))"), (LAYER, LOGITS, POST)),
    slip("layer-no-activation", "There is no activation.", layer(gelu=""), (LAYER, LOGITS, POST)),
    slip("layer-mask-not-passed", "The padding mask does not reach the attention.",
         (Edit("encoder.py", "x, key_padding_mask, return_weights=True\n        )\n"
                             "        x = x + self.dropout(attended)",
               "x, return_weights=True)\n        x = x + self.dropout(attended)"),),
         (LAYER, LOGITS, POOLS)),
    slip("layer-no-dropout", "There is no dropout on what the parts return.",
         layer(drop=""), (LAYER, POST, SEEN_POST)),
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
            padding: str = "idx == PAD", mask: str = "padding", norm: str = "x = self.norm(x)",
            mean: str = "(x * ~padding[..., None]).sum(1) / count",
            count: str = "(~padding).sum(1, keepdim=True).clamp(min=1)", cls: str = "x[:, 0]",
            loop: str = "for layer in self.layers:",
            head: str = "self.head(x)", collect: str = "weights.append(attended)",
            start: str = "") -> tuple[Fill]:
    """A right body of Encoder.forward with some of its expressions replaced."""
    return (Fill("Encoder.forward", f"""{start}
padding = {padding}
x = {embed}
if self.config.positions != "none":
    {positions}
{loop}
    x, attended = layer(x, {mask}, return_weights=True)
    {collect}
{norm}
count = {count}
if self.config.pooling == "mean":
    x = {mean}
elif self.config.pooling == "cls":
    x = {cls}
logits = {head}"""),)


ENCODERS = [
    slip("encoder-no-positions", "Positions are forgotten.", encoder(positions="pass"),
         (LOGITS, POOLS, WHOLE)),
    slip("encoder-dropout-on-embeddings",
         "There is dropout on the embeddings, too, as in the paper.",
         encoder(loop="x = F.dropout(x, self.config.dropout, self.training)\n"
                      "for layer in self.layers:"), (WHOLE, SEEN_POOLS)),
    slip("encoder-dropout-before-head", "There is dropout before the head, too, as in BERT.",
         encoder(head="self.head(F.dropout(x, self.config.dropout, self.training))"),
         (WHOLE, SEEN_POOLS)),
    slip("encoder-scaled-embeddings",
         "Token embeddings are multiplied by the root of n_embd, as in the paper.",
         encoder(embed="self.tok_emb(idx) * math.sqrt(self.config.n_embd)"),
         (LOGITS, POST, POOLS, WHOLE)),
    slip("encoder-positions-from-one", "The positions begin at 1.",
         encoder(positions="table = self.pos_emb.weight if self.config.positions == 'learned' "
                           "else self.pos_emb\n"
                           "    x = x + torch.cat((table, table[-1:]))[1:T + 1]"), (LOGITS, POOLS)),
    slip("encoder-positions-from-the-end", "The last T rows of the positions are used.",
         encoder(positions="x = x + (self.pos_emb.weight if self.config.positions == 'learned' "
                           "else self.pos_emb)[-T:]"), (LOGITS, WHOLE)),
    slip("encoder-learned-ignored", "Learned positions are never added.",
         encoder(positions="x = x + self.pos_emb[:T] if self.config.positions == 'sinusoidal' "
                           "else x"), (WHOLE, SEEN_POOLS)),
    misconception("encoder-mean-over-pad", "The mean counts PAD.", encoder(mean="x.mean(1)"),
          (LOGITS, POST, POOLS)),
    misconception("encoder-mean-by-length", "The sum leaves PAD out, but is divided by T.",
          encoder(count="T"), (LOGITS, POST, POOLS)),
    slip("encoder-sum", "The sum is not divided.", encoder(count="1"), (LOGITS, POST, POOLS)),
    edge("encoder-empty-mean-nan", "A row of nothing but PAD divides 0 by 0.",
         encoder(count="(~padding).sum(1, keepdim=True)"), (RARE_TOKENS, SEEN_RARE)),
    misconception("encoder-max", "The maximum is taken instead of the mean.",
          encoder(mean="x.masked_fill(padding[..., None], float('-inf')).max(1).values"),
          (LOGITS, POST, POOLS)),
    misconception("encoder-cls-last",
          "Pooling cls takes the last position.", encoder(cls="x[:, -1]"),
          (POOLS, WHOLE, SEEN_POOLS)),
    misconception("encoder-cls-is-mean", "Pooling cls takes the mean.",
          encoder(cls="(x * ~padding[..., None]).sum(1) / count"), (POOLS, WHOLE, SEEN_POOLS)),
    slip("encoder-mask-not-passed", "The layers do not get the padding mask.",
         encoder(mask="None"), (LOGITS, POST, POOLS)),
    misconception("encoder-mask-inverted", "The layers get the mask of what is not padding.",
          encoder(mask="~padding"), (LOGITS, POST, POOLS)),
    edge("encoder-pad-at-the-end-only", "PAD is looked for only behind the last other token.",
         encoder(padding="(idx != PAD).flip(1).cumsum(1).flip(1) == 0"), (RARE_TOKENS, SEEN_RARE)),
    misconception("encoder-cls-is-pad", "Token 1 is taken for PAD.", encoder(padding="idx == 1"),
          (LOGITS, POST, POOLS)),
    slip("encoder-nothing-is-pad", "Token -1 is taken for PAD, so nothing is.",
         encoder(padding="idx == -1"), (LOGITS, POST, POOLS)),
    misconception("encoder-unk-is-pad", "UNK counts as padding, too.",
          encoder(padding="(idx == PAD) | (idx == 2)"), (LOGITS, POOLS)),
    slip("encoder-no-last-norm", "The last norm is forgotten.", encoder(norm="pass"),
         (LOGITS, POOLS, WHOLE)),
    misconception("encoder-norm-after-pooling", "The last norm comes after the pooling.",
          encoder(norm="pass", head="self.head(self.norm(x))"), (LOGITS, POOLS)),
    slip("encoder-first-layer-twice", "The first layer is used each time.",
         encoder(loop="for layer in [self.layers[0]] * len(self.layers):"), (LOGITS, POST, WHOLE)),
    slip("encoder-one-layer", "Only the first layer is used.",
         encoder(loop="for layer in self.layers[:1]:"), (LOGITS, POST, WHOLE)),
    slip("encoder-two-layers", "There are always two layers.",
         encoder(loop="for layer in self.layers[:2]:"), (POST, SEEN_POST)),
    slip("encoder-weights-of-the-last-layer", "Only the weights of the last layer are returned.",
         encoder(collect="weights = [attended]"), (LOGITS,)),
    misconception("encoder-softmax", "The softmax is applied, and the logits are probabilities.",
          encoder(head="F.softmax(self.head(x), dim=-1)"), (LOGITS, POST,
                  POOLS)),
    edge("encoder-long-cut", "Inputs that are too long are cut instead of refused.",
         (Edit("encoder.py", '            raise ValueError(\n'
                             '                f"the encoder reads at most max_len = '
                             '{self.config.max_len} tokens; got {T}"\n            )',
               "            idx, T = idx[:, :self.config.max_len], self.config.max_len"),),
         (RARE_TOKENS, SEEN_RARE)),
    edge("encoder-long-not-refused", "Inputs that are too long fail with an error of torch's.",
         (Edit("encoder.py", '        if T > self.config.max_len:\n            raise ValueError(\n'
                             '                f"the encoder reads at most max_len = '
                             '{self.config.max_len} tokens; got {T}"\n            )\n',
               ""),), (RARE_TOKENS, SEEN_RARE)),
    misconception("encoder-no-gradient", "The layers run without gradients.",
          encoder(loop="for layer in self.layers:\n    x = x.detach()"), (LOGITS, WHOLE)),
    slip("encoder-positions-trained", "The sinusoidal positions are a parameter, and trained.",
         (Edit("encoder.py", "self.register_buffer(\"pos_emb\", "
                             "sinusoidal_positions(config.max_len, config.n_embd))",
               "self.pos_emb = nn.Parameter(sinusoidal_positions(config.max_len, config.n_embd))"),
          ), (LOGITS, WHOLE)),
]

MISTAKES = [*POSITIONS, *NORMS, *LAYERS, *ENCODERS]
