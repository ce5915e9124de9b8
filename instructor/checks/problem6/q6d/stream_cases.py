"""Cases of StreamingAttention: a stream's output, its cache, and the known mistakes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from checks.support.cases import Case
from instructor.checks.problem6.q6d.attention import listed
from instructor.checks.problem6.q6d.layers import Layer
from instructor.checks.problem6.q6d.patterns import connected, packed


def stream_case(
    rng,
    layer: Layer,
    cuts: list[int] | None = None,
    max_global: int | None = None,
    share: float = 0.15,
    known: str = "",
    in_turns: bool = False,
    dtype: str = "float32",
) -> Case:
    """Make a case of a stream with random flags, not all of which become global; random cuts by
    default.

    Args:
        known: which mistakes to recognize: "streams", and those of `Layer.causes`.
        in_turns: whether it is interleaved with another stream of the same module.
    """
    T = layer.spec.n
    declared = np.flatnonzero(rng.random(T) < share).tolist()
    if cuts is None:
        cuts = []
        while sum(cuts) < T:
            cuts.append(int(min(rng.choice([1, 2, 3, 8, 25]), T - sum(cuts))))
    chosen = declared[: 200 if max_global is None else max_global]
    inputs = {
        "layer": layer.data,
        "cuts": cuts,
        "declared": declared,
        "max_global": max_global,
        "in_turns": in_turns,
        "dtype": dtype,
    }
    layer = replace(layer, spec=replace(layer.spec, chosen=tuple(chosen)))
    ring = max(layer.spec.window, *layer.spec.strides, 0)
    right = layer.right()
    causes = [
        *(_causes(layer, cuts, declared, ring) if "streams" in known else ()),
        *layer.causes(known),
    ]
    if layer.rope and len(cuts) > 1:
        causes.append(
            (
                "each call is rotated as if it started at position 0.",
                lambda: _restarted(layer, cuts),
            )
        )
    wrong = listed(
        right, ((sentence, lambda make=make: layer.kept(make())) for sentence, make in causes)
    )
    kept = _cached(cuts, chosen, ring)
    right = {"y": right.astype("float32"), "global": chosen, "cached": packed(kept)}
    limit = 200 if max_global is None else max_global
    # of one key and value of all sequences
    size = 2 * layer.data["n_embd"] * layer.data["B"] * (8 if dtype == "float64" else 4)
    about = {
        "ring": ring,
        "slots": ring + limit,
        "room": (ring + limit) * size,
        "least": (kept.sum(axis=1) * size).tolist(),
    }
    return Case(inputs, right, wrong, about)


def _cached(cuts, chosen, ring):
    """Return which positions are cached after each call: (calls, T)."""
    ends, j = np.cumsum(cuts)[:, None], np.arange(sum(cuts))
    return (j < ends) & ((j >= ends - ring) | np.isin(j, chosen))


def _restarted(layer, cuts):
    """Compute the output with each call's rotation restarting at 0."""
    angles, starts = layer.angles(), np.repeat(np.cumsum([0, *cuts[:-1]]), cuts)
    return layer.expected(angles=angles[np.arange(len(starts)) - starts])


def _causes(layer, cuts, declared, ring) -> Iterator:
    """Yield known mistakes with their results, (B, T, C)."""
    spec, T = layer.spec, sum(cuts)
    before, last = replace(spec, chosen=()), tuple(declared[-len(spec.chosen) :])
    i, j = np.indices((T, T), sparse=True)
    starts = np.repeat(np.cumsum([0, *cuts[:-1]]), cuts)[:, None]
    ends = np.repeat(np.cumsum(cuts), cuts)[:, None]
    known = np.isin(j, spec.chosen) & (j < starts)
    yield from [
        (
            "positions that are declared global after max_global others become global, too; they "
            "should be ordinary.",
            lambda: layer.expected(connected(replace(spec, chosen=tuple(declared)))),
        ),
        (
            "the last positions that are declared global become global; it should be the first.",
            lambda: layer.expected(connected(replace(spec, chosen=last))),
        ),
        ("declared positions do not become global.", lambda: layer.expected(connected(before))),
        (
            "the new positions of a call do not see each other.",
            lambda: layer.expected(connected(spec) & ((j < starts) | (i == j))),
        ),
        (
            "the new positions of a call do not see themselves.",
            lambda: layer.expected(connected(spec) & (i != j)),
        ),
        (
            "the new positions of a call see those that come after them.",
            lambda: layer.expected(
                connected(replace(spec, causal=False), rows=lambda i, j, _: (i != i) & (j != j))
                & (j < ends)
            ),
        ),
        (
            "a global position that is still among the last R counts twice.",
            lambda: layer.expected(
                twice=np.isin(j, spec.chosen)
                & (j < starts)
                & (j >= starts - ring)
                & ((i - j <= spec.window) | np.isin(i - j, spec.strides))
            ),
        ),
        (
            "a new global position is global only from the next call on; it should be so for later "
            "positions in the same call, too.",
            lambda: layer.expected(connected(before) | (known & (j <= i))),
        ),
        (
            "strides beyond the window are lost: the cache forgets too early. It needs the last R "
            "= max(window, strides) positions.",
            lambda: layer.expected(connected(spec, far=lambda i, j, _: (i != i) & (j != j))),
        ),
        (
            "global positions are forgotten after R positions.",
            lambda: layer.expected(
                connected(before) | (np.isin(j, spec.chosen) & (j <= i) & (i - j <= ring))
            ),
        ),
        (
            "all cached positions are attended to, regardless of distance.",
            lambda: layer.expected(((i - j <= ring) | np.isin(j, spec.chosen)) & (j <= i)),
        ),
        (
            "each call is treated as a separate sequence.",
            lambda: layer.expected(connected(spec) & (j >= starts)),
        ),
        (
            "the cache is one position too short: i attends to position i - R.",
            lambda: layer.expected(connected(spec) & ((i - j < ring) | np.isin(j, spec.chosen))),
        ),
    ]
