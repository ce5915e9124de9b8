"""Question 5b, basic: the scaling experiment."""

from autograder import check
from checks.problem5.q5b.experiment import require_fast, require_measured


@check("5b-1-basic")
def test_experiment(student, cases):
    """Small sizes, which reveal a sample variance and sometimes saturate the scaled weights; then
    one row of the handout's table.
    """
    require_measured(student, cases)


@check("5b-3-basic")
def test_edges(student, cases):
    """A length of 1; weights that underflow; values near 0; the time. (The check's limit covers the
    memory.)
    """
    *_, timed = require_measured(student, cases)
    require_fast(student, cases[-1], timed)
