"""Question 6d, steps 3 and 4: modules and streams, and the hidden checks."""

import numpy as np

from checks.problem6.q6d_attention import LONG
from checks.problem6.q6d_module import CACHE, LAYER, NEW, STREAM, draw_layer
from instructor.checks.drawing import draws
from instructor.checks.problem6.q6d import draw_spec, pattern, spec
from instructor.checks.problem6.q6d_attention import draw_long, inputs


def layer(rng, sizes: tuple[int, int], pattern: dict, **more) -> dict:
    """Draw a module.

    Args:
        sizes: n_head and head_dim.
        more: replaces any of its settings.
    """
    (n_head, head_dim), seed = sizes, int(rng.integers(2**31))
    given = {"n_embd": n_head * head_dim, "n_head": n_head, "pattern": pattern, "seed": seed}
    settings = {"dense": None, "max_positions": None, "max_global": None}
    return {**given, **settings, "dtype": "float32", "scale": 1.0, **more}


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
    drawn = draw_long(rng, 20_000, bool(rng.integers(2)))
    return [inputs(rng, drawn, 1, 1, 4, function="SparseSelfAttention")]


@draws(LAYER, "6d-20-basic")
def limits(rng):
    """Accepted: positions from an iterator; float64; texts longer than the dense module's, without
    rotation; a table that is shorter than the dense module's. Refused: heads that do not divide the
    width; positions out of range; a choice for two sequences; texts longer than a table.
    """
    T = int(rng.integers(16, 20))
    causal, both = two(rng, T)
    return [
        *(call(rng, (2, 2), {**both, "kind": kind}) for kind in ("list", "iterator")),
        call(rng, (2, 2), both, dtype="float64"),
        call(rng, (2, 2), causal, dtype="float64", **dense(T)),
        *(call(rng, (2, 2), causal, **dense(7, longest=longest)) for longest in (None, 9)),
        call(rng, (2, 4), both, **dense(64, True, T + 1)),
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


def stream(rng, layer: dict, cuts: int | list[int], max_global: int | None = 3, **more) -> dict:
    """Draw a stream, with more positions declared global than may become so if max_global is small.

    Args:
        cuts: the numbers of positions of calls; or of all together, to be drawn.
        more: replaces any of its settings.
    """
    if isinstance(cuts, int):
        ends = np.cumsum(rng.choice([1, 2, 3, 8, 25], cuts))
        cuts = np.diff([0, *ends[ends < cuts], cuts]).tolist()
    declared = np.flatnonzero(rng.random(sum(cuts)) < 0.2).tolist()
    given = {"layer": layer, "cuts": cuts, "declared": declared, "max_global": max_global}
    return {**given, "B": 1, "in_turns": False, "once": False, "bad": None, **more}


@draws(STREAM, "6d-10-basic")
def streams(rng):
    """Some positions at a time, one, all at once; a ring of one position; a call longer than the
    ring and than a block; rotating; and in turns with another stream.
    """
    T = int(rng.integers(26, 31))
    plain = layer(rng, (3, 2), pattern(4, (11,)))
    stretched = layer(rng, (2, 4), pattern(3, (8,)), **dense(13, True, T + 4))
    return [
        stream(rng, plain, T, 4, B=2),
        stream(rng, plain, [1] * T, 4),
        stream(rng, layer(rng, (3, 2), pattern(3, (7, 19))), T, 4),
        stream(rng, layer(rng, (3, 2), pattern(6)), [T], 4),
        stream(rng, layer(rng, (3, 2), pattern(0, (1,))), T, 4),
        stream(rng, layer(rng, (2, 3), pattern(2, (9, 4))), T, 4),
        stream(rng, layer(rng, (2, 1), pattern(12, (37,))), [1, 131, 6], 5),
        stream(rng, stretched, T),
        stream(rng, layer(rng, (3, 2), pattern(3, (8,))), T, in_turns=True),
    ]


@draws(CACHE, "6d-17-basic", "6d-13-hidden")
def caches(rng, large):
    """All kinds of windows and strides; in turns with another stream; in float64; rotating."""
    T = int(rng.integers(50, 70) if large else rng.integers(24, 29))
    window, far = int(rng.integers(3, 7)), int(rng.integers(9, 15))
    sizes = (2, 3) if large else (2, 2)
    sevens = [7] * (T // 7) + [T % 7] * (T % 7 > 0)

    def of(*given, **more):
        return layer(rng, sizes, pattern(*given), **more)

    # a cache that takes all numbers for float32 is an edge, which costs little
    wide = [] if large else [stream(rng, of(window, (far,), dtype="float64"), T, 2)]
    return [
        stream(rng, of(window, (far, 2)), T, B=2),
        stream(rng, of(0, (far,)), T, 4),
        stream(rng, of(0), T, B=2),
        stream(rng, of(window, (2, far)), [T], 0),
        stream(rng, of(far, (window,)), sevens, 6),
        stream(rng, of(window, (1,)), T, None, in_turns=True),
        stream(rng, layer(rng, (2, 4), pattern(3, (6,)), **dense(11, True, T + 3)), T),
        stream(rng, of(T + 5, (far,)), T, 2),
        *wide,
    ]


@draws(NEW, "6d-17-basic")
def nothing_read(rng):
    """Nothing is cached before the first call."""
    drawn = layer(rng, (2, 2), pattern(3, (8,)))
    methods = "cached_positions", "cache_bytes"
    return [({"layer": drawn, "method": name}, " before its first append") for name in methods]


@draws(STREAM, "6d-21-basic")
def refused(rng):
    """Too few booleans, too many, no positions, more positions than a table has; first so that the
    error is seen, then so that the stream is read on. A pattern in both directions; and large
    scores.
    """
    T, given = int(rng.integers(18, 23)), (int(rng.integers(2, 5)), (int(rng.integers(5, 9)),))
    reads = layer(rng, (2, 2), pattern(*given), **dense(T, True))
    bad = [
        {"call": 1, "positions": positions, "booleans": booleans, "ignored": ignored}
        for ignored in (False, True)
        for positions, booleans in ((3, 2), (3, 4), (0, 0), (T - 5, T - 5))
    ]
    tried = {}, {"once": True}, *({"bad": each} for each in bad)
    in_both = layer(rng, (3, 2), pattern(*given, causal=False))
    steep = layer(rng, (3, 2), pattern(*given), dtype="float64", scale=1e5)
    cuts = [6, 3, T - 9]
    return [
        *(stream(rng, reads, cuts, **each) for each in tried),
        stream(rng, in_both, cuts),
        (stream(rng, steep, cuts), ", with scores near 100,000"),
    ]


@draws(STREAM, "6d-14-hidden")
def rotated_streams(rng):
    """At the dense module's length, and stretched."""
    T, given = int(rng.integers(37, 43)), pattern(4, (11, 6))
    return [
        stream(rng, layer(rng, (2, 6), given, **dense(64, True)), T),
        stream(rng, layer(rng, (3, 4), given, **dense(13, True, T + 5)), T, B=2),
    ]
