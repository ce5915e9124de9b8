"""Question 1e, basic: predictions without pretraining."""

from autograder import check
from checks.problem1.artifacts import judge_predictions


@check("1e-2-basic")
def test_dev_predictions(student, rng, context):
    """The accuracy suffices, and the weights reproduce the predictions."""
    judge_predictions(student, rng, context, "vanilla_eval_dev_without_pretrain", threshold=True)
