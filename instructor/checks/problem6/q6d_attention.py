"""Questions 6d, step 2, and 6g: inputs of attention, long texts, and 6d's hidden checks."""

from checks.problem6.q6d_attention import ATTENTION, LONG
from instructor.checks.drawing import draws
from instructor.checks.problem6.q6d import draw_spec, edge_specs, spec

LARGE_SCORES = ", with scores of several thousand"


def inputs(rng, drawn, B, n_head, head_dim, dtype="float32", function="sparse_attention", **more):
    """The inputs of a call.

    Args:
        drawn: n, and the arguments besides q, k and v.
        more: replaces any of the inputs.
    """
    arguments = {name: value for name, value in drawn.items() if name != "n"}
    shape, seed = [B, n_head, drawn["n"], head_dim], int(rng.integers(2**31))
    given = {"function": function, "arguments": arguments, "shape": shape, "seed": seed}
    plain = {"dtype": dtype, "scale": 1.0, "transposed": False, "gradients": False}
    return {**given, **plain, "stretch": 1 + drawn["n"] // 60, **more}


@draws(ATTENTION, "6d-8-basic")
def outputs(rng):
    """A window over several blocks; all rules; windows wider than a block of a common size;
    float64, large scores, extremes.
    """
    calls, other = [], bool(rng.integers(2))
    for causal in (other, not other):
        window = spec(rng.integers(265, 300), rng.integers(20, 50), (), causal)
        several = draw_spec(rng, causal, rng.integers(290, 380), rng.integers(20, 50))
        large = draw_spec(rng, causal, kind="set")
        calls += [
            inputs(rng, window, 2, 3, 5),
            inputs(rng, several, 2, 3, 5, transposed=True),
            inputs(rng, draw_spec(rng, causal, several["n"], 30), 2, 3, 5),
            inputs(rng, draw_spec(rng, causal), 1, 2, 7, "float64"),
            (inputs(rng, large, 3, 2, 4, "float64", scale=3000.0), LARGE_SCORES),
        ]
    wide = draw_spec(rng, other, rng.integers(350, 440), rng.integers(130, 170))
    widest = draw_spec(rng, not other, 1300, rng.integers(520, 600))
    calls += [inputs(rng, wide, 1, 2, 3), inputs(rng, widest, 1, 1, 2)]
    return calls + [inputs(rng, edge, 2, 1, 3, "float64") for edge in edge_specs(rng)]


@draws(ATTENTION, "6d-15-basic", "6d-11-hidden")
def gradients(rng, large):
    """Over several blocks, in both directions and causal, in both dtypes; and extremes."""
    sizes = {"float32": 290 if large else 140, "float64": 150 if large else 40}
    windows = (10, 30) if large else (5, 12)
    drawn = [
        (draw_spec(rng, causal, rng.integers(n, n + 50), rng.integers(*windows)), dtype)
        for causal in (False, True)
        for dtype, n in sizes.items()
    ]
    drawn += [(each, "float64") for each in edge_specs(rng)]
    return [inputs(rng, each, 2, 3, 5, dtype, gradients=True) for each, dtype in drawn]


@draws(ATTENTION, "6d-19-basic")
def refusals(rng):
    """Positions from an iterator; and positions that do not exist."""
    both, causal = (draw_spec(rng, causal, kind="iterator") for causal in (False, True))
    outside = {**both, "chosen": [-1]}, {**causal, "chosen": [2, causal["n"]]}
    return [inputs(rng, each, 1, 2, 7) for each in (both, causal, *outside)]


def draw_long(rng, n: int, causal: bool) -> dict:
    """Draw a pattern of few connections. Dense attention over 20,000 positions takes several times
    as many seconds as right submissions.
    """
    far, chosen = rng.integers(n // 4, n // 2), rng.choice(n, 5, replace=False)
    return spec(n, rng.integers(40, 60), (far,), causal, chosen)


@draws(LONG, "6d-8-basic")
def long_text(rng):
    """A long text."""
    return [inputs(rng, draw_long(rng, 20_000, bool(rng.integers(2))), 1, 1, 4)]


@draws(LONG, "6d-16-basic", "6d-12-hidden")
def long_texts(rng):
    """A short text, in which dense attention is refused, too; the handout's window with four
    heads, all of whose weights need more memory than there is; and two long texts.
    """
    short, first = int(rng.integers(3900, 4090)), bool(rng.integers(2))
    near, far = rng.integers(220, 300), rng.integers(310, 500, 2)
    strides = rng.integers(0, 100, 4) + (900, 1900, 2900, 3900)
    few = spec(short, near, far, True, rng.choice(short, 20, replace=False))
    many = spec(8192, 512, strides, False, rng.choice(8192, 150, replace=False))
    longest = draw_long(rng, 20_000, first), draw_long(rng, 30_000, not first)
    sizes = (few, 1, 1, 4), (many, 1, 4, 8), *((each, 1, 1, 4) for each in longest)
    return [inputs(rng, *each) for each in sizes]
