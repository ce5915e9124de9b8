"""Question 1d: models, tasks for finetune, a table to train; and the hidden checks."""

import numpy as np

from autograder import check
from checks.problem1.models import MODEL, require_models
from checks.problem1.prepared import ALL_ARGUMENTS, ARGUMENTS, HYPERPARAMETERS, require_prepared
from checks.problem1.q1d import TRAINED
from instructor.checks.drawing import draws
from instructor.checks.problem1.models import draw_model
from instructor.checks.problem1.prepared import draw_task


@draws(MODEL, "1d-4-basic", "1d-0-hidden")
def vanilla(rng, large):
    """A model created by initialize_vanilla_model."""
    return [draw_model(rng, "initialize_vanilla_model", large)]


@draws(HYPERPARAMETERS, "1d-1-basic")
def finetuning(rng):
    """From scratch, with the default learning rate."""
    return [draw_task(rng, "finetune")]


@draws(ARGUMENTS, "1d-5-basic", "1d-2-hidden")
def arguments(rng):
    """From scratch, with a learning rate of its own."""
    return [draw_task(rng, "finetune", passed=True)]


@draws(TRAINED, "1d-3-basic")
def trainings(rng):
    """A fixed order of the tokens 1 to 10, all but excluded at first."""
    order = rng.permutation(np.arange(1, 11))
    table = (0.1 * rng.standard_normal((11, 11))).astype(np.float32)
    table[order, np.roll(order, -1)] = -1.0  # drawn, so a submission cannot know it in advance
    return [{"table": table, "rows": np.stack([np.roll(order, -i) for i in range(10)])}]


@check("1d-0-hidden")
def test_vanilla_model(student, calls):
    """Other sizes and numbers of layers; tokens that are read piece by piece."""
    require_models(student, calls)


@check("1d-2-hidden")
def test_arguments(student, calls):
    """As the basic check, and the block size counts."""
    require_prepared(ALL_ARGUMENTS, student, calls)
