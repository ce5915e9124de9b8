"""Attention whose cost grows with the connections of a pattern: over long texts (question 6d) and
across documents (6g).

Shapes in this file: B is the batch, T (in a formula: n) the number of positions, C = n_embd the
width of the model, and head_dim = n_embd / n_head the width of one head. Queries, keys and values
are (B, n_head, T, head_dim).

The pattern decides which position i attends to which position j. A pair (i, j) that several rules
allow is one connection:

    in both directions: |i - j| <= window, or |i - j| is a stride, or i is global, or j is global;
    causal:             j <= i, and (i - j <= window, or i - j is a stride, or j is global).
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

BLOCK = 128  # so many queries are worked on at once


@dataclass(frozen=True)
class Pattern:
    """Which positions attend to which, but for the global positions: these belong to a text.

    window: how far the window reaches to each side; 0 is the position alone. strides: distances, in
    any order. causal: whether nothing attends to what comes after it.

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
    """Global positions as they were given, in any order and perhaps repeated, as a sorted list of
    ints without repetitions.

    Raises:
        ValueError: a position is not in 0, ..., n - 1.
    """
    positions = sorted({int(position) for position in positions})
    if positions and not 0 <= positions[0] <= positions[-1] < n:
        raise ValueError(
            f"global positions must lie in 0, ..., {n - 1}; they go from {positions[0]} to "
            f"{positions[-1]}"
        )
    return positions


def is_local(distance: torch.Tensor, pattern: Pattern) -> torch.Tensor:
    """Whether two positions that are so far apart are connected by the window or a stride, whatever
    comes first.

    Args:
        distance: i - j, int64 of any shape.

    Returns:
        boolean, same shape.
    """
    strides = torch.tensor(pattern.strides, dtype=torch.long, device=distance.device)
    return (distance.abs() <= pattern.window) | torch.isin(distance.abs(), strides)


# --------------------------------------------------------------------------------------------------
# Where global positions come from


def every_kth(n: int, k: int) -> list[int]:
    """The positions 0, k, 2k, ... below n.

    Raises:
        ValueError: k is below 1.
    """
    positions = []
    # [part 6d] One position in k.
    ### START_CODE_HERE ###
    raise NotImplementedError("6d: every_kth")
    ### END_CODE_HERE ###
    return positions


def section_headers(tokens: Iterable[str], regex: str = r"[A-Z][A-Z ]*:") -> list[int]:
    """The positions of the tokens that match the regular expression as a whole."""
    positions = []
    # [part 6d] Hint: re.fullmatch, since "see ALLERGIES:" is no header.
    ### START_CODE_HERE ###
    raise NotImplementedError("6d: section_headers")
    ### END_CODE_HERE ###
    return positions


def predicted_globals(scores: torch.Tensor, limit: int = 200) -> list[int]:
    """The positions whose score is above 0; of more than `limit` those with the highest scores.

    Args:
        scores: (n,), one for each position.
        limit: how many positions there may be.

    Returns:
        The positions, sorted. Of equal scores, the earlier positions are taken.
    """
    positions = []
    # [part 6d] Take the highest scores, as long as they are above 0, and return their positions
    # from left to right.
    # Hint: torch.topk says nothing of the order of equal scores; torch.sort(..., stable=True) keeps
    # it.
    ### START_CODE_HERE ###
    raise NotImplementedError("6d: predicted_globals")
    ### END_CODE_HERE ###
    return positions


# --------------------------------------------------------------------------------------------------
# The pattern, one row at a time and counted


def attended_positions(
    i: int, n: int, pattern: Pattern, global_positions: Iterable[int] = ()
) -> list[int]:
    """All positions to which position i of n attends, sorted, each once.

    Raises:
        IndexError: i is not in 0, ..., n - 1 (a negative i does not count from the end).
        ValueError: a global position is not.
    """
    attended = []
    # [part 6d] The table at the top of this file, for one i. It is what you compare everything else
    # with.
    # Hints: a set holds every position once. sorted_positions checks the global positions.
    ### START_CODE_HERE ###
    raise NotImplementedError("6d: attended_positions")
    ### END_CODE_HERE ###
    return attended


