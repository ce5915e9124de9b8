"""Cases for the basic checks of question 6d."""

import numpy as np

from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem6.q6d.attention import sparse_case
from instructor.checks.problem6.q6d.counts import mistaken_counts
from instructor.checks.problem6.q6d.global_positions import headers_case, kth_case, predicted_case
from instructor.checks.problem6.q6d.patterns import (
    Spec,
    connected,
    count,
    draw_spec,
    edge_specs,
    mistakes,
    packed,
)
from instructor.checks.problem6.q6d.runs import growing_runs, long_texts


@makes("6d-5-basic")
def global_positions(rng):
    """From a rule, from headers, from scores: with ties, zeros, more and fewer than the limit."""
    n, k = int(rng.integers(12, 20)), int(rng.integers(3, 6))
    cases = [
        kth_case(*rest) for rest in ((n, k), (n * k, k), (n * k + 1, k), (n, 1), (n, n + 5), (1, k))
    ]
    cases += headers_case(rng)
    draw = rng.standard_normal
    scores = (
        (draw(30), 6),
        (rng.integers(-2, 3, 40), 9),
        (np.ones(25), 7),
        (-rng.random(9), 3),
        (np.zeros(8), 5),
        (rng.random(5), 5),
        (draw(12), 0),
        (rng.integers(0, 4, 290), None),
    )
    return cases + [predicted_case(np.asarray(x, "float32"), limit) for x, limit in scores]


@makes("6d-6-basic")
def attended_positions(rng):
    """Random patterns, one of each kind with known mistakes; and extreme ones."""
    cases = []
    for causal in (False, True):
        for kind in ("list", "set", "iterator"):
            spec = draw_spec(rng, causal, int(rng.integers(20, 26)), int(rng.integers(3, 5)), kind)
            known = list(mistakes(spec))[: None if kind == "list" else 3] if kind != "set" else []
            cases.append(_mask_case(spec, known))
    return cases + [_mask_case(spec, []) for spec in edge_specs(rng, short=True)]


def _mask_case(spec, known):
    return Case(
        spec.data, packed(connected(spec)), [(sentence, packed(mask)) for sentence, mask in known]
    )


@makes("6d-7-basic")
def connections(rng):
    """Small patterns; then about 75,000 positions."""
    specs = [
        draw_spec(rng, causal, kind=kind)
        for causal in (False, True)
        for kind in ("list", "iterator", "set")
    ]
    cases = [_count_case(spec, True) for spec in specs]
    cases += [_count_case(spec, False) for spec in edge_specs(rng, short=True)]
    cases += [_count_case(Spec(16, 2, (4, 8), causal, (0,)), True) for causal in (False, True)]
    n = int(rng.integers(70_000, 80_000))
    strides = tuple(int(s) for s in rng.integers(700, 20_000, 4))
    for causal in (False, True):
        chosen = tuple(rng.choice(n, 150, replace=False).tolist())
        spec = Spec(n, int(rng.integers(400, 600)), strides, causal, chosen)
        cases.append(_count_case(spec, False))
    return cases


def _count_case(spec, known):
    return Case(spec.data, count(spec), mistaken_counts(spec) if known else [])


@makes("6d-8-basic")
def attention(rng):
    """Random patterns over several blocks, extremes, large scores, float64; and long texts."""
    cases = []
    for causal in (False, True):
        spec = draw_spec(rng, causal, int(rng.integers(290, 380)), int(rng.integers(20, 50)))
        window = Spec(int(rng.integers(265, 300)), int(rng.integers(20, 50)), (), causal)
        cases += [
            sparse_case(rng, window, 2, 3, 5, "blocks"),
            sparse_case(rng, spec, 2, 3, 5, "scales masks pieces", transposed=True),
            sparse_case(rng, draw_spec(rng, causal), 1, 2, 7, dtype="float64"),
            sparse_case(
                rng,
                draw_spec(rng, causal, kind="set"),
                3,
                2,
                4,
                "scales",
                dtype="float64",
                scale=3000.0,
            ),
        ]
    # Windows wider than a block of a common size, and wider than all of them.
    causal = bool(rng.integers(2))
    wide = draw_spec(rng, causal, int(rng.integers(350, 440)), int(rng.integers(130, 170)))
    widest = draw_spec(rng, not causal, 1300, int(rng.integers(520, 600)))
    cases += [sparse_case(rng, wide, 1, 2, 3, "blocks"), sparse_case(rng, widest, 1, 1, 2)]
    cases += [
        sparse_case(rng, spec, 2, 1, 3, dtype="float64") for spec in edge_specs(rng, short=True)
    ]
    return cases + long_texts(rng)


@makes("6d-15-basic")
def gradients(rng):
    """Over several blocks, bidirectional and causal, in both dtypes; and extremes."""
    cases = []
    for causal in (False, True):
        for dtype, n in (
            ("float32", int(rng.integers(140, 180))),
            ("float64", int(rng.integers(40, 50))),
        ):
            spec = draw_spec(rng, causal, n, int(rng.integers(5, 12)))
            cases.append(sparse_case(rng, spec, 2, 3, 5, dtype=dtype, with_gradients=True))
    return cases


@makes("6d-16-basic")
def growth(rng):
    """Counts of connections and FLOPs, and long texts."""
    return growing_runs(rng)


@makes("6d-19-basic")
def attention_limits(rng):
    """Global positions from an iterator."""
    return [
        sparse_case(rng, draw_spec(rng, causal, kind="iterator"), 1, 2, 7, "used up")
        for causal in (False, True)
    ]
