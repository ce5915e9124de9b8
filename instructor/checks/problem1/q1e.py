"""Question 1e, hidden: predictions without pretraining."""

from autograder import check
from checks.problem1.artifacts import judge_predictions


@check("1e-0-hidden")
def test_dev_predictions(student, rng, context):
    """The weights reproduce the predictions, whatever the accuracy."""
    judge_predictions(student, rng, context, "vanilla_eval_dev_without_pretrain", threshold=False)


@check("1e-1-hidden")
def test_test_predictions(student, rng, context):
    """The accuracy suffices on questions whose answers students don't have, and the weights
    reproduce the predictions.
    """
    judge_predictions(student, rng, context, "vanilla_eval_test_without_pretrain", threshold=True)