def count_connections(n: int, pattern: Pattern, global_positions: Iterable[int] = ()) -> int:
    """How many pairs (i, j) of n positions are connected: the exact sum of
    len(attended_positions(i, ...)) over all i.

    It does not go through the pairs: n = 75,000 takes far less than a second.

    Raises:
        ValueError: a global position is not in 0, ..., n - 1.
    """
    count = 0
    # [part 6d] Count what each rule allows, and nothing twice.
    # Hints: rows and columns of global positions are full, and meet in len(global) ** 2 pairs.
    #        Window and strides are a matter of distances, each once: n - d pairs are d apart. How
    #        many of these have a global position, at the earlier place, at the later, at both?
    #        bisect counts how many numbers of a sorted list are below another. Compare with
    #        attended_positions for small n.
    ### START_CODE_HERE ###
    raise NotImplementedError("6d: count_connections")
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
    """Scaled dot-product attention, softmax(Q K^T / sqrt(head_dim)) V, along the connections of the
    pattern alone.

    It equals dense attention with the pattern as a mask, in the gradients as well, and takes work
    and memory in proportion to the connections, not to T * T.

    Args:
        q, k, v: (B, n_head, T, head_dim), float32 or float64. They are not changed.
        global_positions: any iterable of positions in 0, ..., T - 1.

    Returns:
        (B, n_head, T, head_dim), same dtype.

    Raises:
        ValueError: a global position is out of range.
    """
    output = None
    # [part 6d] Work out the scores in pieces, put all pieces of a row through one softmax, and
    # multiply with the values.
    #
    # - Window: cut the queries into blocks. A block attends to its own keys and to those of the
    # blocks within reach.
    # - Global keys: the same few for all rows; gather them once, and multiply each block with them.
    # - Strides: at distance s, row i meets key i - s (and i + s): two slices of the whole sequence,
    # shifted against each other.
    # - No pair may be in two pieces, and nothing beyond the ends in any: such scores are -inf
    # before the softmax.
    # - Global rows (in both directions only): few queries, all keys. Work them out on their own,
    # and write them over.
    # Hints: x.split(BLOCK, dim=2) cuts into blocks; its gradient is put together once, where that
    #        of a slice in a loop fills T positions with zeros each time round. The scores of one
    #        block are enough memory at a time: keep no view of them, since a view keeps the whole
    #        tensor alive. Begin with a window alone, and compare with a dense mask.
    ### START_CODE_HERE ###
    raise NotImplementedError("6d: sparse_attention")
    ### END_CODE_HERE ###
    return output


class SparseSelfAttention(nn.Module):
    """Self-attention along a pattern: the projections of attention.py, and a predictor of global
    positions.

    Args:
        n_embd: the width of the model.
        n_head: the number of heads, which share n_embd evenly.
        pattern: which positions attend to which.
        max_global: how many global positions the predictor may choose.

    Attributes:
        predictor: from n_embd to 1, a score for each position; it begins with zeros, and is trained
            on labels of its own.
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
        """A new module with the weights of a trained dense one, which stays as it was and shares
        nothing with the new one.

        Args:
            attention: its projections are copied; if it rotates (attention.rope), the new module
                does, too.
            max_positions: the longest sequence, if the module rotates; by default the dense
                module's block_size. If it is longer than that, position t is rotated by the angles
                of t * block_size / max_positions (Chen et al. 2023), in short sequences, too: no
                angle is larger than those seen in training.
        """
        sparse = None
        # [part 6d] Make the module, copy the four projections, and tabulate the rotations.
        # Hints: load_state_dict copies. attention.mask is (1, 1, block_size, block_size).
        #        precompute_rotary_emb has whole positions alone; the angle of any position t is t *
        #        10000 ** (-2 i / head_dim), best worked out in float64.
        ### START_CODE_HERE ###
        raise NotImplementedError("6d: SparseSelfAttention.from_dense")
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
            ValueError: the module rotates, and the table ends before the last position.
        """
        q = k = v = None
        # [part 6d] Project and split; rotate what RoPE rotates, with apply_rotary_emb and the rows
        # of self.rope_cache that belong to these positions. The values are not rotated.
        ### START_CODE_HERE ###
        raise NotImplementedError("6d: SparseSelfAttention.project")
        ### END_CODE_HERE ###
        return q, k, v

    def forward(
        self, x: torch.Tensor, global_positions: Iterable[int] | None = None
    ) -> torch.Tensor:
        """Attend.

        Args:
            x: (B, T, C).
            global_positions: those of all sequences; None: the predictor chooses, and B must be 1.

        Returns:
            (B, T, C), same dtype.

        Raises:
            ValueError: no global positions for more than one sequence; one of them is out of range;
                the module rotates, and the sequence is longer than its table.
        """
        y = None
        # [part 6d] Hint: an empty list of global positions is not None.
        ### START_CODE_HERE ###
        raise NotImplementedError("6d: SparseSelfAttention.forward")
        ### END_CODE_HERE ###
        return y


# --------------------------------------------------------------------------------------------------
# A stream


