"""Known mistakes in pattern attention and their results; shared by questions 6d and 6g."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from instructor.checks.problem5.encoder import softmax
from instructor.checks.problem6.q6d.patterns import Spec, connected, mistakes, only

Causes = Iterator[tuple[str, Callable[[], np.ndarray]]]
BLOCKS = (32, 64, 128, 256)  # sizes that submissions choose


def causes_of_masks(
    rows: np.ndarray, scores: np.ndarray, v: np.ndarray, wrong: Iterable[tuple[str, np.ndarray]]
) -> Causes:
    """Yield (sentence, function that computes some rows of the output) for wrong masks.

    Args:
        rows: which rows.
        scores: of these rows, scaled, (B, n_head, rows, T).
        v: (B, n_head, T, head_dim).
        wrong: sentences and masks, (T, T).
    """
    for sentence, mask in wrong:
        yield sentence, lambda mask=mask: softmax(np.where(mask[rows], scores, -np.inf)) @ v
    yield "there is no mask: every row attends to all.", lambda: softmax(scores) @ v


def causes_of_scales(
    scores: np.ndarray, v: np.ndarray, mask: np.ndarray, n_head: int, head_dim: int
) -> Causes:
    """The same for wrong scales, and for masks that don't hide; mask: rows of the right mask."""

    def masked(factor=1.0, base=-np.inf):
        return softmax(np.where(mask, scores * factor, base)) @ v

    root = np.sqrt(head_dim)
    full = mask.all(axis=1) & ~mask.all()
    for sentence, factor in (
        ("the scores are not scaled: divide by sqrt(head_dim).", root),
        ("the scores are divided by head_dim; it should be its square root.", 1 / root),
        (
            "the scores are divided by the root of n_embd; it should be that of head_dim.",
            1 / np.sqrt(n_head),
        ),
        ("the scores are multiplied by sqrt(head_dim); they should be divided.", head_dim),
    ):
        yield sentence, lambda factor=factor: masked(factor)
    for sentence, factor in (
        ("are scaled twice. F.scaled_dot_product_attention scales, too.", 1 / root),
        ("are not scaled.", root),
    ):
        yield (
            f"the rows that attend to everything {sentence}",
            lambda factor=factor: np.where(full[:, None], masked(factor), masked()),
        )
    yield (
        "masked scores are set to 0, which is an ordinary score. Set them to -inf.",
        lambda: masked(base=0.0),
    )
    for base in (-100.0, -1e3, -1e4):
        yield (
            f"masked scores are set to {base:g}, which is not lower than all others. Set them "
            f"to -inf.",
            lambda base=base: masked(base=base),
        )
    yield (
        "the mask is applied after the softmax, so that the weights of a row do not sum to 1.",
        lambda: np.where(mask, softmax(scores), 0) @ v,
    )


