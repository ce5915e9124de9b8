"""Self-attention, with rotary position embeddings (RoPE).

Shapes in this file: B is the batch, T the number of positions, C = n_embd the width of the model,
and head_dim = n_embd / n_head the width of one head.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def precompute_rotary_emb(dim: int, max_positions: int) -> torch.Tensor:
    """Precompute RoPE's table of cosines and sines (Su et al. 2021, RoFormer, section 3.2.2).

    Args:
        dim: the width of one head (head_dim), even. Each pair of features shares one angle.
        max_positions: the number of positions in the table, 1 or more (block_size in the model).

    Returns:
        float32 of shape (max_positions, dim/2, 2). Entry [t, i, 0] is cos(t * theta_i) and [t, i,
        1] is sin(t * theta_i), with theta_i = 10000 ** (-2 i / dim) for i = 0, 1, ..., dim/2 - 1.
    """
    if dim % 2 != 0:
        raise ValueError(
            f"RoPE rotates pairs of features, so the head dimension must be even; it is {dim}"
        )
    rope_cache = None
    # [part 1h] Fill in rope_cache, as the docstring says.
    # Hints: torch.arange gives the i's and the t's; torch.outer multiplies every t by every theta;
    #        torch.stack(..., dim=-1) puts the cosines and the sines side by side.
    #        At position 0 the angles are 0, so every cosine is 1 and every sine 0.
    ### START_CODE_HERE ###
    raise NotImplementedError("1h: precompute_rotary_emb")
    ### END_CODE_HERE ###
    return rope_cache


def apply_rotary_emb(x: torch.Tensor, rope_cache: torch.Tensor) -> torch.Tensor:
    """Rotate each adjacent pair of features (x[2i], x[2i+1]) by the angle of its position.

    Args:
        x: queries or keys, (B, n_head, T, head_dim).
        rope_cache: from precompute_rotary_emb, (max_positions, head_dim/2, 2) with
            max_positions >= T. Row t belongs to position t of x; rows from T on are unused.

    Returns:
        The rotated x, same order, shape and dtype. Pairs rotate counterclockwise: (1, 0) becomes
        (cos, sin), and (0, 1) becomes (-sin, cos). Gradients flow through it to x; x and rope_cache
        stay as they are.
    """
    rotated_x = None
    # [part 1h] Rotate x. A sequence is often shorter than the table, so use only the first T rows
    # of rope_cache.
    # Hints: treat a pair (a, b) as the complex number a + ib; multiplying it by cos + i sin rotates
    #        it (torch.view_as_complex, torch.view_as_real: float32 only, and Apple's GPUs lack some
    #        operations). Without complex numbers, x[..., 0::2] and x[..., 1::2] are the first and
    #        second entries of all pairs, and torch.stack(..., dim=-1).flatten(-2) interleaves them
    #        again.
    ### START_CODE_HERE ###
    raise NotImplementedError("1h: apply_rotary_emb")
    ### END_CODE_HERE ###
    return rotated_x


class MultiHeadAttention(nn.Module):
    """The base of self-attention and cross-attention: projections, heads and the causal mask.

    Args:
        config: a GPTConfig; n_embd must be a multiple of n_head.
    """

    def __init__(self, config):
        super().__init__()
        if config.n_embd % config.n_head != 0:
            raise ValueError(
                f"n_embd ({config.n_embd}) must be a multiple of n_head ({config.n_head})"
            )
        self.n_head = config.n_head
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        # Buffers move with the model to its device and are saved with it, but are not trained.
        causal = torch.ones(config.block_size, config.block_size).tril()
        self.register_buffer("mask", causal.view(1, 1, config.block_size, config.block_size))

    def split_heads(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, C) -> (B, n_head, T, head_dim)."""
        B, T, C = x.size()
        return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

    def attend(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, start: int = 0
    ) -> torch.Tensor:
        """Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1), with the heads joined
        and projected.

        Args:
            q: (B, n_head, T, head_dim), the queries of positions start, ..., start + T - 1.
            k, v: (B, n_head, T_kv, head_dim), keys and values of positions 0, ..., T_kv - 1.
            start: the position of the first query.

        Returns:
            (B, T, C). The query at position t attends only to the keys at positions 0 to t.
        """
        B, n_head, T, head_dim = q.size()
        att = (q @ k.transpose(-2, -1)) / math.sqrt(head_dim)  # (B, n_head, T, T_kv)
        att = att.masked_fill(self.mask[:, :, start : start + T, : k.size(-2)] == 0, float("-inf"))
        att = self.attn_drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).reshape(B, T, n_head * head_dim)  # join the heads
        return self.resid_drop(self.proj(y))


class CausalSelfAttention(MultiHeadAttention):
    """Self-attention in which each position attends to itself and the positions before it.

    With config.rope, queries and keys are rotated.
    """

    def __init__(self, config):
        super().__init__(config)
        self.rope = config.rope
        if self.rope:
            rope_cache = None
            # [part 1h] Compute the table of rotations: (block_size, head_dim/2, 2), float32.
            # Hint: the heads divide n_embd evenly, and each head is rotated separately.
            ### START_CODE_HERE ###
            raise NotImplementedError("1h: CausalSelfAttention")
            ### END_CODE_HERE ###
            self.register_buffer("rope_cache", rope_cache)

    def forward(self, x: torch.Tensor, cache=None) -> torch.Tensor:
        """Attend.

        Args:
            x: (B, T, C). With a cache, the T positions after the cached ones.
            cache: the keys and values of earlier positions (a `KVCache` of src/jobs),
                so that generating a token does not re-read the whole prefix; None in training.

        Returns:
            (B, T, C), same dtype.
        """
        T = x.size(1)
        start = 0 if cache is None else cache.length
        q, k, v = (self.split_heads(linear(x)) for linear in (self.query, self.key, self.value))

        if self.rope:
            # row t is the rotation of x's position t
            rope_cache = self.rope_cache[start : start + T]
            q, k = q.float(), k.float()  # bfloat16 is too coarse for the angles
            # [part 1h] Apply RoPE with apply_rotary_emb and rope_cache, (T, head_dim/2, 2).
            # The queries q, keys k and values v are (B, n_head, T, head_dim) each.
            # Hint: attention compares queries with keys; their dot product should depend on the
            #       distance between the two positions. Values carry the content that is passed on.
            ### START_CODE_HERE ###
            raise NotImplementedError("1h: CausalSelfAttention.forward")
            ### END_CODE_HERE ###

        if cache is not None:
            k, v = cache.append(k, v)
        return self.attend(q, k, v, start)


class CausalCrossAttention(MultiHeadAttention):
    """Cross-attention: queries from x_q, keys and values from x_kv.

    The mask is that of self-attention: position t of x_q attends to positions 0 to t of x_kv. This
    assignment's GPT does not use it; it is here for comparison with CausalSelfAttention.
    """

    def forward(self, x_kv: torch.Tensor, x_q: torch.Tensor) -> torch.Tensor:
        """Attend from x_q (B, T, C) over x_kv (B or 1, T_kv, C); returns (B, T, C)."""
        q, k, v = (
            self.split_heads(self.query(x_q)),
            self.split_heads(self.key(x_kv)),
            self.split_heads(self.value(x_kv)),
        )
        return self.attend(q, k, v)
