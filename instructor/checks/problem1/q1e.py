"""Question 1e, hidden: predictions without pretraining."""

from autograder import check
from instructor.checks.problem1.genuine import judge_results


@check("1e-0-hidden")
def test_dev_predictions(student, rng, context):
    """A larger sample, that nobody could know, comes from the weights."""
    judge_results(student, rng, context, "vanilla_eval_dev_without_pretrain", threshold=False)


@check("1e-1-hidden")
def test_test_predictions(student, rng, context):
    """Accuracy on questions whose answers students don't have; and the predictions come from the
    weights.
    """
    judge_results(student, rng, context, "vanilla_eval_test_without_pretrain", threshold=True)
