"""Question 1d, hidden: the vanilla model's values, and finetuning with other arguments."""

from autograder import check
from checks.problem1.models import require_model
from checks.problem1.prepared import require_finetuning
from instructor.checks.problem1.gpt import model_case


@check("1d-0-hidden")
def test_vanilla_model(student, rng):
    """Logits and loss against float64, for sizes that are all different."""
    require_model(student, model_case(rng, "initialize_vanilla_model", rope=False))


@check("1d-2-hidden")
def test_arguments(student, rng):
    """finetune uses the learning rate, questions file, vocabulary, model and block size passed
    in.
    """
    require_finetuning(
        student, rng, final_tokens=lambda given: 200 * given.documents * given.block_size
    )
