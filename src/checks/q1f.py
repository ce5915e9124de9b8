"""Question 1f, basic: pretraining, and finetuning from pretrained weights."""
from autograder import check
from checks.artifacts import judge_predictions
from checks.training import call, require_fields, require_pretrained, require_same_model


@check("1f-0-basic")
def test_pretrain(student, rng):
    """The hyperparameters of pretraining."""
    given = call(student, rng, "pretrain")
    answer, block_size = given.answer, given.block_size
    documents = len(given.corpus.split("\n"))
    tokens = documents * block_size
    # Editions of the handout differ in final_tokens.
    expected = {"max_epochs": 650, "batch_size": 128, "learning_rate": 6e-3, "lr_decay": True, "warmup_tokens": 512 * 20,
                "final_tokens": (650 * tokens, 200 * tokens)}
    require_fields(student, answer, expected, {
        "max_epochs": [(75, "that is for finetuning from scratch"), (10, "that is for finetuning from pretrained weights")],
        "batch_size": [(256, "that is for finetuning")],
        "learning_rate": [(6e-4, "that is for finetuning"), (3e-4, "that is TrainerConfig's default; use the argument "
                                                                   "pretrain_lr")],
        "final_tokens": [(650 * documents, "block_size is missing"), (200 * documents, "block_size is missing")]})


@check("1f-3-basic")
def test_finetune(student, rng):
    """The pretrained weights are in the model that is trained, and the hyperparameters are those for that."""
    given = call(student, rng, "finetune", pretrained=True)
    answer, block_size = given.answer, given.block_size
    documents = len(given.corpus.split("\n"))
    require_same_model(answer, "finetune")
    require_pretrained(given, "The model that is trained does not have the pretrained weights. Load them from "
                            "reading_params_path into the argument "
                            "`model`: model.load_state_dict(torch.load(...)).")
    expected = {"max_epochs": 10, "batch_size": 256, "learning_rate": 6e-4, "lr_decay": True, "warmup_tokens": 512 * 20,
                "final_tokens": 200 * documents * block_size}
    require_fields(student, answer, expected, {"max_epochs": [(75, "that is for finetuning from "
                                                                   "scratch"), (650, "that is for pretraining")],
                                               "batch_size": [(128, "that is for pretraining")]})


@check("1f-6-basic")
def test_dev_predictions(student, rng, context):
    """Accuracy, and a few predictions besides the right ones come from the weights."""
    judge_predictions(student, rng, context, "vanilla_eval_dev_with_pretrain", sample=20, threshold=True)
