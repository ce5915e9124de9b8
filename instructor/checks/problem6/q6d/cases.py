"""Cases for the basic checks of question 6d."""

from instructor.checks.makers import makes
from instructor.checks.problem6.q6d.layers import draw_layer, layer_case
from instructor.checks.problem6.q6d.patterns import Spec, draw_spec
from instructor.checks.problem6.q6d.runs import long_texts
from instructor.checks.problem6.q6d.stream_cases import stream_case


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
