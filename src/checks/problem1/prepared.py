"""Judges what finetune and pretrain return: a TrainerConfig and a Trainer that hasn't started
training.
"""

import numpy as np

from autograder import Answer, WrongAnswer
from checks.problem1.random_texts import MASK, vocabulary
from checks.problem1.training import Task, call

# TrainerConfig fields that the handout sets, and one without effect, in which editions differ.
OURS = (
    "max_epochs",
    "batch_size",
    "learning_rate",
    "lr_decay",
    "warmup_tokens",
    "final_tokens",
    "writer",
    "num_workers",
)


def require_fields(student, answer: Answer, expected: dict, others: dict) -> None:
    """Compare hyperparameters.

    Args:
        expected: maps a field to its value, or to a tuple of accepted values, the handout's first.
            For `writer` the value is ignored; if it is present, all other fields must keep their
            defaults.
        others: maps a field to (value, whose value that is), to name a likely mix-up.

    Raises:
        WrongAnswer: names all wrong fields; the fraction earned is the share of correct ones.
    """
    got, problems = answer["fields"].entries(), []
    if "max_epochs" in got and isinstance(got["max_epochs"].value, (int, float)):
        student.note("max_epochs", got["max_epochs"].value)
    if not answer["same_config"].flag():
        raise WrongAnswer(
            "The Trainer was created with a different TrainerConfig from the one returned."
        )
    for name, value in expected.items():
        if name == "writer":
            if not answer["writer"].flag():
                problems.append(
                    "writer should be the argument `writer`: without it, the job writes no log"
                    " and nothing for TensorBoard."
                )
            continue
        accepted = value if isinstance(value, tuple) else (value,)
        entry = got[name].value if name in got else None
        right = [x for x in accepted if _same(entry, x)]
        if not right:
            mixed_up = [
                f" ({whose})"
                for other, whose in others.get(name, [])
                if entry == other and entry is not True
            ]
            problems.append(
                f"{name} should be {accepted[0]}; it is "
                f"{got[name].describe() if name in got else 'missing'}{''.join(mixed_up[:1])}."
            )
        elif right[0] != accepted[0]:
            student.hint(f"{name} is {right[0]}: accepted, but the handout asks for {accepted[0]}.")
    if "writer" in expected:
        problems += [
            f"{name} should keep its default."
            for name in answer["changed"].texts()
            if name not in OURS
        ]
    if problems:
        raise WrongAnswer("\n".join(problems), fraction=max(0.0, 1 - len(problems) / len(expected)))


def _same(entry, value):
    if isinstance(value, bool):
        return entry is value
    return isinstance(entry, (int, float)) and abs(entry - value) <= 1e-9 * abs(value)


def require_same_model(student, answer: Answer, task: str) -> None:
    """Check that the Trainer has the model that was passed in, and hasn't trained it yet."""
    if not answer["same_model"].flag():
        raise WrongAnswer(
            f"The Trainer that {task} returns trains a different model from the one passed in. Use "
            "the argument `model` itself, not a copy or a new one."
        )
    if answer["steps"].number() != 0:
        raise WrongAnswer(
            f"{task} already trained the model. It should only prepare the training, which `train` "
            "runs."
        )
    if frozen := answer["frozen"].texts():
        raise WrongAnswer(
            f"The model is not trained as a whole: {', '.join(frozen[:4])} do not require a"
            " gradient."
        )
    if answer["test_dataset"].flag():
        student.hint(
            f"The Trainer that {task} returns has a test set. That is accepted, but the handout "
            "asks for None: it only costs time."
        )


def require_same_dataset(answer: Answer) -> None:
    """Check that pretrain uses the dataset that was passed in."""
    if not answer["same_dataset"].flag():
        raise WrongAnswer(
            "pretrain should train on pretrain_dataset itself; the Trainer has a "
            f"{answer['dataset'].text()} of {answer['length'].describe()} examples."
        )


