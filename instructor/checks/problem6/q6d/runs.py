"""Cases whose work is counted: runs of sparse_attention, with their patterns' numbers of
connections.
"""

from checks.support.cases import Case
from instructor.checks.problem6.q6d.patterns import Spec, count


def work_case(inputs: dict, connections: int, width: int, length: int) -> Case:
    """Make a case of a run, with its connections, their FLOPs, and those of dense attention."""
    about = {"connections": connections, "flops": 4 * width * connections}
    return Case(inputs, about=about | {"dense": 4 * width * length * length})


def run_of(spec: Spec, n_head: int, head_dim: int, memory: int) -> Case:
    """Make a run that is stopped if it takes more bytes of memory."""
    inputs = {"spec": spec.data, "n_head": n_head, "head_dim": head_dim, "memory": memory}
    return work_case(inputs, count(spec), n_head * head_dim, spec.n)


def short_runs(rng) -> list[Case]:
    """Make runs of a pattern with few connections, bidirectional and causal: dense attention would
    do far more work.
    """
    n = int(rng.integers(2900, 3100))
    far, chosen = int(rng.integers(1000, 1400)), _chosen(rng, n, 5)
    return [
        run_of(Spec(n, int(rng.integers(40, 60)), (far,), causal, chosen), 1, 3, 1 << 30)
        for causal in (False, True)
    ]


def growing_runs(rng, lengths: tuple[int, int, int, int, int]) -> list[Case]:
    """Make runs for `work.require_growth`: two lengths, causal; two, bidirectional; and one with 8
    heads.
    """
    # Far apart, and short enough that most lead inside the text, as in a long one.
    strides = tuple(int(s) for s in (900, 1900, 2900, 3900) + rng.integers(0, 100, 4))
    near, far = int(rng.integers(220, 300)), tuple(int(s) for s in rng.integers(310, 500, 2))
    runs = [
        run_of(Spec(n, near, far, True, _chosen(rng, n, 20)), 1, 4, 1 << 28) for n in lengths[:2]
    ]
    runs += [
        run_of(Spec(n, 512, strides, False, _chosen(rng, n, 150)), 1, 64, 1 << 29)
        for n in lengths[2:4]
    ]
    return runs + [
        run_of(Spec(lengths[4], 512, strides, False, _chosen(rng, lengths[4], 150)), 8, 64, 1 << 30)
    ]


def _chosen(rng, n, number):
    return tuple(rng.choice(n, number, replace=False).tolist())
