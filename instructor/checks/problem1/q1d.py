"""Question 1d, hidden: the vanilla model's values, and finetuning with other arguments."""

from autograder import check
from checks.problem1.models import MODEL, require_models
from checks.problem1.prepared import require_finetuning
from instructor.checks.drawing import draws
from instructor.checks.problem1.models import draw_model


@draws(MODEL, "1d-4-basic", "1d-0-hidden")
def vanilla(rng, large):
    """Models created by initialize_vanilla_model."""
    return [draw_model(rng, "initialize_vanilla_model", large) for _ in range(2)]


@check("1d-0-hidden")
def test_vanilla_model(student, calls):
    """Other sizes and numbers of layers; tokens that are read piece by piece."""
    require_models(student, calls)


@check("1d-2-hidden")
def test_arguments(student, rng):
    """finetune uses the learning rate, questions file, vocabulary, model and block size passed
    in.
    """
    require_finetuning(
        student, rng, final_tokens=lambda given: 200 * given.documents * given.block_size
    )
