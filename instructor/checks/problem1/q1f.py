"""Question 1f, hidden: pretraining with other arguments, and pretrained weights of all kinds."""

from autograder import check
from checks.problem1.artifacts import judge_predictions
from checks.problem1.prepared import (
    require_fields,
    require_pretrained,
    require_pretraining,
    require_questions,
    require_same_model,
    require_unchanged,
)
from checks.problem1.training import call


@check("1f-4-hidden")
def test_arguments(student, rng):
    """pretrain uses the learning rate, dataset, model and block size passed in."""

    def tokens(given):
        whole = given.documents * given.block_size
        return 650 * whole, 200 * whole

    require_pretraining(student, rng, final_tokens=tokens)


@check("1f-5-hidden")
def test_weights(student, rng):
    """Weights of both models, saved on a GPU, are loaded, with the right questions; none without a
    path.
    """
    for rope in (False, True):
        rate = float(rng.uniform(1e-4, 1e-2))
        given = call(student, rng, "finetune", True, rate, rope, saved_on="cuda:0")
        if given.answer.value is None:
            continue  # the RoPE model cannot be created; question 1h deducts for that
        require_same_model(student, given.answer, "finetune")
        kind = "RoPE" if rope else "vanilla"
        require_pretrained(
            given, f"Pretrained weights of the {kind} model are not in the model that is trained."
        )
        require_questions(given)
        require_fields(student, given.answer, {"max_epochs": 10, "learning_rate": rate}, {})
    without = call(student, rng, "finetune")
    require_unchanged(without, "finetune", ", though no reading_params_path was given")


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
