"""Question 5g, basic: a bag of words, accuracy, training, and the entropy of attention."""
import numpy as np

from autograder import check
from checks.classify import draw_weights, judge_accuracy, judge_bag, require_entropy, run_entropy
from checks.fitting import draw_case, require_training, train


@check("5g-1-basic")
def test_bag_and_accuracy(student, rng):
    """Rows without and with PAD at the end; sentences that fill batches and that don't."""
    vocab_size, T = int(rng.integers(11, 17)), int(rng.integers(5, 9))
    full = rng.integers(1, vocab_size, size=(3, T))
    lengths = rng.permutation([1, T - 2, T, T + 2])[:, None]
    padded = np.where(np.arange(T + 2) < lengths, rng.integers(1, vocab_size, size=(4, T + 2)), 0)
    judge_bag(student, rng, [full, padded], vocab_size)
    judge_accuracy(student, rng, [(24, 8, False), (int(rng.integers(10, 14)), 8, True), (19, None, False)])


@check("5g-2-basic")
def test_training_and_entropy(student, rng):
    """Batches with a smaller last one."""
    case = draw_case(rng, 16 * int(rng.integers(4, 7)) + int(rng.integers(2, 6)), epochs=6, batch_size=16)
    require_training(case, train(student, [case])[0])
    weights, mask = draw_weights(rng, 3, int(rng.choice([2, 4])), int(rng.integers(5, 9)))
    require_entropy(student.run(run_entropy, cases=[(weights, mask)]).items(1)[0], weights, mask)
