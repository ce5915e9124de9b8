"""Question 6d, step 3: modules and texts."""

import numpy as np

from checks.problem6.q6d_module import LAYER, draw_layer
from checks.problem6.q6d_work import LONG
from instructor.checks.drawing import draws
from instructor.checks.problem6.q6d_attention import two_texts


def draw_pattern(rng, causal: bool, T: int) -> tuple[dict, list[int]]:
    """Draw a pattern in which every rule has an effect, and global positions: two strides beyond
    the window and one within it; three positions, two of them in reach of each other, in any order
    and one of them twice.
    """
    window = int(rng.integers(3, 5))
    strides = rng.choice(np.arange(window + 2, T // 2), 2, replace=False).tolist()
    near, first = int(rng.integers(1, window)), int(rng.integers(1, T // 2 - window))
    chosen = [first, first + near, int(rng.integers(T // 2 + window, T - 1)), first]
    return (
        pattern(window, rng.permutation([*strides, near]).tolist(), causal),
        rng.permutation(chosen).tolist(),
    )


def pattern(window: int, strides=(), causal: bool = True) -> dict:
    """The arguments of Pattern."""
    return {"window": window, "strides": tuple(strides), "causal": causal}


def layer(rng, n_head: int, head_dim: int, pattern: dict, **more) -> dict:
    """Draw a module.

    Args:
        more: replaces any of its settings.
    """
    sizes = {"n_embd": n_head * head_dim, "n_head": n_head, "pattern": pattern}
    settings = {"dense": None, "max_positions": None, "max_global": None, "dtype": "float32"}
    return {**sizes, "seed": int(rng.integers(2**31)), **settings, **more}


def rotating(rng, sizes: tuple[int, int], pattern: dict, block_size: int, longest=None) -> dict:
    """Draw a module from a dense one that rotates. longest: its max_positions."""
    dense = {"block_size": block_size, "rope": True}
    return layer(rng, *sizes, pattern, dense=dense, max_positions=longest)


def call(layer: dict, B: int, T: int, chosen=(), once: bool = False) -> dict:
    """The inputs of a call. once: an iterator gives the global positions."""
    chosen = chosen if chosen is None else list(chosen)
    return {"layer": layer, "B": B, "T": T, "chosen": chosen, "once": once}


def predicted(rng, T: int, pattern: dict, max_global: int | None) -> dict:
    """Draw a call without positions. Even in float32 it is clear which scores are above 0, and
    which are the highest.
    """
    while True:
        drawn = layer(rng, 3, 2, pattern, max_global=max_global)
        weights, x = draw_layer.function(drawn, 1, T)
        scores = x[0] @ weights["predictor.weight"][0] + weights["predictor.bias"]
        if min(np.diff(np.sort(scores)).min(), abs(scores).min()) > 1e-4:
            return call(drawn, 1, T, None)


@draws(LAYER, "6d-9-basic")
def modules(rng):
    """From a dense module that the pattern covers, then others; new ones, two of one shape; the
    predictor's choice; rotating modules, at their length and for longer texts.
    """
    T = int(rng.integers(20, 26))
    (causal, some), (both, others) = (draw_pattern(rng, causal, T) for causal in (True, False))
    few, every = pattern(2, (5,), False), pattern(T)
    dense = {"block_size": 64, "rope": False}
    covered = layer(rng, 3, 2, every, dense={**dense, "block_size": T + 3})
    longest = int(rng.integers(T + 2, T + 12))
    return [
        call(covered, 2, T),
        call(layer(rng, 3, 2, causal, dense=dense), 1, T, some),
        call(layer(rng, 2, 3, both, dense=dense), 1, T, others),
        *(call(layer(rng, 2, 3, both), 1, T, others[:n]) for n in (4, 2)),
        call(layer(rng, 3, 2, causal), 1, T, some),
        call(layer(rng, 3, 2, few), 1, T),
        predicted(rng, T, few, 4),
        predicted(rng, T, pattern(3), None),
        call(rotating(rng, (2, 4), every, T), 1, T),
        call(rotating(rng, (2, 4), both, 13, longest), 1, T, others),
    ]


@draws(LONG, "6d-9-basic")
def long_modules(rng):
    """Long texts."""
    return two_texts(rng, 40_000, "SparseSelfAttention")


@draws(LAYER, "6d-20-basic")
def accepted(rng):
    """Positions from an iterator; float64; texts longer than the dense module's, without rotation;
    a table that is shorter than the dense module's.
    """
    T = int(rng.integers(16, 20))
    (causal, some), (both, others) = (draw_pattern(rng, causal, T) for causal in (True, False))
    short, wide = {"block_size": 7, "rope": False}, {"dtype": "float64"}
    return [
        *(call(layer(rng, 2, 2, both), 1, T, others, once) for once in (False, True)),
        call(layer(rng, 2, 2, both, **wide), 1, T, others),
        call(layer(rng, 2, 2, causal, dense={**short, "block_size": T}, **wide), 1, T, some),
        *(
            call(layer(rng, 2, 2, causal, dense=short, max_positions=longest), 1, T, some)
            for longest in (None, 9)
        ),
        call(rotating(rng, (2, 4), both, 64, T + 1), 1, T, others),
    ]


@draws(LAYER, "6d-20-basic")
def refused(rng):
    """Heads that do not divide the width; positions out of range; a choice for two sequences; texts
    that are longer than a table, which may be shorter than the dense module's.
    """
    T = int(rng.integers(16, 20))
    both, _ = draw_pattern(rng, False, T)
    new = layer(rng, 2, 2, both)
    return [
        call({**new, "n_embd": 5}, 1, T),
        call(new, 1, T, [2, T]),
        call(new, 1, T, [-1]),
        call(new, 2, T, None),
        call(rotating(rng, (2, 4), both, T - 1), 1, T),
        call(rotating(rng, (2, 4), both, T + 3, T - 1), 1, T),
    ]


@draws(LAYER, "6d-14-hidden")
def rotated(rng):
    """At the dense module's length, shorter and stretched; in both directions, too."""
    T = int(rng.integers(31, 39))
    (causal, some), (both, others) = (draw_pattern(rng, causal, T) for causal in (True, False))
    every = pattern(T + 2)
    return [
        call(rotating(rng, (3, 4), every, T), 2, T),
        call(rotating(rng, (2, 6), causal, 64), 1, T, some),
        call(rotating(rng, (2, 4), both, T + 1), 2, T, others),
        call(rotating(rng, (2, 6), causal, 13, T + 7), 2, T, some),
        call(rotating(rng, (2, 6), every, T + 3, 5 * T), 1, T),
    ]
