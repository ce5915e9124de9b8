"""Question 1c, hidden: the basic checks' rules with other block sizes and documents.

Each rule in src/checks/problem1/q1c_randomness.py states how rarely a correct submission fails
it by chance.
"""

from autograder import check
from checks.problem1.q1c import require_epoch, require_short
from checks.problem1.q1c_corruption import draw_long
from checks.problem1.q1c_randomness import (
    require_ends,
    require_masked,
    require_start,
    require_truncated,
)

SMALL, LARGE = (17, 19), range(112, 137)


@check("1c-4-hidden")
def test_distributions(student):
    """Truncated lengths in a small block; masked lengths and starts in a large one."""
    require_truncated(student, draw_long(student, SMALL, 600))
    spans = draw_long(student, LARGE, 1000).spans()
    require_masked(student, spans)
    require_start(spans)


@check("1c-5-hidden")
def test_ends(student):
    """Prefix and suffix may be empty."""
    require_ends(student, draw_long(student, LARGE, 1000).spans())


@check("1c-6-hidden")
def test_short_documents(student, rng):
    """Short documents and texts; the tiny ones with another block size."""
    long = draw_long(student, SMALL, 600)
    require_short(student, rng, long, int(rng.integers(19, 22)))


@check("1c-7-hidden")
def test_epoch(student, rng):
    """An epoch drawn by a DataLoader with two workers, and the vocabulary, with a larger block."""
    require_epoch(student, rng, int(rng.integers(60, 90)))
