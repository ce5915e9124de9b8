"""Cases for the basic checks of question 5e."""

import numpy as np

from checks.support.cases import Case
from instructor.checks.makers import makes
from instructor.checks.problem5.encoder import sinusoids
from instructor.checks.problem5.q5d import draw_padding
from instructor.checks.problem5.q5e.build import (
    draw_rate,
    draw_scattered,
    draw_tokens,
    dropping_case,
    encoder_case,
    layer_case,
    norm_case,
    silent_case,
)
from instructor.checks.problem5.q5e.norm_mistakes import table_mistakes


@makes("5e-0-basic")
def tables(rng, small=False):
    """Tables of several sizes; when staff grade, wider than any released one."""
    wider = 0 if small else 2 * int(rng.integers(6, 20))
    sizes = [
        (int(rng.integers(5, 8)), 2 * int(rng.integers(3, 6)) + wider),
        (1, 4),
        (3, 2),
        (int(rng.integers(20, 25)), 16 + wider),
    ]
    return [
        Case(
            {"max_len": max_len, "n_embd": n},
            sinusoids(max_len, n),
            [] if i else table_mistakes(max_len, n),
        )
        for i, (max_len, n) in enumerate(sizes)
    ]


@makes("5e-1-basic")
def norms(rng):
    """Ordinary vectors and vectors of tiny variance, where eps matters; any number of axes;
    gradients.
    """
    shape = (2, 3, 5)
    tiny, small, plain, double = (rng.standard_normal(shape) for _ in range(4))
    return [
        norm_case(rng, 0.004 * tiny + 0.002, mistakes=True),
        norm_case(rng, 0.05 * small, mistakes=True, eps=1e-3),
        norm_case(rng, 2 * plain + 1),
        norm_case(rng, rng.standard_normal(7)),
        norm_case(rng, rng.standard_normal((2, 3, 1, 5))),
        norm_case(rng, double, dtype="float64", upstream=rng.standard_normal(shape)),
    ]


@makes("5e-9-basic")
def rare_norms(rng):
    """Vectors of equal entries, with gradients, and entries of thousands that differ by ones."""
    shape = (2, 3, 8)
    # Every way to compute their mean gives exactly the same. In float64, since x * a + (bias - mean
    # * a) is also correct, but loses more than is allowed in float32.
    flat = np.tile(rng.integers(-9, 9, (2, 3, 1)) / 4, 8)
    # Their squares have a mean of 2 to 12 million, which float32 resolves to a quarter at best; the
    # variances are 1.71 and 1.125.
    sign, middle = float(rng.choice([-1, 1])), int(rng.integers(2500, 3500))
    first, second = (
        rng.permuted(np.tile(np.linspace(-end, end, n), (2, 3, 1)), axis=-1)
        for end, n in ((2, 8), (1.5, 5))
    )
    cause = (
        "the variance is computed as the mean of x ** 2 minus the square of the mean. Both are "
        "large here, and rounding destroys their difference. Subtract the mean from x first, then "
        "square."
    )
    return [
        norm_case(
            rng,
            rng.standard_normal(shape),
            cause="it is wrong for ordinary vectors, too. See 5e-1-basic.",
        ),
        norm_case(rng, flat, dtype="float64", upstream=rng.standard_normal(shape)),
        norm_case(rng, sign * middle + first, large=True, cause=cause),
        norm_case(rng, sign * (middle // 2 + 200) + second, large=True, cause=cause),
    ]


LAYER = {"B": 2, "T": 5, "n_head": 3, "head_dim": 2, "n_hidden": 5}


@makes("5e-2-basic")
def pre_norm_layers(rng):
    """With and without padding; dropout in evaluation and in training."""
    p = draw_rate(rng)
    return [
        layer_case(rng, **LAYER),
        layer_case(rng, **LAYER, padding=draw_padding(rng, 2, 5), dropout=p, mistakes="masks"),
        dropping_case(rng, p),
    ]


SMALL = {"vocab_size": 9, "max_len": 7, "n_classes": 6, "n_embd": 4, "n_head": 2, "n_hidden": 5}


@makes("5e-3-basic")
def encoders(rng):
    """The defaults, with PAD at the end; sentences shorter than max_len and of that length;
    gradients.
    """
    longest, one = SMALL["max_len"], {**SMALL, "n_layer": 1, "n_embd": 6, "n_head": 3}
    upstream = rng.standard_normal((2, SMALL["n_classes"]))
    return [
        encoder_case(rng, draw_tokens(rng, SMALL, 3, longest - 2), SMALL),
        encoder_case(rng, draw_tokens(rng, one, 4, longest), one, "none"),
        encoder_case(
            rng,
            draw_tokens(rng, one, 2, longest - 1),
            one,
            "none",
            upstream=upstream,
            dtype="float64",
        ),
    ]


@makes("5e-7-basic")
def post_norm(rng):
    """A layer with and without padding; dropout in evaluation and in training; an encoder of three
    layers.
    """
    p, config = draw_rate(rng), {**SMALL, "pre_norm": False, "n_layer": 3}
    return [
        layer_case(rng, **LAYER, pre_norm=False),
        layer_case(
            rng,
            **LAYER,
            pre_norm=False,
            padding=draw_padding(rng, 2, 5),
            dropout=p,
            mistakes="masks",
        ),
        dropping_case(rng, p, "attention"),
        dropping_case(rng, p, "feed-forward part"),
        encoder_case(rng, draw_tokens(rng, config, 3, 5), config, "none"),
    ]


@makes("5e-8-basic")
def poolings(rng):
    """Poolings, learned positions and none; dropout only in the layers."""
    cases = []
    for positions, pooling in (("learned", "mean"), ("none", "cls"), ("learned", "none")):
        config = {**SMALL, "positions": positions, "pooling": pooling, "n_layer": 1, "n_classes": 3}
        cases.append(encoder_case(rng, draw_tokens(rng, config, 3, 5), config, "own"))
    return [*cases, silent_case(rng, {**SMALL, "n_layer": 1}, 3, 5)]


@makes("5e-10-basic")
def rare_tokens(rng):
    """PAD anywhere, also in front; a row of only PAD."""
    cases = []
    for pooling in ("mean", "cls", "none"):
        config = {**SMALL, "pooling": pooling, "n_layer": 1}
        cases.append(encoder_case(rng, draw_scattered(rng, config, 4, 5), config, "none"))
    return cases
