"""Cases whose work is measured: long texts, and runs whose connections and FLOPs are counted."""

import numpy as np

from checks.problem6.q6d.work import FLOPS, long_inputs
from checks.support.cases import Case
from instructor.checks.problem6.q6d.attention import attend, draw_seed
from instructor.checks.problem6.q6d.patterns import Spec, connected, count

ROWS = 30  # of a long text's result, drawn at random


def long_case(rng, inputs: dict, special: list[int], mask_of, dense: list[int]) -> Case:
    """Make a case of a long text, with the right result of some rows.

    Args:
        inputs: the call, n, n_head and head_dim.
        special: rows to include.
        mask_of: returns the rows of the pattern for an array of them.
        dense: the lengths of the texts over which dense attention would take far longer.
    """
    inputs = {"module": False, "seed": draw_seed(rng), **inputs}
    n = inputs["n"]
    rows = np.array(sorted({0, n - 1, *special, *rng.choice(n, ROWS, replace=False).tolist()}))
    q, k, v = (x.astype(float) for x in long_inputs.function(inputs))
    if inputs["module"]:
        k = v = q
    right = attend(q[:, :, rows], k, v, mask_of(rows))[0].astype("float32")
    return Case(inputs, right, about={"rows": rows.tolist(), "dense": list(dense)})


def text(rng, spec: Spec, n_head: int, head_dim: int, dense: bool, **more) -> Case:
    """Make a long text of sparse_attention; dense: whether its seconds are measured."""
    inputs = {"spec": spec.data, "n": spec.n, "n_head": n_head, "head_dim": head_dim, **more}
    rows, lengths = list(spec.chosen[:3]), [spec.n] * dense
    return long_case(rng, inputs, rows, lambda rows: connected(spec, rows), lengths)


def long_texts(rng, longest: int = 40_000, **more) -> list[Case]:
    """Make two long texts with few connections, one of them causal."""
    first, cases = bool(rng.integers(2)), []
    for n, causal in ((10_000, first), (longest, not first)):
        far = int(rng.integers(n // 4, n // 2))
        spec = Spec(n, int(rng.integers(40, 60)), (far,), causal, _chosen(rng, n, 5))
        cases.append(text(rng, spec, 1, 4, True, **more))
    return cases


def growing_runs(rng) -> list[Case]:
    """Make long texts, one with the handout's pattern and 8 heads, whose memory counts; and two
    runs whose connections and FLOPs are counted.
    """
    strides = tuple(int(s) for s in (900, 1900, 2900, 3900) + rng.integers(0, 100, 4))
    many = Spec(10_000, 512, strides, False, _chosen(rng, 10_000, 150))
    # Dense attention is refused in a short text, too.
    short, n = int(rng.integers(3900, 4090)), int(rng.choice((6144, 8192)))
    near, far = int(rng.integers(220, 300)), tuple(int(s) for s in rng.integers(310, 500, 2))
    counted = []
    for spec, head_dim in (
        (Spec(short, near, far, True, _chosen(rng, short, 20)), 4),
        (Spec(n, 512, strides, False, _chosen(rng, n, 150)), 64),
    ):
        right = count(spec)
        times = spec.n**2 / 2 / right if spec.causal else FLOPS
        inputs = {"spec": spec.data, "head_dim": head_dim}
        counted.append(Case(inputs, right, about={"times": times}))
    return [*counted, text(rng, many, 8, 8, False), *long_texts(rng, 75_000)]


def _chosen(rng, n, number):
    return tuple(rng.choice(n, number, replace=False).tolist())
