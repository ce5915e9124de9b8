"""Question 6d, hidden: gradients, work and memory, the stream's cache, rotation."""

from autograder import check
from checks.problem6.q6d.rows import require_each
from checks.problem6.q6d.sparse_layers import require_layer, run_layers
from checks.problem6.q6d.streams import require_cache, require_stream, run_streams
from instructor.checks.problem6.q6d.layers import draw_layer, layer_case
from instructor.checks.problem6.q6d.patterns import Spec, draw_spec
from instructor.checks.problem6.q6d.stream_cases import stream_case


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