def causes_of_pieces(spec: Spec, at: np.ndarray, scores: np.ndarray, v: np.ndarray) -> Causes:
    """The same for mistakes in assembling a row from pieces. Global rows, computed separately, may
    still be right.
    """
    n, w = spec.n, spec.window
    i, j = at[:, None], np.arange(n)[None]
    right = connected(spec)[at]
    rows = np.isin(i, spec.chosen) & (not spec.causal)

    def masked(mask):
        return softmax(np.where(mask | rows, scores, -np.inf)) @ v

    for sentence, mask in mistakes(spec):
        if not spec.causal:
            yield sentence, lambda mask=mask: masked(mask[at])

    parts = {rule: only(spec, rule)[at] for rule in ("near", "far", "columns")}
    near_or_far = parts["near"] | parts["far"]
    repeated = [g for g in spec.chosen if spec.chosen.count(g) > 1]
    times = {
        "strides within the window": parts["near"] & parts["far"],
        "global keys in the window": parts["near"] & parts["columns"],
        "global keys at a stride": parts["far"] & parts["columns"] & ~parts["near"],
        "global keys in the window or at a stride": near_or_far & parts["columns"],
        "global positions that are listed twice": np.isin(j, repeated) & right & ~near_or_far,
    }

    def counted(twice):
        more = np.log(2) * (twice & ~rows)
        return softmax(np.where(right | rows, scores + more, -np.inf)) @ v

    for what, twice in times.items():
        yield (
            f"{what} count twice: each pair belongs in only one piece.",
            lambda twice=twice: counted(twice),
        )
    each = np.maximum(sum(part.astype(int) for part in parts.values()), 1)
    yield (
        "pairs that several rules allow are counted several times: leave them out of all pieces "
        "but one.",
        lambda: softmax(np.where(right, scores + np.log(np.where(rows, 1, each)), -np.inf)) @ v,
    )

    far = {s for s in spec.strides if s > w}
    ahead = [i * 0] if spec.causal else [n - 1 - i]
    for what, beyond in (
        (
            "the window",
            np.maximum(w - i, 0) + (0 if spec.causal else np.maximum(w - (n - 1 - i), 0)),
        ),
        (
            "strides",
            sum(
                (place < s).astype(int)
                for s in far
                for place in [i, *([] if spec.causal else ahead)]
            ),
        ),
    ):
        if np.any(beyond):
            yield (
                f"beyond the ends, {what} lead to keys of zeros, whose scores are 0; they "
                f"should be -inf.",
                lambda beyond=beyond: _with_zeros(
                    np.where(right, scores, -np.inf), np.where(rows[:, :1], 0, beyond), v
                ),
            )
    first, last = (
        np.maximum(w - place, 0) + sum((place < s).astype(int) for s in far)
        for place in (i, n - 1 - i)
    )
    clamped = right + first * (j == 0) + last * (j == n - 1) * (not spec.causal)
    yield (
        "positions beyond the ends are clamped to the first and last key, which then count many "
        "times; leave them out.",
        lambda: (
            softmax(
                np.where(
                    clamped | rows,
                    scores + np.log(np.where(rows, 1, np.maximum(clamped, 1))),
                    -np.inf,
                )
            )
            @ v
        ),
    )
    for how in ("added", "averaged"):
        yield (
            f"each piece has a softmax of its own, and they are {how}; use one softmax over all "
            "pieces of a row.",
            lambda how=how: _apart(parts, scores, v, rows, how),
        )
    yield (
        "strides have their own softmax; use one softmax over all pieces of a row.",
        lambda: _apart(
            {
                "far": parts["far"] & ~parts["near"],
                "others": right & (parts["near"] | ~parts["far"]),
            },
            scores,
            v,
            rows,
            "added",
        ),
    )
    yield (
        "global queries attend only to global keys; they should attend to everything.",
        lambda: np.where(
            rows,
            softmax(np.where(np.isin(j, spec.chosen) | ~rows, scores, -np.inf)) @ v,
            masked(right),
        ),
    )


def causes_of_blocks(spec: Spec, at: np.ndarray, scores: np.ndarray, v: np.ndarray) -> Causes:
    """The same for mistakes in splitting the queries into blocks."""
    n, w = spec.n, spec.window
    i, j = at[:, None], np.arange(n)[None]
    right = connected(spec)[at]
    rows = np.isin(i, spec.chosen) & (not spec.causal)
    past = (j <= i) | (not spec.causal)
    other = right & (np.isin(abs(i - j), spec.strides) | np.isin(j, spec.chosen))

    def masked(mask):
        return softmax(np.where(mask | rows, scores, -np.inf)) @ v

    for size in sorted({w, *BLOCKS}):
        if not 0 < size < n:
            continue
        step = j // size - i // size
        inside = abs(i - j) <= w
        for sentence, near in (
            (
                "the window ends at the edges of a block: a query also needs keys of adjacent "
                "blocks.",
                inside & (step == 0),
            ),
            (
                "a block attends only to its own and adjacent blocks; a wide window reaches "
                "farther.",
                inside & (abs(step) <= 1),
            ),
            ("the blocks ahead are missing.", inside & (step <= 0)),
            ("the blocks behind are missing.", inside & (step >= 0)),
            (
                "all keys of the blocks within reach are attended to: mask those beyond the "
                "window.",
                abs(step) <= -(-w // size),
            ),
            (
                "all keys of the blocks within reach are attended to: mask those beyond the "
                "window.",
                abs(step) <= 1,
            ),
        ):
            yield sentence, lambda near=near: masked(other | near & past)
        yield (
            "the rows after the last whole block are left out.",
            lambda size=size: np.where(i < n // size * size, masked(right), 0),
        )
        if spec.causal:
            yield (
                "within a block, keys after the query are attended to.",
                lambda step=step: masked(other | inside & (step <= 0)),
            )


def _with_zeros(scores, count, v):
    """Compute attention with `count` more scores of 0, whose values are 0, in each row."""
    extra = np.where(np.arange(count.max()) < count, 0.0, -np.inf)
    extra = np.broadcast_to(extra, (*scores.shape[:-1], extra.shape[-1]))
    return softmax(np.concatenate((scores, extra), axis=-1))[..., : scores.shape[-1]] @ v


def _apart(parts, scores, v, rows, how):
    """Compute attention with a softmax for each piece; global rows are right."""
    result = sum(softmax(np.where(part, scores, -np.inf)) @ v for part in parts.values())
    if how == "averaged":
        result = result / np.maximum(
            sum(part.any(axis=1)[:, None].astype(int) for part in parts.values()), 1
        )
    return np.where(rows, softmax(scores) @ v, result)
