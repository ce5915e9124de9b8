"""Question 5g, basic: a bag of words, training, accuracy, and the entropy of attention."""

from autograder import check
from checks.problem5.q5g.fitting import require_repetition
from checks.problem5.q5g.pieces import judge_pieces


@check("5g-1-basic")
def test_bag(student, cases):
    """Rows without and with PAD at the end."""
    judge_pieces(student, cases)


@check("5g-2-basic")
def test_training(student, rng, cases):
    """Batches with a smaller last one; seeds, dropout and the learning rate."""
    judge_pieces(student, cases)
    require_repetition(student, rng)


@check("5g-5-basic")
def test_accuracy(student, cases):
    """Numbers of sentences that fill batches and that don't."""
    judge_pieces(student, cases)


@check("5g-6-basic")
def test_entropy(student, cases):
    """Sentences of all lengths."""
    judge_pieces(student, cases)


@check("5g-7-basic")
def test_odd_cases(student, cases):
    """PAD anywhere, rows of only PAD; one sentence, one batch, batches of one."""
    judge_pieces(student, cases)
