"""Question 1f, basic: pretraining, and finetuning from pretrained weights."""

from autograder import check
from checks.problem1.prepared import ARGUMENTS, HYPERPARAMETERS, LOADED, WEIGHTS, require_prepared


@check("1f-0-basic")
def test_pretrain(student, calls):
    """The hyperparameters of pretraining."""
    require_prepared(HYPERPARAMETERS, student, calls)


@check("1f-7-basic")
def test_arguments(student, calls):
    """pretrain uses the dataset, model and learning rate passed in."""
    require_prepared(ARGUMENTS, student, calls)


@check("1f-3-basic")
def test_finetune(student, calls):
    """finetune loads the pretrained weights into the model and uses the hyperparameters for that
    case.
    """
    require_prepared(LOADED, student, calls)


@check("1f-8-basic")
def test_weights(student, calls):
    """Weights of either model load, also if saved on a GPU; none are loaded without a path."""
    require_prepared(WEIGHTS, student, calls)
