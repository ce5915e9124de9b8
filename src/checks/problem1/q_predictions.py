"""Questions 1e, 1f and 1h, basic: predictions on the dev questions."""

from autograder import check
from checks.problem1.artifacts import judge_predictions


@check("1e-2-basic", "1f-6-basic", "1h-8-basic")
def test_dev_predictions(student, context):
    """The accuracy suffices, and the weights reproduce the predictions."""
    judge_predictions(student, context, "dev")
