"""A tiny encoder from scratch: multi-head attention, layers, the model, and its training
(problem 5).

Shapes in this file: B is the batch, T the number of positions, n_embd the width of the model, and
head_dim = n_embd / n_head the width of one head. Token 0 is PAD: it only makes rows equally long,
and nothing may depend on the positions that hold it.
"""

import math
import time
from collections.abc import Callable

import torch
import torch.nn as nn
import torch.nn.functional as F

from ..utils import set_fields
from .encoder_data import PAD, copy_batch


class MultiHeadAttention(nn.Module):
    """Multi-head self-attention without a causal mask (Vaswani et al. 2017, section 3.2.2). The
    parameters are those of self.qkv and self.proj alone.

    Args:
        n_embd: the width of the model.
        n_head: the number of heads, which divide n_embd evenly.
        dropout: the dropout rate on the attention weights, each of which is dropped independently,
            in training mode only.

    Raises:
        ValueError: n_embd is not a multiple of n_head; the message has both numbers.
    """

    def __init__(self, n_embd: int, n_head: int, dropout: float = 0.0):
        super().__init__()
        # [part 5d] Raise ValueError for sizes that do not fit, with both numbers in the message.
        # Then create two linear layers with biases: self.qkv from n_embd to 3 * n_embd, and
        # self.proj from n_embd to n_embd. Store what forward needs.
        ### START_CODE_HERE ###
        if n_embd % n_head != 0:
            raise ValueError(f"n_embd ({n_embd}) must be a multiple of n_head ({n_head})")
        self.n_head = n_head
        self.dropout = nn.Dropout(dropout)
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        ### END_CODE_HERE ###

    def forward(
        self,
        x: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        return_weights: bool = False,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Attend.

        Args:
            x: (B, T, n_embd), in the dtype of the parameters.
            key_padding_mask: boolean, (B, T), True at padding, which nothing attends to (queries at
                padding are computed like any others); None: no padding. Neither x nor the mask is
                changed.
            return_weights: return the attention weights, too.

        Returns:
            (B, T, n_embd), or a pair of that and the weights after the softmax, before dropout,
            (B, n_head, T, T): [b, h, i, j] is how much position i attends to position j. If a
            sequence is all padding, its weights are 0, its output is the bias of proj, and no
            gradient is NaN.
        """
        y = weights = None
        # [part 5d] Split qkv(x) into queries, keys and values, and split each into heads; attend,
        # with scores divided by the root of head_dim; join the heads; project.
        #
        # The output of qkv is first all queries, then all keys, then all values. Within each, head
        # 0 has the first head_dim features, head 1 the next, and so on.
        # Hints: make the heads a dimension before the positions: view(B, T, n_head, head_dim), then
        #        transpose(1, 2). key_padding_mask[:, None, None, :] broadcasts to the scores,
        #        (B, n_head, T, T). The softmax of a row of -inf is NaN, and so is its gradient:
        #        avoid such rows.
        ### START_CODE_HERE ###
        B, T, n_embd = x.size()
        heads = self.qkv(x).view(B, T, 3, self.n_head, n_embd // self.n_head)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # (B, n_head, T, head_dim) each
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # (B, n_head, T, T)
        if key_padding_mask is not None:
            hidden = key_padding_mask[:, None, None, :]
            empty = hidden.all(dim=-1, keepdim=True)
            scores = scores.masked_fill(hidden & ~empty, float("-inf"))
            weights = F.softmax(scores, dim=-1).masked_fill(empty, 0.0)
        else:
            weights = F.softmax(scores, dim=-1)
        y = self.dropout(weights) @ v
        y = self.proj(y.transpose(1, 2).reshape(B, T, n_embd))
        ### END_CODE_HERE ###
        return (y, weights) if return_weights else y


def sinusoidal_positions(max_len: int, n_embd: int) -> torch.Tensor:
    """The fixed position embeddings of Vaswani et al. 2017, section 3.5.

    Args:
        max_len: the number of positions.
        n_embd: the number of features, even.

    Returns:
        float32, (max_len, n_embd). Entry [t, 2i] is sin(t * 10000 ** (-2 i / n_embd)), and
        [t, 2i+1] the cosine of the same angle.

    Raises:
        ValueError: n_embd is odd.
    """
    if n_embd % 2 != 0:
        raise ValueError(f"sines and cosines come in pairs, so n_embd must be even; it is {n_embd}")
    table = None
    # [part 5e] Fill in the table.
    # Hint: the outer product of positions and frequencies has all angles. Sines and cosines
    #       alternate within one vector: table[:, 0::2] are the sines, table[:, 1::2] the cosines.
    ### START_CODE_HERE ###
    frequencies = 10000.0 ** (-torch.arange(0, n_embd, 2) / n_embd)
    angles = torch.outer(torch.arange(max_len), frequencies)
    table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
    ### END_CODE_HERE ###
    return table


class LayerNorm(nn.Module):
    """Layer normalization (Ba et al. 2016): each vector of features gets mean 0 and variance 1,
    then a learned scale and shift.

    Args:
        n_embd: the number of features.
        eps: added to the variance, inside the square root.
    """

    def __init__(self, n_embd: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_embd))
        self.bias = nn.Parameter(torch.zeros(n_embd))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., n_embd) -> the same shape. A vector of equal entries gives the bias, with a finite
        gradient; means of some thousands cost no accuracy in float32.
        """
        y = None
        # [part 5e] weight * (x - mean) / sqrt(variance + eps) + bias, over the last dimension.
        # Hint: the variance is the mean of the squared deviations from the mean. x.var(-1) divides
        #       by n_embd - 1; the mean of the squares minus the squared mean is inaccurate.
        ### START_CODE_HERE ###
        centered = x - x.mean(dim=-1, keepdim=True)
        variance = (centered**2).mean(dim=-1, keepdim=True)
        y = self.weight * centered / torch.sqrt(variance + self.eps) + self.bias
        ### END_CODE_HERE ###
        return y


class EncoderLayer(nn.Module):
    """Attention and a feed-forward network, each with a residual connection and a LayerNorm (Xiong
    et al. 2020, figure 1).

    Args:
        n_embd, n_head, dropout: as in MultiHeadAttention; dropout is also applied to the outputs of
            attention and feed-forward network.
        n_hidden: the inner width of the feed-forward network.
        pre_norm: normalize the input of each sublayer (True), or the residual sum after it (False:
            post-norm).
    """

    def __init__(
        self, n_embd: int, n_head: int, n_hidden: int, dropout: float = 0.0, pre_norm: bool = True
    ):
        super().__init__()
        self.attn = MultiHeadAttention(n_embd, n_head, dropout)
        self.norm1, self.norm2 = LayerNorm(n_embd), LayerNorm(n_embd)
        self.up, self.down = nn.Linear(n_embd, n_hidden), nn.Linear(n_hidden, n_embd)
        self.dropout = nn.Dropout(dropout)
        self.pre_norm = pre_norm

    def forward(
        self,
        x: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        return_weights: bool = False,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """As MultiHeadAttention.forward: (B, T, n_embd) -> the same shape, with the attention
        weights if return_weights.
        """
        weights = None
        # [part 5e] With F1 the attention, F2(x) = down(GELU(up(x))), and dropout on the outputs of
        # both:
        #     pre-norm:   x = x + F1(norm1(x)),  then  x = x + F2(norm2(x))
        #     post-norm:  x = norm1(x + F1(x)),  then  x = norm2(x + F2(x))
        # Hint: F.gelu is the GELU. With pre-norm, the residual path (the first x of each sum) is
        #       not normalized.
        ### START_CODE_HERE ###
        attended, weights = self.attn(
            self.norm1(x) if self.pre_norm else x, key_padding_mask, return_weights=True
        )
        x = x + self.dropout(attended)
        x = x if self.pre_norm else self.norm1(x)
        x = x + self.dropout(self.down(F.gelu(self.up(self.norm2(x) if self.pre_norm else x))))
        x = x if self.pre_norm else self.norm2(x)
        ### END_CODE_HERE ###
        return (x, weights) if return_weights else x


class EncoderConfig:
    """The sizes and options of an Encoder.

    Args:
        vocab_size, max_len, n_classes: the numbers of tokens, positions and classes.
        kwargs: any of the fields below. An unknown name raises TypeError.

    Raises:
        ValueError: unknown positions or pooling.
    """

    n_embd = 32
    n_head = 4
    n_layer = 2
    n_hidden = 128
    positions = "sinusoidal"  # or "learned" or "none"
    pooling = "mean"  # or "cls" (position 0), or "none" (logits for every position)
    pre_norm = True
    dropout = 0.0

    def __init__(self, vocab_size: int, max_len: int, n_classes: int, **kwargs):
        self.vocab_size, self.max_len, self.n_classes = vocab_size, max_len, n_classes
        set_fields(self, kwargs)
        for name, known in (
            ("positions", ("sinusoidal", "learned", "none")),
            ("pooling", ("mean", "cls", "none")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; it should be one of {', '.join(known)}"
                )


class Encoder(nn.Module):
    """A classifier of token sequences: embeddings, positions, layers, a final LayerNorm (with
    pre-norm), pooling, and a linear head. All parameters start as PyTorch initializes them.
    """

    def __init__(self, config: EncoderConfig):
        super().__init__()
        self.config = config
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        if config.positions == "learned":
            self.pos_emb = nn.Embedding(config.max_len, config.n_embd)
        elif config.positions == "sinusoidal":
            self.register_buffer("pos_emb", sinusoidal_positions(config.max_len, config.n_embd))
        self.layers = nn.ModuleList(
            [
                EncoderLayer(
                    config.n_embd, config.n_head, config.n_hidden, config.dropout, config.pre_norm
                )
                for _ in range(config.n_layer)
            ]
        )
        self.norm = LayerNorm(config.n_embd) if config.pre_norm else nn.Identity()
        self.head = nn.Linear(config.n_embd, config.n_classes)

    def forward(
        self, idx: torch.Tensor, return_weights: bool = False
    ) -> torch.Tensor | tuple[torch.Tensor, list[torch.Tensor]]:
        """Classify sequences.

        Args:
            idx: int64 tokens, (B, T) with T <= max_len; PAD may be at any position, and more of it
                at the end changes no pooled logits, nor those of other positions.
            return_weights: return the attention weights of each layer, too.

        Returns:
            Logits, (B, n_classes), or (B, T, n_classes) without pooling. With return_weights, a
            pair of the logits and a list of (B, n_head, T, T), one per layer.

        Raises:
            ValueError: the sequence is longer than max_len.
        """
        B, T = idx.size()
        if T > self.config.max_len:
            raise ValueError(
                f"the encoder reads at most max_len = {self.config.max_len} tokens; got {T}"
            )
        logits, weights = None, []
        # [part 5e] Embed the tokens, add the embeddings of positions 0 to T - 1 (if there are any),
        # without a factor or dropout, and run the layers, which must not attend to PAD. Then apply
        # self.norm, the pooling of config.pooling, and the head.
        #
        # "mean": over the positions that are not PAD; zeros if all are PAD. "cls": position 0.
        # "none": no pooling.
        # Hint: for the mean, set the vectors at PAD to 0, sum over T, and divide by the number of
        #       other positions, at least 1.
        ### START_CODE_HERE ###
        padding = idx == PAD
        x = self.tok_emb(idx)  # (B, T, n_embd)
        if self.config.positions == "learned":
            x = x + self.pos_emb.weight[:T]
        elif self.config.positions == "sinusoidal":
            x = x + self.pos_emb[:T]
        for layer in self.layers:
            x, attended = layer(x, padding, return_weights=True)
            weights.append(attended)
        x = self.norm(x)
        if self.config.pooling == "mean":
            count = (~padding).sum(dim=1, keepdim=True).clamp(min=1)  # (B, 1)
            x = x.masked_fill(padding[:, :, None], 0.0).sum(dim=1) / count
        elif self.config.pooling == "cls":
            x = x[:, 0]
        logits = self.head(x)
        ### END_CODE_HERE ###
        return (logits, weights) if return_weights else logits


def copy_task(
    make_model: Callable[[EncoderConfig], nn.Module] = Encoder, steps: int = 600, seed: int = 0
) -> dict[str, float | bool]:
    """Train a model on the copy task (encoder_data.copy_batch) and report whether it learned it: a
    test of attention, residuals, positions and masks.

    Args:
        make_model: builds a model from an EncoderConfig.
        steps: the maximum number of training steps.
        seed: for all random numbers.

    Returns:
        "loss": the mean cross-entropy over all BLANKs of 512 new rows, in nats; "padding_gap": the
        largest absolute change of a logit at a position of these rows that is not PAD, when 8
        columns of PAD are appended; "seconds": the time taken, all three as Python floats;
        "passed", a bool: whether loss < 0.01 and padding_gap < 1e-4.
    """
    started = time.perf_counter()
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    config = EncoderConfig(vocab_size=16, max_len=24, n_classes=16, pooling="none")
    model = make_model(config)
    loss = gap = None
    # [part 5f] Train on new batches, copy_batch(n, generator). Then measure loss and gap on 512 new
    # rows, in evaluation mode and without gradients.
    #
    # Hints: F.cross_entropy takes logits (N, 16) and targets (N), and ignores targets of -100.
    #        Adam at 3e-3 works, with warm-up from 0 and decay to nearly 0 at the end.
    #        F.pad(x, (0, 8)) appends 8 columns of PAD.
    ### START_CODE_HERE ###
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 50) * (1.0 - step / steps)
    )
    model.train()
    for _ in range(steps):
        x, y = copy_batch(16, generator)
        optimizer.zero_grad()
        F.cross_entropy(model(x).flatten(0, 1), y.flatten()).backward()
        optimizer.step()
        schedule.step()
    model.eval()
    x, y = copy_batch(512, generator)
    with torch.no_grad():
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()).item()
        gap = (model(F.pad(x, (0, 8)))[:, : x.size(1)] - logits)[x != PAD].abs().max().item()
    ### END_CODE_HERE ###
    return {
        "loss": loss,
        "padding_gap": gap,
        "seconds": time.perf_counter() - started,
        "passed": loss < 0.01 and gap < 1e-4,
    }


