"""A tiny encoder from scratch: attention with several heads, layers, the whole model, and its
training (problem 5).

Shapes in this file: B is the batch, T the number of positions, n_embd the width of the model, and
head_dim = n_embd / n_head the width of one head. Token 0 is PAD: positions that hold it are there
only to make rows equally long, and nothing may depend on them.
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
    """Self-attention with several heads; every position sees every other one (Vaswani et al. 2017,
    section 3.2.2).

    Args:
        n_embd: the width of the model.
        n_head: the number of heads, which share n_embd evenly.
        dropout: the rate of dropout on the attention weights.

    Raises:
        ValueError: n_embd is not a multiple of n_head.
    """

    def __init__(self, n_embd: int, n_head: int, dropout: float = 0.0):
        super().__init__()
        # [part 5d] Refuse sizes that do not fit, with both numbers in the message. Then make two
        # linear layers with biases: self.qkv from n_embd to 3 * n_embd, and self.proj from n_embd
        # to n_embd. Keep what forward needs.
        ### START_CODE_HERE ###
        raise NotImplementedError("5d: MultiHeadAttention")
        ### END_CODE_HERE ###

    def forward(
        self,
        x: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        return_weights: bool = False,
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        """Attend.

        Args:
            x: (B, T, n_embd).
            key_padding_mask: boolean, (B, T), True where there is padding, which nothing attends
                to; None: nowhere. Neither is changed.
            return_weights: return the attention weights, too.

        Returns:
            (B, T, n_embd), or a pair of that and the weights after the softmax, before dropout, (B,
            n_head, T, T). In a row of nothing but padding, the weights are 0, and the output is the
            bias of proj.
        """
        y = weights = None
        # [part 5d] Split qkv(x) into queries, keys and values, and each of these into heads;
        # attend; join the heads; project.
        #
        # The output of qkv is first all queries, then all keys, then all values. Within each, head
        # 0 has the first head_dim features, head 1 the next, and so on.
        # Hints: heads become a dimension before the positions: view(B, T, n_head, head_dim), then
        #        transpose(1, 2). key_padding_mask[:, None, None, :] lines up with the scores, (B,
        #        n_head, T, T). A row of scores that are all -inf gives NaN, in the gradient as
        #        well: leave none.
        ### START_CODE_HERE ###
        raise NotImplementedError("5d: MultiHeadAttention.forward")
        ### END_CODE_HERE ###
        return (y, weights) if return_weights else y


def sinusoidal_positions(max_len: int, n_embd: int) -> torch.Tensor:
    """The fixed position embeddings of Vaswani et al. 2017, section 3.5.

    Args:
        max_len: how many positions.
        n_embd: how many features, even.

    Returns:
        float32, (max_len, n_embd). Entry [t, 2i] is sin(t * 10000 ** (-2 i / n_embd)), and [t,
        2i+1] the cosine of the same.

    Raises:
        ValueError: n_embd is odd.
    """
    if n_embd % 2 != 0:
        raise ValueError(f"sines and cosines come in pairs, so n_embd must be even; it is {n_embd}")
    table = None
    # [part 5e] Fill in the table.
    # Hint: as in precompute_rotary_emb of attention.py, but sines and cosines stand side by side in
    #       one vector: table[:, 0::2] are the sines, table[:, 1::2] the cosines.
    ### START_CODE_HERE ###
    raise NotImplementedError("5e: sinusoidal_positions")
    ### END_CODE_HERE ###
    return table


class LayerNorm(nn.Module):
    """Layer normalization (Ba et al. 2016): each vector of features gets mean 0 and variance 1,
    then a learned scale and shift.

    Args:
        n_embd: the number of features.
        eps: added to the variance, inside the root.
    """

    def __init__(self, n_embd: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_embd))
        self.bias = nn.Parameter(torch.zeros(n_embd))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(..., n_embd) -> the same shape."""
        y = None
        # [part 5e] weight * (x - mean) / sqrt(variance + eps) + bias, over the last dimension.
        # Hint: the variance is the mean squared deviation, divided by n_embd; x.var(-1) divides by
        # n_embd - 1.
        ### START_CODE_HERE ###
        raise NotImplementedError("5e: LayerNorm.forward")
        ### END_CODE_HERE ###
        return y