class StreamingAttention:
    """A SparseSelfAttention that reads a sequence a few positions at a time, with a memory that
    does not grow.

    Let R be the largest of window and strides: no position is asked for by one that is more than R
    later, unless it is global. So the last R positions and the global ones are held, each once. No
    gradients pass through a stream.

    Args:
        attention: its pattern must be causal.
        max_global: the first positions that are declared global become so, up to this number; later
            ones are ordinary.

    Attributes:
        length: how many positions have been read.
        global_positions: the global ones among them, sorted.

    Raises:
        ValueError: the pattern is not causal.
    """

    def __init__(self, attention: SparseSelfAttention, max_global: int = 200):
        if not attention.pattern.causal:
            raise ValueError(
                "only a causal pattern can be streamed: in the other, what comes later changes "
                "earlier outputs"
            )
        self.attention = attention
        self.max_global = max_global
        self.length = 0
        self.global_positions: list[int] = []
        # [part 6d] Prepare the cache: room for R + max_global keys and values, and what tells you
        # which position is where.
        # Hints: B is not known before the first call. In a ring buffer, position p lies in slot p %
        #        R, and what lay there before, position p - R, is not asked for any more. R may be
        #        0.
        ### START_CODE_HERE ###
        raise NotImplementedError("6d: StreamingAttention")
        ### END_CODE_HERE ###

    @torch.no_grad()
    def append(self, x: torch.Tensor, is_global: Iterable[bool] | None = None) -> torch.Tensor:
        """Read the next positions.

        Args:
            x: (B, t, C), t >= 1, with the same B in each call.
            is_global: for each of the t positions whether it is declared global; None: none is.

        Returns:
            (B, t, C): what one call of the module's forward on the whole sequence gives for these
            positions.

        Raises:
            ValueError: not as many booleans as positions, or none of either; a sequence that is too
                long for a module that rotates. The stream is then as it was before.
        """
        y = None
        # [part 6d] Attend to what is held and to the new positions, then put these into the cache.
        #
        # - A call may bring more positions than the ring has slots: work on a block of them at a
        # time.
        # - A new global position is global for those that follow it at once, in the same call.
        # - In the ring, a global position leaves its slot empty: it has one of its own, and must
        # not be counted twice.
        # Hints: is_local is the rule for window and strides, elementwise. Gather only the keys that
        #        some query of the block attends to: of R + max_global that is a small part.
        ### START_CODE_HERE ###
        raise NotImplementedError("6d: StreamingAttention.append")
        ### END_CODE_HERE ###
        return y

    def cached_positions(self) -> list[int]:
        """The positions whose keys and values are held, sorted: the last R positions read, and the
        global ones.
        """
        positions = []
        # [part 6d]
        ### START_CODE_HERE ###
        raise NotImplementedError("6d: StreamingAttention.cached_positions")
        ### END_CODE_HERE ###
        return positions

    def cache_bytes(self) -> int:
        """The bytes of all tensors that hold keys and values: at most 2 (R + max_global) C numbers
        for each sequence.
        """
        size = 0
        # [part 6d] Hint: a tensor has nbytes.
        ### START_CODE_HERE ###
        raise NotImplementedError("6d: StreamingAttention.cache_bytes")
        ### END_CODE_HERE ###
        return size


# --------------------------------------------------------------------------------------------------
# Across documents


def cross_document_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: Iterable[int], window: int
) -> torch.Tensor:
    """Attention over documents, one after another, and a question that follows them.

    A token of a document attends to the tokens of its own document that are at most `window` away,
    to both sides. A token of the question attends to all tokens of all documents, and to the
    question's tokens up to itself.

    Args:
        q, k, v: (B, n_head, T, head_dim), float32 or float64. They are not changed.
        lengths: of the documents, each at least 1; at least one document. What is left of T is the
            question, at least 1 token.
        window: at least 0.

    Returns:
        (B, n_head, T, head_dim), same dtype.

    Raises:
        ValueError: lengths or a window that are not as above.
    """
    output = None
    # [part 6g] Each document is a sequence of its own, with a pattern of a window alone. The
    # question's rows are dense.
    # Hints: q.split([*lengths, question], dim=2) cuts documents and question apart. For the
    #        question, the columns of its own tokens, the last ones, are masked above the diagonal.
    ### START_CODE_HERE ###
    raise NotImplementedError("6g: cross_document_attention")
    ### END_CODE_HERE ###
    return output


class Memory(NamedTuple):
    """What a decoder's layer keeps of the documents. D documents have N positions together."""

    keys: torch.Tensor  # (n_head, N, head_dim)
    values: torch.Tensor  # (n_head, N, head_dim)
    lengths: tuple[int, ...]  # of the D documents


def remember(attention: SparseSelfAttention, documents: list[torch.Tensor]) -> Memory:
    """The keys and values of all documents, in their order, worked out once for any number of
    questions.

    Args:
        attention: its modules key and value are applied, once each; it does not rotate.
        documents: the encoder's output for each document, (n, C).

    Raises:
        ValueError: the module rotates, or there is no document.
    """
    memory = None
    # [part 6g] Hint: documents of different lengths can be put one after another before they are
    # projected.
    ### START_CODE_HERE ###
    raise NotImplementedError("6g: remember")
    ### END_CODE_HERE ###
    return memory


def ask(
    attention: SparseSelfAttention, x: torch.Tensor, memory: Memory
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-attention of a decoder's states over all of memory, and over nothing else.

    Args:
        x: (B, n, C), the decoder's states. The documents are complete, so there is no causal mask.

    Returns:
        The output of attention.proj, (B, n, C), and the shares, (B, n, D): how much attention
        weight each document got, averaged over the heads. Each row of shares sums to 1.
    """
    y = shares = None
    # [part 6g] Only the queries come from x. Hint: weights.split(memory.lengths, dim=-1) has a
    # piece for each document.
    ### START_CODE_HERE ###
    raise NotImplementedError("6g: ask")
    ### END_CODE_HERE ###
    return y, shares