def require_questions(given: Task) -> None:
    """Check that the Trainer's dataset has the pairs and that its targets are only the places."""
    answer, pairs = given.answer, given.pairs
    if answer["length"].value != len(pairs) or len(answer["examples"].items()) != 3:
        raise WrongAnswer(
            f"The Trainer's dataset, a {answer['dataset'].text()}, has "
            f"{answer['length'].describe()} examples; the file of questions has {len(pairs)}. "
            "Create a NameDataset from the file's text."
        )
    symbols = vocabulary(given.corpus)

    def decode(ids):
        return "".join(symbols[i] if 0 <= i < len(symbols) else "?" for i in ids)

    for (question, place), example in zip(pairs, answer["examples"].items()):
        x, y = (part.array("int64", (None,)) for part in example.items(2))
        if not decode(x).startswith(f"{question}{MASK}{place}{MASK}"):
            raise WrongAnswer(
                "An example of the Trainer's dataset should begin with "
                f"{question}{MASK}{place}{MASK}\n"
                f"It is {decode(x)!r}. Create a NameDataset from the file finetune_corpus_path and "
                "pretrain_dataset."
            )
        # In other editions the MASK is a target too.
        targets = decode(y[len(question) :]).rstrip(symbols[0])
        if y[: len(question) - 1].any() or targets not in (place, place + MASK):
            raise WrongAnswer(
                "y should be PAD under the question, so that the loss counts only the answer, and "
                f"then the place. For {question!r} with {place!r} it is {decode(y)!r}."
            )


def require_pretrained(given: Task, message: str) -> None:
    """Check that the model to be trained has the pretrained weights."""
    _require_weights(given, "trained", given.pretrained, message)


def require_unchanged(given: Task, task: str, why: str = "") -> None:
    """Check that the model's weights are unchanged."""
    _require_weights(given, "weights", given.fresh, f"{task} changed the model's weights{why}.")


def _require_weights(given, part, wanted, message):
    got = given.answer[part].entries()
    for name in given.answer["weights"].entries():  # the model that was passed in
        tensor = got[name].named(f"the model's {name}").array("float32") if name in got else None
        if tensor is None or not np.array_equal(tensor, wanted.of(name, tensor.shape)):
            raise WrongAnswer(f"{message} (The first difference is in {name}.)")


def require_finetuning(student, rng, **more) -> None:
    """Check that finetune, without pretrained weights, uses its arguments.

    Args:
        more: maps names of finetune's hyperparameters to functions from the Task to the expected
            value.

    Raises:
        WrongAnswer: it does not.
    """
    rate = float(rng.uniform(1e-4, 1e-2))
    given = call(student, rng, "finetune", rate=rate)
    require_same_model(student, given.answer, "finetune")
    require_unchanged(given, "finetune", ", though no reading_params_path was given")
    require_questions(given)
    expected = {"max_epochs": 75, "learning_rate": rate}
    expected |= {name: value(given) for name, value in more.items()}
    require_fields(
        student,
        given.answer,
        expected,
        {"learning_rate": [(6e-4, "that is the default; use the argument finetune_lr")]},
    )


def require_pretraining(student, rng, **more) -> None:
    """Check that pretrain uses its arguments.

    Args:
        more: maps names of pretrain's hyperparameters to functions from the Task to the expected
            value.

    Raises:
        WrongAnswer: it does not.
    """
    rate = float(rng.uniform(1e-4, 1e-2))
    given = call(student, rng, "pretrain", rate=rate)
    require_same_model(student, given.answer, "pretrain")
    require_unchanged(given, "pretrain")
    require_same_dataset(given.answer)
    expected = {"max_epochs": 650, "learning_rate": rate}
    expected |= {name: value(given) for name, value in more.items()}
    require_fields(
        student,
        given.answer,
        expected,
        {"learning_rate": [(6e-3, "that is the default; use the argument pretrain_lr")]},
    )
