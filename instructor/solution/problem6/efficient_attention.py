"""Sparse attention, whose cost grows with the connections of a pattern: over long texts (question
6d) and across documents (6g).

Shapes in this file: B is the batch, T (in a formula: n) the number of positions, C = n_embd the
width of the model, and head_dim = n_embd / n_head the width of one head. Queries, keys and values
are (B, n_head, T, head_dim).

The pattern decides which position i attends to which position j. A pair (i, j) that several rules
allow is one connection:

    in both directions: |i - j| <= window, or |i - j| is a stride, or i is global, or j is global;
    causal:             j <= i, and (i - j <= window, or i - j is a stride, or j is global).

Wherever global_positions is an argument, it is any iterable, in any order; an iterator can be
consumed only once. Repetitions count once, and a position outside 0, ..., n - 1 raises ValueError.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F

from ..attention import CausalSelfAttention, apply_rotary_emb

BLOCK = 128  # queries processed at once, whatever the window


@dataclass(frozen=True)
class Pattern:
    """Which positions attend to which. Global positions are not part of it: they belong to a text.

    window: the reach of the window to each side; 0 is the position alone. strides: distances, in
    any order. causal: whether positions attend only to themselves and earlier ones.

    Raises:
        ValueError: a negative window, or a stride below 1.
    """

    window: int = 512
    strides: tuple[int, ...] = (1024, 2048, 4096, 8192)
    causal: bool = False

    def __post_init__(self):
        if self.window < 0:
            raise ValueError(f"the window must not be negative; it is {self.window}")
        if any(stride < 1 for stride in self.strides):
            raise ValueError(f"strides are distances of at least 1; they are {self.strides}")


def sorted_positions(positions: Iterable[int], n: int) -> list[int]:
    """Global positions, given in any order and perhaps repeated, as a sorted list of distinct ints.

    Raises:
        ValueError: a position is not in 0, ..., n - 1.
    """
    positions = sorted({int(position) for position in positions})
    if positions and not 0 <= positions[0] <= positions[-1] < n:
        raise ValueError(
            f"global positions must be in 0, ..., {n - 1}; they go from {positions[0]} to "
            f"{positions[-1]}"
        )
    return positions


def is_local(distance: torch.Tensor, pattern: Pattern) -> torch.Tensor:
    """Whether the window or a stride connects two positions at this distance, in either direction.

    Args:
        distance: i - j, int64 of any shape.

    Returns:
        boolean, same shape.
    """
    strides = torch.tensor(pattern.strides, dtype=torch.long, device=distance.device)
    return (distance.abs() <= pattern.window) | torch.isin(distance.abs(), strides)


# --------------------------------------------------------------------------------------------------
# Global positions


def every_kth(n: int, k: int) -> list[int]:
    """The positions 0, k, 2k, ... below n.

    Raises:
        ValueError: k is below 1.
    """
    positions = []
    # [part 6d] Every k-th position.
    ### START_CODE_HERE ###
    if k < 1:
        raise ValueError(f"k must be at least 1; it is {k}")
    positions = list(range(0, n, k))
    ### END_CODE_HERE ###
    return positions


def section_headers(tokens: Iterable[str], regex: str = r"[A-Z][A-Z ]*:") -> list[int]:
    """The positions of the tokens that the regular expression matches in full."""
    positions = []
    # [part 6d] Hint: re.fullmatch, since "see ALLERGIES:" is not a header.
    ### START_CODE_HERE ###
    positions = [position for position, token in enumerate(tokens) if re.fullmatch(regex, token)]
    ### END_CODE_HERE ###
    return positions


def predicted_globals(scores: torch.Tensor, limit: int = 200) -> list[int]:
    """The positions with scores above 0; if there are more than `limit`, those with the highest.

    Args:
        scores: (n,), one for each position.
        limit: the maximum number of positions.

    Returns:
        The positions, sorted. Among equal scores, earlier positions win.
    """
    positions = []
    # [part 6d] Take the highest scores, as long as they are above 0, and return their positions
    # from left to right.
    # Hint: torch.topk does not define the order of equal scores; torch.sort(..., stable=True) keeps
    #       it.
    ### START_CODE_HERE ###
    best = torch.sort(scores, descending=True, stable=True).indices[:limit]
    positions = sorted(best[scores[best] > 0].tolist())
    ### END_CODE_HERE ###
    return positions


# --------------------------------------------------------------------------------------------------
# The rows of the pattern, and its size


def attended_positions(
    i: int, n: int, pattern: Pattern, global_positions: Iterable[int] = ()
) -> list[int]:
    """All positions to which position i of n attends, sorted, each once.

    Raises:
        IndexError: i is not in 0, ..., n - 1 (a negative i does not count from the end).
        ValueError: a global position is not in 0, ..., n - 1.
    """
    attended = []
    # [part 6d] The rules at the top of this file, for one i. Test everything else against this.
    # Hints: a set holds every position once. sorted_positions checks the global positions.
    ### START_CODE_HERE ###
    if not 0 <= i < n:
        raise IndexError(f"position {i} is not in 0, ..., {n - 1}")
    chosen = set(sorted_positions(global_positions, n))
    if i in chosen and not pattern.causal:
        chosen = set(range(n))
    near = range(i - pattern.window, i + pattern.window + 1)
    far = [i + sign * stride for stride in pattern.strides for sign in (-1, 1)]
    attended = sorted(
        j for j in chosen.union(near, far) if 0 <= j < n and (j <= i or not pattern.causal)
    )
    ### END_CODE_HERE ###
    return attended


def count_connections(n: int, pattern: Pattern, global_positions: Iterable[int] = ()) -> int:
    """The number of connected pairs (i, j): the exact sum of len(attended_positions(i, ...)).

    It does not enumerate the pairs: n = 75,000 takes far less than a second.

    Raises:
        ValueError: a global position is not in 0, ..., n - 1.
    """
    count = 0
    # [part 6d] Count the pairs that each rule allows, and no pair twice.
    # Hints: rows and columns of global positions are full, and overlap in len(global) ** 2 pairs.
    #        Window and strides are a set of distances, each counted once: n - s pairs are s apart.
    #        How many of these have a global position at the earlier end, the later end, both?
    #        bisect counts the numbers in a sorted list that are below another. Compare with
    #        attended_positions for small n.
    ### START_CODE_HERE ###
    chosen = sorted_positions(global_positions, n)
    members = set(chosen)
    distances = {
        *range(min(pattern.window, n - 1) + 1),
        *(stride for stride in pattern.strides if stride < n),
    }
    if pattern.causal:
        # Of the pairs at a distance d, those whose earlier position is global are in its column
        # already.
        count = sum(n - g for g in chosen) + sum(
            n - d - bisect_left(chosen, n - d) for d in distances
        )
    else:
        count = 2 * n * len(chosen) - len(chosen) ** 2  # rows and columns, without what they share
        for d in distances:
            earlier, later = bisect_left(chosen, n - d), len(chosen) - bisect_left(chosen, d)
            either = earlier + later - sum(g + d in members for g in chosen)
            count += (n - d - either) * (1 if d == 0 else 2)  # (i, i + d) and (i + d, i)
    ### END_CODE_HERE ###
    return count


# --------------------------------------------------------------------------------------------------
# Attention along the connections


def sparse_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    pattern: Pattern,
    global_positions: Iterable[int] = (),
) -> torch.Tensor:
    """Scaled dot-product attention, softmax(Q K^T / sqrt(head_dim)) V, along the pattern only.

    Outputs equal those of F.scaled_dot_product_attention with the pattern as a mask, to 1e-5 in
    float32, and gradients to 1e-4, for any window, strides, global positions and T >= 1: also if T
    is smaller than the window, or not a multiple of a block. Work and memory are proportional to
    the connections, not to T * T.

    Args:
        q, k, v: (B, n_head, T, head_dim), float32 or float64. They are not changed.
        global_positions: of 0, ..., T - 1.

    Returns:
        (B, n_head, T, head_dim), same dtype.

    Raises:
        ValueError: a global position is out of range.
    """
    output = None
    # [part 6d] Compute the scores in pieces, apply one softmax to all pieces of a row, and multiply
    # by the values.
    #
    # - Window: cut the queries into blocks of BLOCK. A block attends to its own keys and to those
    #   of the blocks within reach: window / BLOCK of them, rounded up, on each side.
    # - Global keys: the same few for all rows; gather them once, and multiply each block by them.
    # - Strides: at distance s, row i meets key i - s (and i + s): two slices of the whole sequence,
    #   shifted against each other.
    # - No pair may be in two pieces, and no piece may reach beyond the ends: set such scores to
    #   -inf before the softmax.
    # - Global rows (in both directions only): few queries, all keys. Compute them separately, and
    #   overwrite their rows.
    # Hints: x.split(BLOCK, dim=2) cuts into blocks. Its gradient is assembled once; the gradient of
    #        a slice in a loop fills T positions with zeros in each iteration. Hold the scores of
    #        one block at a time, and no view of them: a view keeps the whole tensor alive. Start
    #        with a window alone, and compare with a dense mask.
    ### START_CODE_HERE ###
    B, n_head, T, head_dim = q.shape
    q = q / math.sqrt(head_dim)
    positions = torch.arange(T, device=q.device)
    chosen = positions[sorted_positions(global_positions, T)]

    # Strides: slices of rows and of columns that lie a stride apart. (One within the window would
    # only repeat it.)
    strides = sorted({stride for stride in pattern.strides if pattern.window < stride < T})
    shifts = [(slice(stride, T), slice(0, T - stride)) for stride in strides]
    if not pattern.causal:
        shifts += [(columns, rows) for rows, columns in shifts]
    far = q.new_full((B, n_head, T, len(shifts)), -math.inf)
    for m, (rows, columns) in enumerate(shifts):
        far[:, :, rows, m] = (q[:, :, rows] * k[:, :, columns]).sum(dim=-1)

    # Blocks: side by side, the scores of the keys within reach, of the global ones, and room for
    # those of the strides.
    room = q.new_zeros(B, n_head, len(shifts), head_dim)
    more_keys, more_values = (torch.cat((x[:, :, chosen], room), dim=2) for x in (k, v))
    queries, keys, values, far = (x.split(BLOCK, dim=2) for x in (q, k, v, far))
    blocks = positions.split(BLOCK)
    behind = math.ceil(pattern.window / BLOCK)
    ahead = 0 if pattern.causal else behind
    # Allocate the results up front: small tensors that outlive the large ones around them would
    # fragment the memory.
    output, far_weights = ([torch.empty_like(block) for block in x] for x in (queries, far))
    for b, rows in enumerate(blocks):
        reach = slice(max(0, b - behind), b + ahead + 1)
        near, to_global = rows[:, None] - torch.cat(blocks[reach]), rows[:, None] - chosen
        allowed = torch.cat((near.abs() <= pattern.window, ~is_local(to_global, pattern)), dim=1)
        if pattern.causal:
            allowed &= torch.cat((near, to_global), dim=1) >= 0
        scores = queries[b] @ torch.cat((*keys[reach], more_keys), dim=2).transpose(-2, -1)
        # one mask for all heads
        hidden = q.new_zeros(allowed.shape).masked_fill_(~allowed, -math.inf)
        scores[..., : allowed.size(1)] += hidden
        scores[..., allowed.size(1) :] = far[b]
        weights = scores.softmax(dim=-1)
        output[b].copy_(weights @ torch.cat((*values[reach], more_values), dim=2))
        far_weights[b].copy_(weights[..., allowed.size(1) :])
    output, far_weights = torch.cat(output, dim=2), torch.cat(far_weights, dim=2)
    for m, (rows, columns) in enumerate(shifts):
        # += without a product in between
        output[:, :, rows].addcmul_(far_weights[:, :, rows, m, None], v[:, :, columns])

    if not pattern.causal and len(chosen) > 0:
        # q is scaled already
        output[:, :, chosen] = F.scaled_dot_product_attention(q[:, :, chosen], k, v, scale=1.0)
    ### END_CODE_HERE ###
    return output


class SparseSelfAttention(nn.Module):
    """Self-attention along a pattern: the projections of attention.py, and a predictor of global
    positions.

    Args:
        n_embd: the width of the model.
        n_head: the number of heads, which divide n_embd evenly.
        pattern: which positions attend to which.
        max_global: how many global positions the predictor may choose.

    Attributes:
        predictor: from n_embd to 1, a score for each position; it is initialized to zeros, and
            trained on its own labels.
        rope_cache: None, or the cosines and sines that queries and keys are rotated by,
            (max_positions, head_dim/2, 2).

    Raises:
        ValueError: n_embd is not a multiple of n_head.
    """

    def __init__(self, n_embd: int, n_head: int, pattern: Pattern, max_global: int = 200):
        super().__init__()
        if n_embd % n_head != 0:
            raise ValueError(f"n_embd ({n_embd}) must be a multiple of n_head ({n_head})")
        self.n_head = n_head
        self.pattern = pattern
        self.max_global = max_global
        self.query = nn.Linear(n_embd, n_embd)
        self.key = nn.Linear(n_embd, n_embd)
        self.value = nn.Linear(n_embd, n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        self.predictor = nn.Linear(n_embd, 1)
        nn.init.zeros_(self.predictor.weight)
        nn.init.zeros_(self.predictor.bias)
        self.register_buffer("rope_cache", None)

    @classmethod
    def from_dense(
        cls, attention: CausalSelfAttention, pattern: Pattern, max_positions: int | None = None
    ) -> "SparseSelfAttention":
        """A new module with copies of a trained dense module's weights. If the pattern is causal
        and covers everything, its outputs equal the dense module's in eval mode, to 1e-5.

        Args:
            attention: the dense module, which is not changed; if it rotates (attention.rope), the
                new module does, too.
            max_positions: the longest sequence, if the module rotates (without rotation there is no
                limit); by default the dense module's block_size. It may be smaller. If it is
                larger, position t is rotated by the angles of t * block_size / max_positions (Chen
                et al. 2023), even in short sequences, so that no angle is larger than those seen in
                training.
        """
        sparse = None
        # [part 6d] Create the module, copy the four projections, and precompute the rotations.
        # Hints: load_state_dict copies. attention.mask is (1, 1, block_size, block_size).
        #        precompute_rotary_emb covers integer positions only; the angles of any position t
        #        are t * 10000 ** (-2 i / head_dim), best computed in float64.
        ### START_CODE_HERE ###
        n_embd, n_head = attention.key.in_features, attention.n_head
        sparse = cls(n_embd, n_head, pattern).to(attention.key.weight)  # its device and dtype
        for name in ("query", "key", "value", "proj"):
            getattr(sparse, name).load_state_dict(getattr(attention, name).state_dict())
        if attention.rope:
            block_size, head_dim = attention.mask.size(-1), n_embd // n_head
            max_positions = block_size if max_positions is None else max_positions
            positions = torch.arange(max_positions, dtype=torch.float64) * min(
                1.0, block_size / max_positions
            )
            angles = torch.outer(
                positions,
                10000.0 ** (-2.0 * torch.arange(head_dim // 2, dtype=torch.float64) / head_dim),
            )
            sparse.rope_cache = torch.stack((angles.cos(), angles.sin()), dim=-1).to(
                attention.rope_cache
            )
        ### END_CODE_HERE ###
        return sparse

    def split_heads(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, C) -> (B, n_head, T, head_dim)."""
        B, T, C = x.size()
        return x.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)

    def join_heads(self, y: torch.Tensor) -> torch.Tensor:
        """(B, n_head, T, head_dim) -> (B, T, C)."""
        return y.transpose(1, 2).flatten(2)

    def project(
        self, x: torch.Tensor, start: int = 0
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values, rotated if the module rotates.

        Args:
            x: (B, T, C), positions start, ..., start + T - 1.

        Returns:
            Three tensors, (B, n_head, T, head_dim).

        Raises:
            ValueError: the module rotates, and the last position is beyond its table.
        """
        q = k = v = None
        # [part 6d] Project and split; if the module rotates, apply apply_rotary_emb to queries and
        # keys, with the rows of self.rope_cache for these positions.
        ### START_CODE_HERE ###
        q, k, v = (self.split_heads(linear(x)) for linear in (self.query, self.key, self.value))
        if self.rope_cache is not None:
            end = start + x.size(1)
            if end > len(self.rope_cache):
                raise ValueError(
                    f"a sequence of {end} positions is longer than max_positions = "
                    f"{len(self.rope_cache)}"
                )
            q, k = (apply_rotary_emb(part, self.rope_cache[start:end]) for part in (q, k))
        ### END_CODE_HERE ###
        return q, k, v

    def forward(
        self, x: torch.Tensor, global_positions: Iterable[int] | None = None
    ) -> torch.Tensor:
        """Attend.

        Args:
            x: (B, T, C).
            global_positions: for all sequences; None: they are the predicted_globals of the
                predictor's output, max_global at most, and B must be 1. Choosing positions passes
                no gradient to the predictor.

        Returns:
            (B, T, C), same dtype.

        Raises:
            ValueError: global_positions is None and B is not 1; a global position is out of range;
                or the module rotates, and the sequence is longer than its table.
        """
        y = None
        # [part 6d] Hint: an empty list of global positions is not None.
        ### START_CODE_HERE ###
        if global_positions is None:
            if x.size(0) != 1:
                raise ValueError(f"the predictor chooses for one sequence; there are {x.size(0)}")
            global_positions = predicted_globals(self.predictor(x)[0, :, 0], self.max_global)
        y = self.proj(
            self.join_heads(sparse_attention(*self.project(x), self.pattern, global_positions))
        )
        ### END_CODE_HERE ###
        return y


# --------------------------------------------------------------------------------------------------
# Streaming


class StreamingAttention:
    """A SparseSelfAttention that reads a sequence a few positions at a time, with constant memory.

    Let R be the largest of window and strides: no query needs a position more than R before it,
    unless that is global. So after each call the cache holds exactly the last R positions (all, if
    there are fewer) and the global ones, each once, in the dtype of the module, with room for no
    more than R + max_global. Several streams may take turns with one module: a stream's state is
    its own. No gradients pass through a stream.

    Args:
        attention: its pattern must be causal.
        max_global: the first positions declared global become global, up to this number; later ones
            are ordinary.

    Attributes:
        length: the number of positions read.
        global_positions: the global ones among them, sorted.

    Raises:
        ValueError: the pattern is not causal.
    """

    def __init__(self, attention: SparseSelfAttention, max_global: int = 200):
        if not attention.pattern.causal:
            raise ValueError(
                "only a causal pattern can be streamed: otherwise, later positions change earlier "
                "outputs"
            )
        self.attention = attention
        self.max_global = max_global
        self.length = 0
        self.global_positions: list[int] = []
        # [part 6d] Prepare the cache: room for R + max_global keys and values, and a record of
        # which position is in which slot.
        # Hints: B is not known before the first call. In a ring buffer, position p goes into slot
        #        p % R and replaces position p - R, which is no longer needed. R may be 0.
        ### START_CODE_HERE ###
        self.ring = max(attention.pattern.window, *attention.pattern.strides, 0)
        # The position in each slot, -1 for none: R slots of the ring, then those of the global
        # positions.
        self.held = torch.full((self.ring + max_global,), -1, device=attention.key.weight.device)
        self.keys = self.values = None  # (B, n_head, slots, head_dim)
        ### END_CODE_HERE ###

    @torch.no_grad()
    def append(self, x: torch.Tensor, is_global: Iterable[bool] | None = None) -> torch.Tensor:
        """Read the next positions, and return their outputs.

        Args:
            x: (B, t, C), t >= 1, with the same B in each call.
            is_global: for each of the t positions, whether it is declared global; None: none is.

        Returns:
            (B, t, C), equal to 1e-5 to the outputs of the module's forward on the whole sequence
            with the same global positions, however it is split into calls.

        Raises:
            ValueError: the numbers of booleans and positions differ or are 0; or the module
                rotates, and the sequence is too long for it. The stream is then unchanged.
        """
        y = None
        # [part 6d] Attend to the cache and to the new positions, then add these to the cache.
        #
        # - A call may bring more positions than the ring has slots: process a block at a time.
        # - A new global position is global at once for the positions after it, in the same call.
        # - A global position has its own slot. Leave its slot in the ring empty, so that it is not
        #   counted twice.
        # Hints: is_local is the rule for window and strides, elementwise. Gather only the keys that
        #        some query of the block attends to: a small part of R + max_global.
        ### START_CODE_HERE ###
        declared = [False] * x.size(1) if is_global is None else [bool(flag) for flag in is_global]
        if x.size(1) == 0 or len(declared) != x.size(1):
            raise ValueError(
                f"{x.size(1)} positions come with {len(declared)} booleans: as many are needed, "
                "and at least 1"
            )
        q, k, v = self.attention.project(x, start=self.length)
        if self.keys is None:
            self.keys, self.values = (
                part.new_zeros(*part.shape[:2], len(self.held), part.size(-1)) for part in (k, v)
            )
        free = self.max_global - len(self.global_positions)
        becomes_global = torch.tensor(
            [flag and number <= free for flag, number in zip(declared, accumulate(declared))]
        )
        slots = torch.arange(len(self.held), device=x.device)
        outputs = []
        blocks = (part.split(BLOCK, dim=2) for part in (q, k, v))
        for q, k, v, becomes in zip(*blocks, becomes_global.to(x.device).split(BLOCK)):
            rows = torch.arange(self.length, self.length + len(becomes), device=x.device)
            columns = torch.cat((self.held, rows))
            distance = rows[:, None] - columns
            allowed = is_local(distance, self.attention.pattern) | torch.cat(
                (slots >= self.ring, becomes)
            )
            allowed &= (distance >= 0) & (columns >= 0)
            needed = slots[allowed[:, : len(slots)].any(dim=0)]
            scores = (
                q
                @ torch.cat((self.keys[:, :, needed], k), dim=2).transpose(-2, -1)
                / math.sqrt(q.size(-1))
            )
            allowed = torch.cat((allowed[:, needed], allowed[:, len(slots) :]), dim=1)
            weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
            outputs.append(weights @ torch.cat((self.values[:, :, needed], v), dim=2))

            self.length += len(rows)
            recent = rows >= self.length - self.ring
            in_ring = rows[recent] % max(self.ring, 1)
            apart = (
                self.ring
                + len(self.global_positions)
                + torch.arange(int(becomes.sum()), device=x.device)
            )
            for places, chosen in ((in_ring, recent), (apart, becomes)):
                self.keys[:, :, places], self.values[:, :, places] = (
                    k[:, :, chosen],
                    v[:, :, chosen],
                )
                self.held[places] = rows[chosen]
            self.held[in_ring[becomes[recent]]] = -1
            self.global_positions += rows[becomes].tolist()
        y = self.attention.proj(self.attention.join_heads(torch.cat(outputs, dim=2)))
        ### END_CODE_HERE ###
        return y

    def cached_positions(self) -> list[int]:
        """The positions in the cache, sorted: the last R positions read, and the global ones."""
        positions = []
        # [part 6d]
        ### START_CODE_HERE ###
        positions = sorted(self.held[self.held >= 0].tolist())
        ### END_CODE_HERE ###
        return positions

    def cache_bytes(self) -> int:
        """The bytes of all tensors that hold keys and values: at most 2 (R + max_global) C numbers
        per sequence, and 0 before the first call.
        """
        size = 0
        # [part 6d] Hint: tensor.nbytes.
        ### START_CODE_HERE ###
        size = 0 if self.keys is None else self.keys.nbytes + self.values.nbytes
        ### END_CODE_HERE ###
        return size


# --------------------------------------------------------------------------------------------------
# Across documents


def cross_document_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: Iterable[int], window: int
) -> torch.Tensor:
    """Attention over concatenated documents, followed by a question.

    A token of a document attends to the tokens of its own document at a distance of at most
    `window`. A token of the question attends to all tokens of all documents, and to the question's
    tokens up to itself.

    Args:
        q, k, v: (B, n_head, T, head_dim), float32 or float64. They are not changed.
        lengths: the documents' lengths, each at least 1; at least one document. The rest of T is
            the question, at least 1 token.
        window: at least 0.

    Returns:
        (B, n_head, T, head_dim), same dtype, as exact as sparse_attention. Work and memory are
        those of its connections, too.

    Raises:
        ValueError: the lengths or the window are not as above.
    """
    output = None
    # [part 6g] Each document is a separate sequence, with a window as its pattern. The question's
    # rows are dense.
    # Hints: q.split([*lengths, question], dim=2) separates documents and question. In the
    #        question's rows, mask its own columns (the last ones) above the diagonal.
    ### START_CODE_HERE ###
    lengths = list(lengths)
    question = q.size(2) - sum(lengths)
    if not lengths or min(lengths) < 1 or question < 1:
        raise ValueError(
            f"documents of {lengths} tokens and a question do not make {q.size(2)}: each has at "
            "least 1 token"
        )
    pattern = Pattern(window, strides=())
    queries, keys, values = (x.split([*lengths, question], dim=2) for x in (q, k, v))
    outputs = [
        sparse_attention(*document, pattern)
        for document in zip(queries[:-1], keys[:-1], values[:-1])
    ]
    allowed = torch.ones(question, q.size(2), dtype=torch.bool, device=q.device).tril(
        diagonal=sum(lengths)
    )
    outputs.append(F.scaled_dot_product_attention(queries[-1], k, v, attn_mask=allowed))
    output = torch.cat(outputs, dim=2)
    ### END_CODE_HERE ###
    return output


class Memory(NamedTuple):
    """A decoder layer's keys and values of D documents, with N positions in total."""

    keys: torch.Tensor  # (n_head, N, head_dim)
    values: torch.Tensor  # (n_head, N, head_dim)
    lengths: tuple[int, ...]  # of the D documents


def remember(attention: SparseSelfAttention, documents: list[torch.Tensor]) -> Memory:
    """The keys and values of all documents, in order, computed once for any number of questions.

    Args:
        attention: its modules key and value are applied once each; it must not rotate.
        documents: the encoder's output for each document, (n, C).

    Raises:
        ValueError: the module rotates, or there are no documents.
    """
    memory = None
    # [part 6g] Hint: documents of different lengths can be concatenated before projection.
    ### START_CODE_HERE ###
    if attention.rope_cache is not None or not documents:
        raise ValueError("memory needs at least one document, and a module that does not rotate")
    states = torch.cat(list(documents))[None]  # (1, N, C)
    keys, values = (
        attention.split_heads(linear(states))[0] for linear in (attention.key, attention.value)
    )
    memory = Memory(keys, values, tuple(len(document) for document in documents))
    ### END_CODE_HERE ###
    return memory


def ask(
    attention: SparseSelfAttention, x: torch.Tensor, memory: Memory
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-attention of a decoder's states over the whole memory only.

    Args:
        x: (B, n, C), the decoder's states. The documents are complete, so there is no causal mask.

    Returns:
        The output of attention.proj, (B, n, C), and the shares, (B, n, D): the attention weight of
        each document, averaged over the heads. Each row of shares sums to 1. Changing the order of
        the documents changes the order of the shares, and nothing else.
    """
    y = shares = None
    # [part 6g] Only the queries come from x.
    # Hint: weights.split(memory.lengths, dim=-1) gives one piece per document.
    ### START_CODE_HERE ###
    q = attention.split_heads(attention.query(x))  # (B, n_head, n, head_dim)
    weights = (q @ memory.keys.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(dim=-1)
    y = attention.proj(attention.join_heads(weights @ memory.values))
    shares = torch.stack(
        [part.sum(dim=-1) for part in weights.split(memory.lengths, dim=-1)], dim=-1
    ).mean(dim=1)
    ### END_CODE_HERE ###
    return y, shares