class EncoderLayer(nn.Module):
    """Attention and a feed-forward part, each with a residual connection and a LayerNorm (Xiong et
    al. 2020, figure 1).

    Args:
        n_embd, n_head, dropout: as in MultiHeadAttention; dropout also acts on what each of the two
            parts returns.
        n_hidden: the width inside the feed-forward part.
        pre_norm: normalize what goes into a part (True), or the sum that comes out (False:
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
        """As MultiHeadAttention.forward: (B, T, n_embd) -> the same, and the attention weights if
        they are asked for.
        """
        weights = None
        # [part 5e] With F1 the attention and F2(x) = down(GELU(up(x))), and dropout on what either
        # returns:
        #     pre-norm:   x = x + F1(norm1(x)),  then  x = x + F2(norm2(x))
        #     post-norm:  x = norm1(x + F1(x)),  then  x = norm2(x + F2(x))
        # Hint: F.gelu is the GELU. The residual path, the first x of each sum, is not normalized in
        # pre-norm.
        ### START_CODE_HERE ###
        raise NotImplementedError("5e: EncoderLayer.forward")
        ### END_CODE_HERE ###
        return (x, weights) if return_weights else x


class EncoderConfig:
    """The sizes and choices of an Encoder.

    Args:
        vocab_size, max_len, n_classes: the numbers of tokens, of positions, and of classes.
        kwargs: any of the fields below. A name that is not one of them raises TypeError.

    Raises:
        ValueError: unknown positions or pooling.
    """

    n_embd = 32
    n_head = 4
    n_layer = 2
    n_hidden = 128
    positions = "sinusoidal"  # or "learned" or "none"
    pooling = "mean"  # or "cls" (position 0), or "none" (every position has an answer of its own)
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
    """Tokens in, classes out: embeddings, positions, layers, a last LayerNorm (with pre-norm),
    pooling, a linear head.
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
        """Classify.

        Args:
            idx: int64 tokens, (B, T) with T <= max_len; PAD may stand anywhere.
            return_weights: return the attention weights of each layer, too.

        Returns:
            logits, (B, n_classes), or without pooling (B, T, n_classes); or a pair of that and a
            list of (B, n_head, T, T).

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
        # and run the layers, which must not attend to PAD. Then self.norm, the pooling that
        # config.pooling names, and the head.
        #
        # "mean": over the positions that are not PAD; zeros if there is none. "cls": position 0.
        # "none": no pooling.
        # Hint: the mean of what is left: set the vectors at PAD to 0, sum over T, divide by the
        # number of the others, at least 1.
        ### START_CODE_HERE ###
        raise NotImplementedError("5e: Encoder.forward")
        ### END_CODE_HERE ###
        return (logits, weights) if return_weights else logits


def copy_task(
    make_model: Callable[[EncoderConfig], nn.Module] = Encoder, steps: int = 600, seed: int = 0
) -> dict[str, float | bool]:
    """Train a model to copy (encoder_data.copy_batch shows what), and say whether it can: a test of
    attention, residuals, positions, masks.

    Args:
        make_model: makes a model of an EncoderConfig.
        steps: the most training steps.
        seed: of all random numbers.

    Returns:
        "loss": the mean cross-entropy on 512 fresh rows, in nats per symbol; "padding_gap": the
        largest difference that 8 more columns of PAD make to a logit where there is no PAD;
        "seconds" that it took; "passed": whether loss < 0.01 and gap < 1e-4.
    """
    started = time.perf_counter()
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    config = EncoderConfig(vocab_size=16, max_len=24, n_classes=16, pooling="none")
    model = make_model(config)
    loss = gap = None
    # [part 5f] Train on fresh batches, copy_batch(n, generator). Then measure loss and gap on 512
    # fresh rows, in evaluation mode.
    #
    # Hints: F.cross_entropy takes logits (N, 16) and targets (N), and ignores targets of -100 by
    #        itself. Adam at 3e-3 learns it, if the rate rises from 0 at first and falls to nearly 0
    #        at the end. F.pad(x, (0, 8)) appends 8 columns of PAD.
    ### START_CODE_HERE ###
    raise NotImplementedError("5f: copy_task")
    ### END_CODE_HERE ###
    return {
        "loss": loss,
        "padding_gap": gap,
        "seconds": time.perf_counter() - started,
        "passed": loss < 0.01 and gap < 1e-4,
    }


class BagOfWords(nn.Module):
    """The baseline: a linear function of which words occur how often. It cannot know their order.

    Args:
        vocab_size, n_classes: the numbers of tokens and of classes.
    """

    def __init__(self, vocab_size: int, n_classes: int):
        super().__init__()
        self.weight = nn.Embedding(vocab_size, n_classes)
        self.bias = nn.Parameter(torch.zeros(n_classes))

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """int64 (B, T) -> logits (B, n_classes): the mean of the weights of all tokens that are not
        PAD, plus the bias.
        """
        logits = None
        # [part 5g] Average over what is not PAD; a row of nothing but PAD gives the bias.
        # Hint: an embedding is a linear function of a one-hot vector. The rest is mean pooling, as
        # in Encoder.forward.
        ### START_CODE_HERE ###
        raise NotImplementedError("5g: BagOfWords.forward")
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
    """Train a model to classify, and leave it in evaluation mode.

    Args:
        model: int64 (B, T) -> logits (B, n_classes).
        x, y: sentences, int64 (N, T), and classes, int64 (N).
        epochs: how often each sentence is used.
        batch_size, learning_rate: of the optimizer's steps; the last batch of an epoch may be
            smaller.
        seed: of the order of the sentences, which is another one in each epoch, and of dropout.

    Returns:
        The mean training loss of each epoch, in nats per sentence: plain cross-entropy, as the
        model answered while trained.
    """
    losses = []
    # [part 5g] Train by cross-entropy.
    # Hint: torch.randperm(N, generator=...) is a random order. Weigh each batch's loss by its size:
    # the last may be smaller.
    ### START_CODE_HERE ###
    raise NotImplementedError("5g: train_classifier")
    ### END_CODE_HERE ###
    return losses


def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor, batch_size: int = 256) -> float:
    """The share of right answers, from 0 to 1.

    Args:
        model, x, y: as in train_classifier. The model is evaluated without dropout, and its mode is
            afterwards what it was.
        batch_size: how many sentences at a time.
    """
    right = None
    # [part 5g] Count the sentences whose largest logit is that of their class.
    # Hint: model.training says which mode it is in; model.train(mode) sets it.
    ### START_CODE_HERE ###
    raise NotImplementedError("5g: accuracy")
    ### END_CODE_HERE ###
    return right / len(x)


def attention_entropy(weights: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
    """How spread the attention of each head is.

    Args:
        weights: those of one layer, (B, n_head, T, T); rows add up to 1.
        key_padding_mask: boolean, (B, T), True where there is padding.

    Returns:
        (n_head): the entropy of a row in nats, averaged over the queries of all sentences that are
        not padding.
    """
    entropy = None
    # [part 5g] 0 ln 0 counts as 0.
    # Hint: torch.special.entr(p) is -p ln p, and 0 at 0.
    ### START_CODE_HERE ###
    raise NotImplementedError("5g: attention_entropy")
    ### END_CODE_HERE ###
    return entropy
