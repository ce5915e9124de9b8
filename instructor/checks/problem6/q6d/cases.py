"""Cases for the basic checks of question 6d."""

import numpy as np

from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem6.q6d.attention import sparse_case
from instructor.checks.problem6.q6d.counts import mistaken_counts
from instructor.checks.problem6.q6d.global_positions import headers_case, kth_case, predicted_case
from instructor.checks.problem6.q6d.layers import draw_layer, layer_case
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
from instructor.checks.problem6.q6d.stream_cases import stream_case


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


@makes("6d-9-basic")
def modules(rng):
    """From a dense module, rotating or not, for longer sequences; new ones; the predictor; and
    long texts.
    """
    T = int(rng.integers(20, 30))
    causal, both = draw_spec(rng, True), draw_spec(rng, False)
    rotating = {"dense": True, "rope": True}
    layers = [
        (draw_layer(rng, Spec(T, T, (), True), 2, 3, 4, dense=True, block_size=T + 3), "modules"),
        (draw_layer(rng, causal, 2, 3, 4, dense=True, block_size=64), "modules masks"),
        (draw_layer(rng, both, 2, 2, 5, dense=True, block_size=64), "masks"),
        (draw_layer(rng, both, 3, 2, 5), ""),
        (draw_layer(rng, causal, 1, 3, 4), ""),
        (draw_layer(rng, Spec(T, 2, (5,)), 2, 3, 4), ""),
        (draw_layer(rng, Spec(T, 2, (5,)), 1, 3, 4, predict=True, max_global=4), "choices"),
        (draw_layer(rng, Spec(T, 3, (), True), 1, 2, 6, predict=True, max_global=200), "choices"),
        (draw_layer(rng, Spec(T, T, (), True), 2, 3, 4, block_size=T, **rotating), "angles"),
        (
            draw_layer(
                rng,
                both,
                1,
                2,
                6,
                block_size=17,
                max_positions=int(rng.integers(62, 80)),
                **rotating,
            ),
            "angles",
        ),
    ]
    return [layer_case(*one) for one in layers] + long_texts(rng, module=True)


@makes("6d-10-basic")
def streams(rng):
    """One position at a time, a few, all at once; rotating; and interleaved with another stream."""
    T = int(rng.integers(60, 90))
    cases = []
    for B, window, strides, cuts, known in (
        (2, 4, (11,), None, "streams modules"),
        (1, 3, (7, 19), [1] * T, "streams masks"),
        (1, 6, (), [T], "streams"),
        (2, 2, (9, 4), None, "streams"),
    ):
        cases.append(
            stream_case(
                rng, draw_layer(rng, Spec(T, window, strides, True), B, 2, 3), cuts, 4, known=known
            )
        )
    cases.append(
        stream_case(rng, draw_layer(rng, Spec(300, 12, (37,), True), 1, 2, 3), [1, 150, 149], 5)
    )
    spec = Spec(int(rng.integers(30, 45)), 3, (8,), True)
    rotating = draw_layer(
        rng, spec, 2, 2, 6, dense=True, rope=True, block_size=13, max_positions=spec.n + 4
    )
    return [
        *cases,
        stream_case(rng, rotating, None, 3, known="angles"),
        stream_case(rng, draw_layer(rng, spec, 1, 2, 3), None, 3, in_turns=True),
    ]


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


@makes("6d-17-basic")
def caches(rng):
    """All kinds of windows and strides; rotating; interleaved with another stream; in float64."""
    T = int(rng.integers(40, 60))
    window, far = int(rng.integers(3, 7)), int(rng.integers(9, 15))
    rotating = {"dense": True, "rope": True, "block_size": 11, "max_positions": T + 3}
    cases = []
    for w, strides, B, limit, cuts, more in (
        (window, (far, 2), 2, 3, None, {"known": "streams"}),
        (0, (far,), 1, 4, None, {}),
        (0, (), 2, 3, None, {}),
        (window, (2, far), 1, 0, [T], {}),
        (far, (window,), 1, 6, [7] * 5 + [T - 35], {}),
        (window, (1,), 1, None, None, {"in_turns": True}),
        (window, (far,), 2, 2, None, {"dtype": "float64"}),
    ):
        cases.append(
            stream_case(
                rng,
                draw_layer(rng, Spec(T, w, strides, True), B, 2, 3),
                cuts,
                limit,
                share=0.2,
                **more,
            )
        )
    return [
        *cases,
        stream_case(rng, draw_layer(rng, Spec(T, 3, (6,), True), 1, 2, 4, **rotating), None, 3),
    ]


@makes("6d-19-basic")
def attention_limits(rng):
    """Global positions from an iterator."""
    return [
        sparse_case(rng, draw_spec(rng, causal, kind="iterator"), 1, 2, 7, "used up")
        for causal in (False, True)
    ]


@makes("6d-20-basic")
def module_limits(rng):
    """A table shorter than the dense module's; and no limit without rotation."""
    shorter = {"block_size": 64, "max_positions": 41, "rope": True, "dense": True}
    beyond = {"block_size": 7, "dense": True}
    return [
        layer_case(draw_layer(rng, draw_spec(rng, False, 40), 2, 2, 4, **shorter), "angles"),
        *(
            layer_case(draw_layer(rng, draw_spec(rng, True, 40), 1, 2, 4, **beyond, **more), "")
            for more in ({}, {"max_positions": 9})
        ),
    ]
