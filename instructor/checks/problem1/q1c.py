"""Question 1c, hidden: the basic checks' rules with other block sizes and documents.

Each rule in src/checks/problem1/q1c states how rarely a correct submission fails it by chance.
"""

from autograder import check
from checks.problem1.q1c.epoch import require_epoch
from checks.problem1.q1c.examples import draw_examples
from checks.problem1.q1c.randomness import (
    require_ends,
    require_masked,
    require_start,
    require_truncated,
    take_apart,
)
from checks.problem1.q1c.short import require_short
from checks.problem1.random_texts import random_corpus


@check("1c-4-hidden")
def test_distributions(student, rng):
    """Truncated lengths in a small block; masked lengths and starts in a large one."""
    block_size = int(rng.integers(25, 33))
    text = random_corpus(rng, rng.integers(block_size + 1, 2 * block_size, size=4))
    spans = take_apart(draw_examples(student, text, block_size, 1500))
    require_truncated(student, spans.length, block_size)
    block_size = int(rng.integers(112, 145))
    text = random_corpus(rng, rng.integers(block_size + 1, 2 * block_size, size=4))
    spans = take_apart(draw_examples(student, text, block_size, 1200))
    require_masked(student, spans)
    require_start(spans)


@check("1c-5-hidden")
def test_ends(student, rng):
    """Prefix and suffix may be empty, in a smaller block."""
    block_size = int(rng.integers(90, 113))
    text = random_corpus(rng, rng.integers(block_size + 1, 2 * block_size, size=3))
    require_ends(student, take_apart(draw_examples(student, text, block_size, 1700)))


@check("1c-6-hidden")
def test_short_documents(student, rng):
    """Short documents and texts; the tiny ones with another block size."""
    require_short(student, rng, int(rng.integers(48, 57)))


@check("1c-7-hidden")
def test_epoch(student, rng):
    """An epoch drawn by a DataLoader with two workers, and the vocabulary, with a larger block."""
    require_epoch(student, rng, int(rng.integers(60, 90)))
