"""A GPT in the style of Radford et al. (2018, 2019): token embeddings, Transformer blocks, a linear
head.

Positions enter in one of two ways: a learned vector for each position is added to the token
embeddings (the vanilla model), or the queries and keys of every layer are rotated (RoPE).
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

from .attention import CausalSelfAttention
from .utils import set_fields


class GPTConfig:
    """The sizes and dropout rates of a GPT.

    Args:
        vocab_size: number of tokens; token 0 is padding.
        block_size: the longest sequence that the model can read.
        kwargs: any of the fields below. An unknown name raises TypeError.
    """

    n_layer = 4
    n_head = 8
    n_embd = 256
    embd_pdrop = 0.1  # dropout after the embeddings,
    resid_pdrop = 0.1  # on what each attention and MLP adds to the residual stream,
    attn_pdrop = 0.1  # and on the attention weights
    rope = False  # rotate queries and keys instead of adding learned position embeddings

    def __init__(self, vocab_size: int, block_size: int, **kwargs):
        self.vocab_size = vocab_size
        self.block_size = block_size
        set_fields(self, kwargs)


class Block(nn.Module):
    """One pre-norm Transformer block: LayerNorm is applied to the inputs of attention and MLP, not
    to the residual path.
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.ln1 = nn.LayerNorm(config.n_embd)
        self.ln2 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd),
            nn.Dropout(config.resid_pdrop),
        )

    def forward(self, x: torch.Tensor, cache=None) -> torch.Tensor:
        """(B, T, n_embd) -> (B, T, n_embd)."""
        # The cache is passed only if there is one, so that attention modules without cache support
        # work here, too.
        attended = self.attn(self.ln1(x)) if cache is None else self.attn(self.ln1(x), cache)
        x = x + attended
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    """A character-level language model: it predicts the next token at every position."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.rope = config.rope
        self.block_size = config.block_size
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        if not config.rope:
            self.pos_emb = nn.Parameter(torch.zeros(1, config.block_size, config.n_embd))
        self.drop = nn.Dropout(config.embd_pdrop)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.apply(self._init_weights)

    @staticmethod
    def _init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def get_block_size(self) -> int:
        """The longest sequence that the model can read."""
        return self.block_size

    def forward(
        self, idx: torch.Tensor, targets: torch.Tensor | None = None, caches: list | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Predict the next token at every position.

        Args:
            idx: int64 tokens, (B, T) with T <= block_size. With caches, the T tokens after the
                cached ones.
            targets: int64, (B, T), the token that follows each position; 0 (padding) is ignored.
            caches: one `KVCache` of src/jobs per layer, for generation; None in training.

        Returns:
            logits of shape (B, T, vocab_size), and the mean cross-entropy in nats per target, or
            None without targets.

        Raises:
            ValueError: the sequence is longer than block_size.
        """
        start = caches[0].length if caches else 0
        T = idx.size(1)
        if start + T > self.block_size:
            raise ValueError(
                f"the model reads at most block_size = {self.block_size} tokens; got {start + T}"
            )

        token_embeddings = self.tok_emb(idx)  # (B, T, n_embd)
        if self.rope:
            x_input = None
            # [part 1h] What is the input of the blocks, (B, T, n_embd), when RoPE encodes the
            # positions?
            # Hint: compare with the vanilla model's line below. With RoPE there is no pos_emb.
            ### START_CODE_HERE ###
            raise NotImplementedError("1h: GPT.forward")
            ### END_CODE_HERE ###
        else:
            # one learned vector per position
            x_input = token_embeddings + self.pos_emb[:, start : start + T, :]

        x = self.drop(x_input)
        for layer, block in enumerate(self.blocks):
            x = block(x, caches[layer] if caches else None)
        logits = self.head(self.ln_f(x))

        loss = None
        if targets is not None:
            loss = F.cross_entropy(
                logits.reshape(-1, logits.size(-1)), targets.reshape(-1), ignore_index=0
            )
        return logits, loss
