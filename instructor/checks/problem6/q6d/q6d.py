"""Question 6d, hidden: gradients, work and memory, the stream's cache, rotation."""

from autograder import check
from checks.problem6.q6d.rows import require_each
from checks.problem6.q6d.sparse import require_gradients, run_cases
from checks.problem6.q6d.sparse_layers import require_layer, run_layers
from checks.problem6.q6d.streams import require_cache, require_stream, run_streams
from checks.problem6.q6d.work import require_few_flops, require_little_work
from instructor.checks.problem6.q6d.attention import sparse_case
from instructor.checks.problem6.q6d.layers import draw_layer, layer_case
from instructor.checks.problem6.q6d.patterns import Spec, draw_spec, edge_specs
from instructor.checks.problem6.q6d.runs import growing_runs, long_texts
from instructor.checks.problem6.q6d.stream_cases import stream_case


@check("6d-11-hidden")
def test_gradients(student, rng):
    """Over several blocks, extremes, in both dtypes; and less work than dense attention."""
    cases = []
    for causal in (False, True):
        for dtype, n in (
            ("float32", int(rng.integers(290, 400))),
            ("float64", int(rng.integers(150, 200))),
        ):
            spec = draw_spec(rng, causal, n, int(rng.integers(10, 30)))
            cases.append(
                sparse_case(
                    rng, spec, 2, 3, 5, "scales masks pieces", dtype=dtype, with_gradients=True
                )
            )
    cases += [
        sparse_case(rng, spec, 1, 2, 3, dtype="float64", with_gradients=True)
        for spec in edge_specs(rng)
    ]
    require_each(run_cases(student, cases), require_gradients)
    require_little_work(student, long_texts(rng))


@check("6d-12-hidden")
def test_work(student, rng):
    """Connections and FLOPs; the memory of a long text with 8 heads; the seconds of 75,000."""
    runs = growing_runs(rng)
    require_few_flops(student, [case for case in runs if "times" in case.about])
    require_little_work(student, [case for case in runs if "dense" in case.about])


@check("6d-13-hidden")
def test_cache(student, rng):
    """The positions and bytes of the cache after each call, for all kinds of windows and strides,
    short and long streams.
    """
    T = int(rng.integers(50, 70))
    window, far = int(rng.integers(3, 7)), int(rng.integers(9, 15))
    cases = []
    for w, strides, B, limit, cuts in (
        (window, (far, 2), 2, 3, None),
        (window, (), 1, 5, [1] * T),
        (0, (far,), 1, 4, None),
        (0, (), 2, 3, None),
        (window, (2, far), 1, 0, [T]),
        (far, (window,), 1, 6, [7] * 6 + [T - 42]),
        (T + 5, (far,), 1, 2, None),
        (window, (1,), 1, None, None),
    ):
        cases.append(
            stream_case(
                rng,
                draw_layer(rng, Spec(T, w, strides, True), B, 2, 3),
                cuts,
                limit,
                share=0.2,
                known="streams",
                in_turns=bool(rng.integers(2)),
            )
        )
    rotating = draw_layer(
        rng,
        Spec(T, 4, (9,), True),
        2,
        2,
        4,
        dense=True,
        rope=True,
        block_size=17,
        max_positions=T + 3,
    )
    cases.append(stream_case(rng, rotating, None, 3, known="streams angles"))
    require_each(run_streams(student, cases), require_cache)


@check("6d-14-hidden")
def test_rotation(student, rng):
    """A rotating dense module, at its own length and stretched; also in a stream."""
    T = int(rng.integers(22, 30))
    every, causal = Spec(T, T + 2, (), True), draw_spec(rng, True, 40)
    common = {"dense": True, "rope": True}
    stretched = draw_layer(rng, causal, 2, 2, 6, block_size=13, max_positions=47, **common)
    layers = [
        draw_layer(rng, every, 2, 3, 4, block_size=T, **common),
        draw_layer(rng, causal, 1, 2, 6, block_size=64, **common),
        draw_layer(rng, draw_spec(rng, False, 40), 2, 2, 4, block_size=41, **common),
        stretched,
        draw_layer(rng, every, 1, 2, 6, block_size=T + 3, max_positions=5 * T, **common),
    ]
    require_each(run_layers(student, [layer_case(layer) for layer in layers]), require_layer)
    streams = [
        stream_case(rng, layer, max_global=3, known="angles") for layer in (layers[1], stretched)
    ]
    require_each(run_streams(student, streams), require_stream)