class BagOfWords(nn.Module):
    """The baseline: a linear function of the mean of one-hot vectors, which ignores word order.
    The parameters: weight, an nn.Embedding of width n_classes, and bias, initially zeros.

    Args:
        vocab_size, n_classes: the numbers of tokens and classes.
    """

    def __init__(self, vocab_size: int, n_classes: int):
        super().__init__()
        self.weight = nn.Embedding(vocab_size, n_classes)
        self.bias = nn.Parameter(torch.zeros(n_classes))

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """int64 (B, T) -> logits (B, n_classes): the mean weight of all tokens that are not PAD,
        plus the bias. idx is not changed.
        """
        logits = None
        # [part 5g] Average over the tokens that are not PAD; a row of PAD alone gives the bias.
        # Hint: an embedding is a linear function of a one-hot vector. The rest is mean pooling, as
        #       in Encoder.forward.
        ### START_CODE_HERE ###
        padding = idx == PAD
        count = (~padding).sum(dim=1, keepdim=True).clamp(min=1)
        logits = (
            self.weight(idx).masked_fill(padding[:, :, None], 0.0).sum(dim=1) / count + self.bias
        )
        ### END_CODE_HERE ###
        return logits


def train_classifier(
    model: nn.Module,
    x: torch.Tensor,
    y: torch.Tensor,
    epochs: int,
    batch_size: int = 64,
    learning_rate: float = 3e-3,
    seed: int = 0,
) -> list[float]:
    """Train a classifier, and leave it in evaluation mode.

    Args:
        model: int64 (B, T) -> logits (B, n_classes).
        x, y: sentences, int64 (N, T), and classes, int64 (N). They are not changed.
        epochs: the number of passes over the sentences.
        batch_size, learning_rate: for the optimizer, which you choose. Each epoch uses every
            sentence once; its last batch may be smaller.
        seed: for dropout and the order of the sentences, which is new in each epoch. The same seed
            and model give the same result.

    Returns:
        The mean training loss of each epoch, in nats per sentence, as Python floats: plain
        cross-entropy of the model's outputs during training.
    """
    losses = []
    # [part 5g] Train by cross-entropy.
    # Hint: torch.randperm(N, generator=...) is a random order. Weight each batch's loss by its
    #       size: the last batch may be smaller.
    ### START_CODE_HERE ###
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    model.train()
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(x), generator=generator).split(batch_size):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[batch]), y[batch])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        losses.append(total / len(x))
    model.eval()
    ### END_CODE_HERE ###
    return losses


