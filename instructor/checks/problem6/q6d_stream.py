"""Question 6d, step 4: streams, and the hidden checks of modules and streams."""

import numpy as np

from autograder import check
from checks.problem6 import q6d_module, q6d_stream
from checks.problem6.q6d_stream import CACHE, STREAM
from instructor.checks.drawing import draws
from instructor.checks.problem6.q6d import pattern
from instructor.checks.problem6.q6d_module import dense, layer


@check("6d-13-hidden")
def test_cache(student, calls):
    """Outputs and cache after each call, for all kinds of windows and strides."""
    q6d_stream.test_cache(student, calls)


@check("6d-14-hidden")
def test_rotation(student, calls):
    """A rotating dense module, at its own length and stretched; also in a stream."""
    q6d_module.test_module(student, calls)
    q6d_stream.test_stream(student, calls)


def cut(rng, T: int) -> list[int]:
    """Draw the numbers of positions of calls, T together."""
    cuts = []
    while sum(cuts) < T:
        cuts.append(int(min(rng.choice([1, 2, 3, 8, 25]), T - sum(cuts))))
    return cuts


def stream(rng, layer: dict, B: int, cuts: list[int], max_global: int | None, **more) -> dict:
    """Draw a stream, with more positions declared global than may become so if max_global is small.

    Args:
        more: replaces any of its settings.
    """
    declared = np.flatnonzero(rng.random(sum(cuts)) < 0.2).tolist()
    sizes = {"layer": layer, "B": B, "cuts": cuts, "declared": declared, "max_global": max_global}
    return {**sizes, "in_turns": False, "once": False, "bad": None, **more}


@draws(STREAM, "6d-10-basic")
def streams(rng):
    """Some positions at a time, one, all at once; a call longer than the ring and than a block;
    rotating; and in turns with another stream.
    """
    T = int(rng.integers(26, 31))
    plain = layer(rng, (3, 2), pattern(4, (11,)))
    narrow = layer(rng, (2, 1), pattern(12, (37,)))
    stretched = layer(rng, (2, 4), pattern(3, (8,)), **dense(13, True, T + 4))
    return [
        stream(rng, plain, 2, cut(rng, T), 4),
        stream(rng, plain, 1, [1] * T, 4),
        stream(rng, layer(rng, (3, 2), pattern(3, (7, 19))), 1, cut(rng, T), 4),
        stream(rng, layer(rng, (3, 2), pattern(6)), 1, [T], 4),
        stream(rng, layer(rng, (2, 3), pattern(2, (9, 4))), 1, cut(rng, T), 4),
        stream(rng, narrow, 1, [1, 131, 6], 5),
        stream(rng, stretched, 1, cut(rng, T), 3),
        stream(rng, layer(rng, (3, 2), pattern(3, (8,))), 1, cut(rng, T), 3, in_turns=True),
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

    streams = [
        stream(rng, of(window, (far, 2)), 2, cut(rng, T), 3),
        stream(rng, of(0, (far,)), 1, cut(rng, T), 4),
        stream(rng, of(0), 2, cut(rng, T), 3),
        stream(rng, of(window, (2, far)), 1, [T], 0),
        stream(rng, of(far, (window,)), 1, sevens, 6),
        stream(rng, of(window, (1,)), 1, cut(rng, T), None, in_turns=True),
        stream(
            rng, layer(rng, (2, 4), pattern(3, (6,)), **dense(11, True, T + 3)), 1, cut(rng, T), 3
        ),
    ]
    if not large:
        wide = of(window, (far,), dtype="float64")
        return [*streams, stream(rng, wide, 1, cut(rng, T), 2)]
    return [
        *streams,
        stream(rng, of(window), 1, [1] * T, 5),
        stream(rng, of(T + 5, (far,)), 1, cut(rng, T), 2),
    ]


@draws(STREAM, "6d-21-basic")
def refused(rng):
    """Too few booleans, too many, no positions, more positions than a table has; first so that the
    error is seen, then so that the stream is read on. And a pattern in both directions.
    """
    T = int(rng.integers(18, 23))
    window, stride = int(rng.integers(2, 5)), int(rng.integers(5, 9))
    reads = layer(rng, (2, 2), pattern(window, (stride,)), **dense(T, True))
    cuts = [6, 3, T - 9]
    bad = [
        {"call": 1, "positions": positions, "booleans": booleans}
        for positions, booleans in ((3, 2), (3, 4), (0, 0), (T - 5, T - 5))
    ]
    valid = [stream(rng, reads, 1, cuts, 3, once=once) for once in (False, True)]
    tried = [
        stream(rng, reads, 1, cuts, 3, bad={**one, "ignored": ignored})
        for ignored in (False, True)
        for one in bad
    ]
    in_both = layer(rng, (3, 2), pattern(window, (stride,), causal=False))
    return [*valid, *tried, stream(rng, in_both, 1, cuts, 3)]


@draws(STREAM, "6d-14-hidden")
def rotated(rng):
    """At the dense module's length, and stretched."""
    T = int(rng.integers(37, 43))
    given = pattern(4, (11, 6))
    return [
        stream(rng, layer(rng, (2, 6), given, **dense(64, True)), 1, cut(rng, T), 3),
        stream(rng, layer(rng, (3, 4), given, **dense(13, True, T + 5)), 2, cut(rng, T), 3),
    ]
