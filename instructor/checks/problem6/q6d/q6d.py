"""Question 6d, hidden: gradients, work and memory."""

from autograder import check
from checks.problem6.q6d.rows import require_each
from checks.problem6.q6d.sparse import require_gradients, run_cases
from checks.problem6.q6d.work import require_few_flops, require_little_work
from instructor.checks.problem6.q6d.attention import sparse_case
from instructor.checks.problem6.q6d.patterns import draw_spec, edge_specs
from instructor.checks.problem6.q6d.runs import growing_runs, long_texts


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
