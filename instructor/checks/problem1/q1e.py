"""Question 1e, hidden: predictions without pretraining."""

from autograder import check
from instructor.checks.problem1.genuine import judge_results


@check("1e-0-hidden")
def test_dev_predictions(student, rng, context):
    """The weights reproduce a larger, unpredictable sample."""
    judge_results(student, rng, context, "vanilla_eval_dev_without_pretrain", threshold=False)


@check("1e-1-hidden")
def test_test_predictions(student, rng, context):
    """The accuracy suffices on questions whose answers students don't have, and the weights
    reproduce the predictions.
    """
    judge_results(student, rng, context, "vanilla_eval_test_without_pretrain", threshold=True)
