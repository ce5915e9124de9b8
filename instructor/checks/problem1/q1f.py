"""Question 1f: tasks for pretrain and finetune; and the hidden checks."""

from autograder import check
from checks.problem1.prepared import (
    ALL_ARGUMENTS,
    ARGUMENTS,
    HYPERPARAMETERS,
    LOADED,
    WEIGHTS,
    require_prepared,
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
        draw_task(rng, "finetune", large, pretrained=True, positions=kept, saved_on="cuda:0")
        for kept in (True, False)
    ]
    remarks = ON_GPU, f"{ON_GPU} by a model with RoPE"
    return [*zip(loaded, remarks), draw_task(rng, "finetune")]


@check("1f-4-hidden")
def test_arguments(student, calls):
    """As the basic check, and the block size counts."""
    require_prepared(ALL_ARGUMENTS, student, calls)


@check("1f-5-hidden")
def test_weights(student, calls):
    """As the basic check; the weights go with the right questions and the learning rate."""
    *loaded, fresh = calls
    require_prepared(ARGUMENTS, student, loaded)
    require_prepared(WEIGHTS, student, [fresh])