def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor, batch_size: int = 256) -> float:
    """The share of correct answers, from 0 to 1.

    Args:
        model, x, y: as in train_classifier. The model is evaluated without dropout or gradients,
            and its mode is restored afterwards.
        batch_size: how many sentences the model gets at a time.
    """
    right = None
    # [part 5g] Count the sentences whose largest logit is that of their class.
    # Hint: model.training is the current mode; model.train(mode) sets it.
    ### START_CODE_HERE ###
    mode = model.training
    model.eval()
    with torch.no_grad():
        right = sum(
            (model(part).argmax(dim=-1) == truth).sum().item()
            for part, truth in zip(x.split(batch_size), y.split(batch_size))
        )
    model.train(mode)
    ### END_CODE_HERE ###
    return right / len(x)


def attention_entropy(weights: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
    """The mean entropy of each head's attention weights.

    Args:
        weights: the weights of one layer, (B, n_head, T, T); rows sum to 1.
        key_padding_mask: boolean, (B, T), True at padding. Neither argument is changed.

    Returns:
        (n_head,): the entropy of a row in nats, averaged over all queries of all sentences that
        are not padding; 0 ln 0 counts as 0.
    """
    entropy = None
    # [part 5g] Compute the entropy of each row; leave out the queries at padding; average.
    # Hint: torch.special.entr(p) is -p ln p, and 0 at 0.
    ### START_CODE_HERE ###
    rows = torch.special.entr(weights).sum(dim=-1)  # (B, n_head, T)
    entropy = rows.transpose(1, 2)[~key_padding_mask].mean(dim=0)
    ### END_CODE_HERE ###
    return entropy
