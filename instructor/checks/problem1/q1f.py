"""Question 1f: tasks for pretrain and finetune; and the hidden checks."""

from autograder import check
from checks.problem1.artifacts import judge_predictions
from checks.problem1.prepared import (
    ARGUMENTS,
    HYPERPARAMETERS,
    LOADED,
    WEIGHTS,
    require_prepared,
    with_final_tokens,
)
from instructor.checks.drawing import draws
from instructor.checks.problem1.prepared import ON_GPU, draw_task


@draws(HYPERPARAMETERS, "1f-0-basic")
def pretraining(rng):
    """With the default learning rate."""
    return [draw_task(rng, "pretrain")]


@draws(ARGUMENTS, "1f-7-basic", "1f-4-hidden")
def arguments(rng):
    """A learning rate of its own."""
    return [draw_task(rng, "pretrain", passed=True)]


@draws(LOADED, "1f-3-basic")
def finetuning(rng):
    """From pretrained weights."""
    return [draw_task(rng, "finetune", pretrained=True)]


@draws(WEIGHTS, "1f-8-basic", "1f-5-hidden")
def weights(rng, large):
    """Of the vanilla and of the RoPE model; and none."""
    loaded = [
        draw_task(rng, "finetune", large, pretrained=True, rope=rope, saved_on="cuda:0")
        for rope in (False, True)
    ]
    remarks = ON_GPU, f"{ON_GPU} by a model with RoPE"
    return [*zip(loaded, remarks), draw_task(rng, "finetune")]


@check("1f-4-hidden")
def test_arguments(student, calls):
    """As the basic check, and the block size counts."""
    require_prepared(with_final_tokens(ARGUMENTS), student, calls)


@check("1f-5-hidden")
def test_weights(student, calls):
    """As the basic check; the weights go with the right questions and the learning rate."""
    *loaded, fresh = calls
    require_prepared(ARGUMENTS, student, loaded)
    require_prepared(WEIGHTS, student, [fresh])


@check("1f-1-hidden")
def test_dev_predictions(student, rng, context):
    """The weights reproduce the predictions, whatever the accuracy."""
    judge_predictions(student, rng, context, "vanilla_eval_dev_with_pretrain", threshold=False)


@check("1f-2-hidden")
def test_test_predictions(student, rng, context):
    """The accuracy suffices on questions whose answers students don't have, and the weights
    reproduce the predictions.
    """
    judge_predictions(student, rng, context, "vanilla_eval_test_with_pretrain", threshold=True)
