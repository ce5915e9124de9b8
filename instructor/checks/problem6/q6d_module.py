"""Question 6d, step 3: modules and texts."""

import numpy as np

from checks.problem6.q6d_module import LAYER, draw_layer
from instructor.checks.drawing import draws
from instructor.checks.problem6.q6d import draw_spec, spec
from instructor.checks.problem6.q6d_attention import LONG, draw_long, text


def layer(rng, sizes: tuple[int, int], pattern: dict, **more) -> dict:
    """Draw a module.

    Args:
        sizes: n_head and head_dim.
        more: replaces any of its settings.
    """
    (n_head, head_dim), seed = sizes, int(rng.integers(2**31))
    given = {"n_embd": n_head * head_dim, "n_head": n_head, "pattern": pattern, "seed": seed}
    settings = {"dense": None, "max_positions": None, "max_global": None, "dtype": "float32"}
    return {**given, **settings, **more}


def dense(block_size: int, rope: bool = False, longest: int | None = None) -> dict:
    """Settings of a module that is made from a dense one. longest: its max_positions."""
    return {"dense": {"block_size": block_size, "rope": rope}, "max_positions": longest}


def call(rng, sizes: tuple[int, int], drawn: dict, B: int = 1, **more) -> dict:
    """The inputs of a call of a module.

    Args:
        drawn: its pattern, with positions, as `spec` makes them.
        more: settings of the module.
    """
    module, once = layer(rng, sizes, drawn["pattern"], **more), drawn["kind"] == "iterator"
    return {"layer": module, "B": B, "T": drawn["n"], "chosen": drawn["chosen"], "once": once}


def predicted(rng, drawn: dict, max_global: int | None) -> dict:
    """Draw a call without positions. Even in float32 it is clear which scores are above 0, and
    which are the highest.
    """
    while True:
        inputs = call(rng, (3, 2), {**drawn, "chosen": None}, max_global=max_global)
        weights, x = draw_layer.function(inputs["layer"], 1, drawn["n"])
        scores = x[0] @ weights["predictor.weight"][0] + weights["predictor.bias"]
        if min(np.diff(np.sort(scores)).min(), abs(scores).min()) > 1e-4:
            return inputs


def two(rng, T: int) -> list[dict]:
    """A causal pattern and one in both directions."""
    return [draw_spec(rng, causal, T, rng.integers(3, 5)) for causal in (True, False)]


@draws(LAYER, "6d-9-basic")
def modules(rng):
    """From a dense module that the pattern covers, then others; new ones, two of one shape; the
    predictor's choice; rotating modules, at their length and for longer texts.
    """
    T = int(rng.integers(20, 26))
    causal, both = two(rng, T)
    few, every = spec(T, 2, (5,), False), spec(T, T, (), True)
    longest = int(rng.integers(T + 2, T + 12))
    return [
        call(rng, (3, 2), every, 2, **dense(T + 3)),
        call(rng, (3, 2), causal, **dense(64)),
        call(rng, (2, 3), both, **dense(64)),
        call(rng, (2, 3), both),
        call(rng, (2, 3), {**both, "chosen": both["chosen"][:2]}),
        call(rng, (3, 2), causal),
        call(rng, (3, 2), few),
        predicted(rng, few, 4),
        predicted(rng, spec(T, 3, (), True), None),
        call(rng, (2, 4), every, **dense(T, True)),
        call(rng, (2, 4), both, **dense(13, True, longest)),
    ]


@draws(LONG, "6d-9-basic")
def long_modules(rng):
    """A long text."""
    drawn = draw_long(rng, 24_000, bool(rng.integers(2)))
    return [text(rng, drawn, function="SparseSelfAttention")]


@draws(LAYER, "6d-20-basic")
def accepted(rng):
    """Positions from an iterator; float64; texts longer than the dense module's, without rotation;
    a table that is shorter than the dense module's.
    """
    T = int(rng.integers(16, 20))
    causal, both = two(rng, T)
    return [
        *(call(rng, (2, 2), {**both, "kind": kind}) for kind in ("list", "iterator")),
        call(rng, (2, 2), both, dtype="float64"),
        call(rng, (2, 2), causal, dtype="float64", **dense(T)),
        *(call(rng, (2, 2), causal, **dense(7, longest=longest)) for longest in (None, 9)),
        call(rng, (2, 4), both, **dense(64, True, T + 1)),
    ]


@draws(LAYER, "6d-20-basic")
def refused(rng):
    """Heads that do not divide the width; positions out of range; a choice for two sequences; texts
    that are longer than a table, which may be shorter than the dense module's.
    """
    T = int(rng.integers(16, 20))
    _, both = two(rng, T)
    return [
        call(rng, (2, 2), both, n_embd=5),
        *(call(rng, (2, 2), {**both, "chosen": chosen}) for chosen in ([2, T], [-1])),
        call(rng, (2, 2), {**both, "chosen": None}, 2),
        call(rng, (2, 4), both, **dense(T - 1, True)),
        call(rng, (2, 4), both, **dense(T + 3, True, T - 1)),
    ]


@draws(LAYER, "6d-14-hidden")
def rotated(rng):
    """At the dense module's length, shorter and stretched; in both directions, too."""
    T = int(rng.integers(31, 39))
    causal, both = two(rng, T)
    every = spec(T, T + 2, (), True)
    return [
        call(rng, (3, 4), every, 2, **dense(T, True)),
        call(rng, (2, 6), causal, **dense(64, True)),
        call(rng, (2, 4), both, 2, **dense(T + 1, True)),
        call(rng, (2, 6), causal, 2, **dense(13, True, T + 7)),
        call(rng, (2, 6), every, **dense(T + 3, True, 5 * T)),
    ]
