"""Question 1f, basic: pretraining, and finetuning from pretrained weights."""

from autograder import check
from checks.problem1.artifacts import judge_predictions
from checks.problem1.prepared import (
    require_fields,
    require_pretrained,
    require_pretraining,
    require_same_model,
    require_unchanged,
)
from checks.problem1.training import call


@check("1f-0-basic")
def test_pretrain(student, rng):
    """The hyperparameters of pretraining."""
    given = call(student, rng, "pretrain")
    documents, tokens = given.documents, given.documents * given.block_size
    # Editions of the handout differ in final_tokens.
    expected = {
        "max_epochs": 650,
        "batch_size": 128,
        "learning_rate": 6e-3,
        "lr_decay": True,
        "warmup_tokens": 512 * 20,
        "final_tokens": (650 * tokens, 200 * tokens),
        "writer": None,
    }
    of_dataset = "that is pretrain_dataset.block_size; use the argument block_size"
    require_fields(
        student,
        given.answer,
        expected,
        {
            "max_epochs": [
                (75, "that is for finetuning from scratch"),
                (10, "that is for finetuning from pretrained weights"),
            ],
            "batch_size": [(256, "that is for finetuning")],
            "learning_rate": [
                (6e-4, "that is for finetuning"),
                (3e-4, "that is TrainerConfig's default; use the argument pretrain_lr"),
            ],
            "final_tokens": [
                (650 * documents, "block_size is missing"),
                (200 * documents, "block_size is missing"),
                (650 * documents * given.read_block_size, of_dataset),
                (200 * documents * given.read_block_size, of_dataset),
            ],
        },
    )


@check("1f-7-basic")
def test_arguments(student, rng):
    """pretrain uses the dataset, model and learning rate passed in."""
    require_pretraining(student, rng)


@check("1f-3-basic")
def test_finetune(student, rng):
    """finetune loads the pretrained weights into the model and uses the hyperparameters for that
    case.
    """
    given = call(student, rng, "finetune", pretrained=True)
    require_same_model(student, given.answer, "finetune")
    require_pretrained(
        given,
        "The model that is trained does not have the pretrained weights. "
        "Load them from reading_params_path into the argument `model`: "
        "model.load_state_dict(torch.load(...)).",
    )
    expected = {
        "max_epochs": 10,
        "batch_size": 256,
        "learning_rate": 6e-4,
        "lr_decay": True,
        "warmup_tokens": 512 * 20,
        "writer": None,
        "final_tokens": 200 * given.documents * given.block_size,
    }
    from_scratch = (
        "that is for finetuning from scratch: does it depend on whether "
        "reading_params_path is None?"
    )
    require_fields(
        student,
        given.answer,
        expected,
        {
            "max_epochs": [(75, from_scratch), (650, "that is for pretraining")],
            "batch_size": [(128, "that is for pretraining")],
        },
    )


@check("1f-8-basic")
def test_weights(student, rng):
    """Weights of either model load, also if saved on a GPU; none are loaded without a path."""
    for rope in (False, True):
        given = call(student, rng, "finetune", pretrained=True, rope=rope, saved_on="cuda:0")
        if given.answer.value is None:
            continue  # the RoPE model cannot be created; question 1h deducts for that
        require_same_model(student, given.answer, "finetune")
        kind = "RoPE" if rope else "vanilla"
        require_pretrained(
            given,
            f"Pretrained weights of the {kind} model, saved on a GPU, are "
            "not in the model that is trained.",
        )
    without = call(student, rng, "finetune")
    require_unchanged(without, "finetune", ", though no reading_params_path was given")


@check("1f-6-basic")
def test_dev_predictions(student, rng, context):
    """The accuracy suffices, and the weights reproduce the predictions."""
    judge_predictions(student, rng, context, "vanilla_eval_dev_with_pretrain", threshold=True)
