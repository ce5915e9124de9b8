"""Question 1d, hidden: the vanilla model by value, and finetuning with other arguments."""
from autograder import WrongAnswer, check
from checks.training import call, require_fields, require_questions, require_same_model, require_unchanged
from instructor.checks.gpt import run_model, require_reference


@check("1d-0-hidden")
def test_vanilla_model(student, rng):
    """Logits and loss against float64, for sizes that are all different."""
    model = run_model(student, rng, "initialize_vanilla_model")
    require_reference(model, rope=False, name="initialize_vanilla_model")
    if not model.answer["fresh"].flag():
        raise WrongAnswer("Two calls of initialize_vanilla_model gave models with equal weights. Make a new model, with "
                          "random weights, at each call.")


@check("1d-2-hidden")
def test_arguments(student, rng):
    """The learning rate, the file of questions, the vocabulary, the model: those passed in."""
    rate = float(rng.uniform(1e-4, 1e-2))
    given = call(student, rng, "finetune", rate=rate)
    answer, block_size, corpus, pairs = given.answer, given.block_size, given.corpus, given.pairs
    documents = len(corpus.split("\n"))
    require_same_model(answer, "finetune")
    require_unchanged(given, "finetune", ", though no reading_params_path was given")
    require_questions(answer, corpus, pairs)
    expected = {"max_epochs": 75, "learning_rate": rate, "final_tokens": 200 * documents * block_size}
    require_fields(student, answer, expected, {"learning_rate": [(6e-4, "that is the default; use the argument "
                                                                        "finetune_lr")]})
