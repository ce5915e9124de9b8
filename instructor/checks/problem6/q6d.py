"""Question 6d, step 1: patterns, and inputs of the functions."""

import numpy as np

from checks.problem6.q6d import CALLS, LARGE
from instructor.checks.drawing import draws

TOKENS = (  # like headers; the default expression matches three
    *("Name:", "HISTORY:", "of", "PAST ILLNESSES:", "ALLERGIES", ":", "see ALLERGIES:", "A:"),
    *("ALLERGIES: none", " PLAN:", "PLAN:\n", "MG2:", "", "ÄTZUNG:"),
)


def pattern(window: int, strides=(), causal: bool = True) -> dict:
    """The arguments of Pattern."""
    return {"window": int(window), "strides": (*map(int, strides),), "causal": causal}


def spec(n, window, strides, causal, chosen=(), kind="list") -> dict:
    """A pattern for n positions. chosen: the global positions as they are passed, in any order,
    perhaps repeated; kind: their type.
    """
    drawn = {"n": int(n), "pattern": pattern(window, strides, causal)}
    return {**drawn, "chosen": [*map(int, chosen)], "kind": kind}


def draw_spec(rng, causal, n=None, window=None, kind="list") -> dict:
    """Draw a pattern in which every rule has an effect: two strides beyond the window and one
    within it, three global positions, two of them in reach of each other, and one twice.
    """
    n = rng.integers(40, 60) if n is None else n
    window = rng.integers(3, 7) if window is None else window
    far = rng.choice(np.arange(window + 2, n // 2), 2, replace=False)
    strides = rng.permutation([*far, rng.integers(1, window)])
    first = rng.integers(1, n // 2 - window)
    chosen = [first, first + rng.integers(1, window), rng.integers(n // 2 + window, n - 1)]
    return spec(n, window, strides, causal, rng.permutation([*chosen, first]), kind)


def edge_specs(rng) -> list[dict]:
    """Extreme patterns, in both directions and causal."""
    n = int(rng.integers(12, 18))
    chosen = rng.choice(n, 3, replace=False)
    edges = [
        (1, 0, (), ()),
        (1, 3, (1, 2), (0,)),
        (2, 0, (1,), ()),
        (n, 0, (), ()),
        (n, 0, (5, 1), chosen),
        (n, n + 5, (), chosen),
        (n, 2, (n - 1, n, n + 7), (0, n - 1)),
        (n, 3, (7, 3, 7), (1,)),
        (n, 1, (4,), range(n)),
    ]
    return [spec(*edge[:3], causal, edge[3]) for causal in (False, True) for edge in edges]


def choice(function, *arguments, kind="list") -> dict:
    """A call of a function that chooses global positions. kind: of the first argument."""
    rules = {"pattern": None, "chosen": [], "kind": kind}
    return {"function": function, "arguments": [*arguments], **rules}


def rows(drawn: dict, i: int | None = None) -> dict:
    """A call of attended_positions for position i; by default for all positions."""
    return _call("attended_positions", drawn, i, drawn["n"])


def counted(drawn: dict) -> dict:
    """A call of count_connections."""
    return _call("count_connections", drawn, drawn["n"])


def _call(function, drawn, *arguments):
    rules = {name: drawn[name] for name in ("pattern", "chosen", "kind")}
    return {"function": function, "arguments": [*arguments], **rules}


@draws(CALLS, "6d-5-basic")
def global_positions(rng):
    """From a rule, from headers, from scores: with ties, zeros, more and fewer than the limit."""
    n, k = int(rng.integers(12, 20)), int(rng.integers(3, 6))
    words = [("H" if flag else "x") + str(i) for i, flag in enumerate(rng.random(12) < 0.5)]
    scores = [  # of 7 to 9 and 290 positions, with many ties
        (rng.standard_normal(30), 6),
        (rng.integers(-2, 3, 40), 9),
        (np.ones(25), 7),
        (-rng.random(9), 3),
        (np.zeros(8), 5),
        (rng.random(5), 5),
        (rng.standard_normal(12), 0),
        (rng.integers(0, 4, 290),),
    ]
    return [
        *(choice("every_kth", *each) for each in ((n, k), (n * k, k), (n * k + 1, k))),
        *(choice("every_kth", *each) for each in ((n, 1), (n, n + 5), (1, k))),
        choice("section_headers", [TOKENS[i] for i in rng.permutation(len(TOKENS))]),
        choice("section_headers", words, r"H\d"),
        choice("section_headers", []),
        choice("section_headers", words, "h"),
        choice("section_headers", ["ab", "a", "abc"], "a|ab"),
        *(choice("predicted_globals", x.astype("float32"), *limit) for x, *limit in scores),
    ]


@draws(CALLS, "6d-6-basic")
def patterns(rng):
    """Patterns in which every rule has an effect, and extreme ones."""
    drawn = [
        draw_spec(rng, causal, rng.integers(20, 26), rng.integers(3, 5), kind)
        for kind in ("list", "set", "iterator")
        for causal in (False, True)
    ]
    return [rows(each) for each in drawn + edge_specs(rng)]


@draws(CALLS, "6d-7-basic")
def connections(rng):
    """The same kinds, and the handout's example."""
    drawn = [
        draw_spec(rng, causal, kind=kind)
        for kind in ("list", "iterator", "set")
        for causal in (False, True)
    ]
    example = [spec(16, 2, (4, 8), causal, (0,)) for causal in (False, True)]
    return [counted(each) for each in drawn + example + edge_specs(rng)]


@draws(LARGE, "6d-7-basic")
def many_connections(rng):
    """About 75,000 positions."""
    n, strides = rng.integers(70_000, 80_000), rng.integers(700, 20_000, 4)
    chosen = rng.choice(n, 150, replace=False)
    drawn = [spec(n, rng.integers(400, 600), strides, causal, chosen) for causal in (False, True)]
    return [counted(each) for each in drawn]


@draws(CALLS, "6d-18-basic")
def refused(rng):
    """For each function what it takes, also from an iterator; then what does not exist: strides,
    positions, patterns.
    """
    tokens, n = rng.permutation(["HISTORY:", "none", "see ALLERGIES:", "PLAN:"]), 24
    both, causal = (draw_spec(rng, causal, n, 4) for causal in (False, True))
    return [
        choice("every_kth", n, 2),
        choice("section_headers", [*map(str, tokens)], kind="iterator"),
        *(choice("every_kth", n, k) for k in (0, -2)),
        *map(rows, (both, causal)),
        *(rows(both, i) for i in (24, -1, 33)),
        rows({**both, "chosen": [1, 24]}, 2),
        rows({**causal, "chosen": [-1]}, 2),
        rows(spec(9, -1, (3,), False), 2),
        rows(spec(9, 2, (3, 0), False), 2),
        counted(both),
        counted({**causal, "chosen": [n]}),
        counted({**both, "chosen": [3, -2]}),
    ]
