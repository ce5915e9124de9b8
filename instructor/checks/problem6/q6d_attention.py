"""Question 6d: inputs of sparse_attention, long texts, and the hidden checks of its second step."""

from autograder import check
from checks.problem6.q6d_attention import ATTENTION
from checks.problem6.q6d_work import COUNTED, LONG, require_work
from instructor.checks.drawing import draws
from instructor.checks.problem6.q6d import draw_spec, edge_specs, spec

LARGE_SCORES = ", with scores of several thousand"


@check("6d-11-hidden", "6d-12-hidden")
def test_attention(student, calls):
    """As the basic checks, with other sizes."""
    require_work(student, calls)


def inputs(rng, drawn: dict, B: int, n_head: int, head_dim: int, dtype="float32", **more) -> dict:
    """The inputs of a call of sparse_attention.

    Args:
        drawn: a pattern, as `spec` makes it.
        more: replaces any of them.
    """
    pattern = {name: drawn[name] for name in ("pattern", "chosen", "kind")}
    shape = [B, n_head, drawn["n"], head_dim]
    plain = {"scale": 1.0, "transposed": False, "gradients": False, "stretch": 1 + drawn["n"] // 60}
    seed = int(rng.integers(2**31))
    return {"shape": shape, "dtype": dtype, **pattern, **plain, "seed": seed, **more}


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
    """Over several blocks, in both directions and causal, in both dtypes; and extremes, of which
    the basic check has some.
    """
    sizes = [("float32", (140, 180), (5, 12)), ("float64", (40, 50), (5, 12))]
    if large:
        sizes = [("float32", (290, 400), (10, 30)), ("float64", (150, 200), (10, 30))]
    calls = [
        inputs(
            rng,
            draw_spec(rng, causal, rng.integers(*n), rng.integers(*window)),
            *(2, 3, 5),
            dtype,
            gradients=True,
        )
        for causal in (False, True)
        for dtype, n, window in sizes
    ]
    edges = edge_specs(rng, short=not large)
    some = edges if large else [edges[i] for i in rng.permutation(len(edges))[:4]]
    return calls + [inputs(rng, edge, 1, 2, 3, "float64", gradients=True) for edge in some]


@draws(ATTENTION, "6d-19-basic")
def refusals(rng):
    """Positions from an iterator; and positions that do not exist."""
    both, causal = (draw_spec(rng, causal, kind="iterator") for causal in (False, True))
    outside = {**both, "chosen": [-1]}, {**causal, "chosen": [2, causal["n"]]}
    return [inputs(rng, each, 1, 2, 7) for each in (both, causal, *outside)]


def text(rng, drawn: dict, n_head: int, head_dim: int, function="sparse_attention") -> dict:
    """The inputs of a call on a long text. In a short one, operations of torch are counted."""
    n = drawn["n"]
    arguments = {name: drawn[name] for name in ("pattern", "chosen", "kind")}
    operations = 2 * n if n <= 12_000 else None
    common = {"shape": [1, n_head, n, head_dim], "seed": int(rng.integers(2**31))}
    return {"function": function, **common, "operations": operations, "arguments": arguments}


def two_texts(rng, longest: int, function="sparse_attention") -> list[dict]:
    """Two long texts with few connections, one of them causal."""
    first, calls = bool(rng.integers(2)), []
    for n, causal in ((10_000, first), (longest, not first)):
        chosen = rng.choice(n, 5, replace=False)
        far = (rng.integers(n // 4, n // 2),)
        drawn = spec(n, rng.integers(40, 60), far, causal, chosen)
        calls.append(text(rng, drawn, 1, 4, function))
    return calls


@draws(LONG, "6d-8-basic", "6d-11-hidden")
def long_texts(rng):
    """Up to 40,000 positions."""
    return two_texts(rng, 40_000)


@draws(COUNTED, "6d-16-basic", "6d-12-hidden")
def counted(rng):
    """A short text, in which dense attention is refused, too; and the handout's window."""
    short, n = rng.integers(3900, 4090), int(rng.choice((6144, 8192)))
    near, far = rng.integers(220, 300), rng.integers(310, 500, 2)
    return [
        {"head_dim": 4, **spec(short, near, far, True, rng.choice(short, 20, replace=False))},
        {"head_dim": 64, **spec(n, 512, _strides(rng), False, rng.choice(n, 150, replace=False))},
    ]


@draws(LONG, "6d-16-basic", "6d-12-hidden")
def longest_texts(rng):
    """The handout's pattern with 8 heads, whose memory counts; and up to 75,000 positions."""
    chosen = rng.choice(10_000, 150, replace=False)
    many = spec(10_000, 512, _strides(rng), False, chosen)
    return [text(rng, many, 8, 8), *two_texts(rng, 75_000)]


def _strides(rng):
    return rng.integers(0, 100, 4) + (900, 1900, 2900, 3900)
