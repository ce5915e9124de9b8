"""Question 1f, hidden: pretraining with other arguments, and pretrained weights of all kinds."""
from autograder import WrongAnswer, check
from checks.training import call, require_fields, require_pretrained, require_questions, require_same_model, require_unchanged
from instructor.checks.genuine import judge_results


@check("1f-4-hidden")
def test_arguments(student, rng):
    """The learning rate, the dataset, the model: those passed in."""
    rate = float(rng.uniform(1e-4, 1e-2))
    given = call(student, rng, "pretrain", rate=rate)
    answer, tokens = given.answer, len(given.corpus.split("\n")) * given.block_size
    require_same_model(answer, "pretrain")
    require_unchanged(given, "pretrain")
    if not answer["same_dataset"].flag():
        raise WrongAnswer(f"pretrain should train on pretrain_dataset itself; the Trainer has a {answer['dataset'].text()} "
                          f"of {answer['length'].describe()} examples.")
    require_fields(student, answer, {"learning_rate": rate, "final_tokens": (650 * tokens, 200 * tokens)},
                   {"learning_rate": [(6e-3, "that is the default; use the argument pretrain_lr")]})


@check("1f-5-hidden")
def test_weights(student, rng):
    """Weights of both models, saved on a GPU; the questions with them; and none without a path."""
    for rope in (False, True):
        rate = float(rng.uniform(1e-4, 1e-2))
        given = call(student, rng, "finetune", pretrained=True, rate=rate, rope=rope, saved_on="cuda:0")
        answer = given.answer
        if answer.value is None:        # the RoPE model cannot be made; question 1h takes points for that
            continue
        require_same_model(answer, "finetune")
        require_pretrained(given, f"Pretrained weights of the {'RoPE' if rope else 'vanilla'} model are not in the model that "
                                f"is trained.")
        require_questions(answer, given.corpus, given.pairs)
        require_fields(student, answer, {"max_epochs": 10, "learning_rate": rate}, {})
    require_unchanged(call(student, rng, "finetune"), "finetune", ", though no reading_params_path was given")


@check("1f-1-hidden")
def test_dev_predictions(student, rng, context):
    """A larger sample, that nobody could know, comes from the weights."""
    judge_results(student, rng, context, "vanilla_eval_dev_with_pretrain", threshold=False)


@check("1f-2-hidden")
def test_test_predictions(student, rng, context):
    """Accuracy on questions whose answers students don't have; and the predictions come from the weights."""
    judge_results(student, rng, context, "vanilla_eval_test_with_pretrain", threshold=True)
