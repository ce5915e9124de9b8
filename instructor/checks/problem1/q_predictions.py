"""Questions 1e, 1f and 1h, hidden: predictions."""

from autograder import check
from checks.problem1.artifacts import judge_predictions


@check("1e-0-hidden", "1f-1-hidden", "1h-0-hidden")
def test_dev_predictions(student, context):
    """The weights reproduce the predictions, whatever the accuracy."""
    judge_predictions(student, context, "dev", threshold=False)


@check("1e-1-hidden", "1f-2-hidden", "1h-1-hidden")
def test_test_predictions(student, context):
    """The accuracy suffices on questions whose answers students don't have, and the weights
    reproduce the predictions.
    """
    judge_predictions(student, context, "test")
