"""Question 5b, hidden: the scaling experiment with other sizes and seeds, and its cost."""

from autograder import check
from checks.problem5.q5b.experiment import require_fast, require_measured
from instructor.checks.problem5.q5b.cases import draw_seed
from instructor.checks.problem5.q5b.scaling import scaling_case


@check("5b-2-hidden")
def test_sizes(student, rng):
    """Few and many features; the defaults; the time. (The check's limit covers the memory.)"""

    def size(low, high):
        return int(rng.integers(low, high))

    cases = [
        scaling_case(d_k=size(3, 9), n_query=size(20, 40), n_key=size(5, 9), seed=draw_seed(rng)),
        scaling_case(
            d_k=size(100, 200),
            n_query=2 * size(50, 100) + 1,
            n_key=size(70, 90),
            seed=draw_seed(rng),
        ),
        scaling_case(d_k=size(3, 9), n_query=size(5, 9), n_key=size(20, 40)),
        scaling_case(d_k=1024),
    ]
    *_, timed = require_measured(student, cases)
    require_fast(student, cases[-1], timed)
