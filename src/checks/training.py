"""Calling finetune, pretrain and train on small data, and reading what they return. Questions 1d and 1f share it."""
from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.gpt import draw_weights, shapes_of
from checks.spans import LETTERS, MASK, vocabulary

FIELDS = ("max_epochs", "batch_size", "learning_rate", "lr_decay", "warmup_tokens", "final_tokens")
SIZES = {"n_layer": 2, "n_head": 2, "n_embd": 12}


@probe
def prepare(task, corpus, rows, block_size, sizes, rope, rate, fresh, pretrained, saved_on):
    """Call finetune (with weights, where `pretrained` are given) or pretrain, on a model with the weights `fresh`, and describe what comes
    back."""
    import inspect
    import pathlib
    import torch
    from submission import helper
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT, GPTConfig
    from submission.trainer import Trainer, TrainerConfig
    dataset = CharCorruptionDataset(corpus, block_size)

    def make(weights):
        model = GPT(GPTConfig(dataset.vocab_size, block_size, rope=rope, **sizes))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in weights and weights[name].shape == tuple(parameter.shape):
                    parameter.copy_(torch.from_numpy(weights[name]))
        return model
    try:
        model = make(fresh)
    except Exception:
        if not rope:
            raise
        return None         # another question's business
    path = None
    if pretrained:
        other = make(pretrained)
        path = "pretrained.params"
        tag = torch.serialization.location_tag
        if saved_on != "cpu":
            torch.serialization.location_tag = lambda storage: saved_on
        torch.save(other.state_dict(), path)
        torch.serialization.location_tag = tag

    writer = type("Writer", (), {"add_scalar": lambda *args: None})()
    function = getattr(helper, task)
    with_writer = {"writer": writer} if "writer" in inspect.signature(function).parameters else {}
    if task == "finetune":
        questions = pathlib.Path("questions.tsv")
        questions.write_text(rows, encoding="utf-8")
        with_rate = {} if rate is None else {"finetune_lr": rate}
        result = function(path, str(questions), dataset, block_size, model, **with_rate, **with_writer)
    else:
        with_rate = {} if rate is None else {"pretrain_lr": rate}
        result = function(dataset, block_size, model, **with_rate, **with_writer)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        return {"result": result if isinstance(result, tuple) else type(result).__name__ if result is not None else None}
    config, trainer = result
    described = {"types": [type(config).__name__, type(trainer).__name__],
                 "right_types": isinstance(config, TrainerConfig) and isinstance(trainer, Trainer)}
    if not described["right_types"]:
        return described
    data = trainer.train_dataset
    plain = lambda value: list(value) if isinstance(value, (tuple, list)) else value        # noqa: E731
    defaults = ["betas", "grad_norm_clip", "weight_decay"]
    fields = ["max_epochs", "batch_size", "learning_rate", "lr_decay", "warmup_tokens", "final_tokens"]
    return {**described, "fields": {name: getattr(config, name, None) for name in fields}, "changed": [name for name in defaults if plain(getattr(config, name, None)) != plain(getattr(TrainerConfig, name))],
            "same_config": trainer.config is config, "same_model": trainer.model is model, "same_dataset": data is dataset,
            "frozen": [name for name, value in trainer.model.named_parameters() if not value.requires_grad],
            "writer": config.writer is writer, "steps": trainer.step, "test_dataset": trainer.test_dataset is not None,
            "dataset": type(data).__name__, "length": len(data) if hasattr(data, "__len__") else None,
            "examples": [list(data[i]) for i in range(3)] if task == "finetune" and len(data) >= 3 else [],
            "weights": dict(model.named_parameters()), "trained": dict(trainer.model.named_parameters())}


@dataclass(frozen=True)
class Task:
    """What a function was called with, and its answer. fresh are the weights that the model had, pretrained those to load, if any."""
    answer: Answer
    block_size: int
    corpus: str
    pairs: list[tuple[str, str]]
    fresh: dict[str, np.ndarray]
    pretrained: dict[str, np.ndarray]


def random_name(rng, letters: int = 52) -> str:
    """A word of the first so many of LETTERS, of which 52 are ASCII."""
    return "".join(rng.choice(LETTERS[:letters], size=int(rng.integers(4, 9))))


def random_task(rng, block_size: int) -> tuple[str, list[tuple[str, str]]]:
    """A small corpus, and pairs of questions and places that its vocabulary can spell; more pairs than documents."""
    # The first ones are looked at, and are ASCII: other editions' NameDataset drops the rest. But a file that is read in a wrong
    # encoding shows in the others.
    pairs = [(f"Where was {random_name(rng, letters)} born?", random_name(rng, letters)) for letters in [52] * 5 + [62] * int(rng.integers(9, 15))]
    documents = [f"{random_name(rng)} {random_name(rng)}" for _ in range(int(rng.integers(5, 10)))]
    return "\n".join([*documents, "Where was born? " + "".join(LETTERS)]), pairs


def call(student, rng, task: str, pretrained: bool = False, rate: float | None = None, rope: bool = False,
         saved_on: str = "cpu") -> Task:
    """Run `prepare` on fresh data.

    Raises:
        WrongAnswer: what came back is no (TrainerConfig, Trainer).
    """
    block_size = int(rng.integers(40, 70))
    corpus, pairs = random_task(rng, block_size)
    shapes = shapes_of(len(vocabulary(corpus)), block_size, SIZES["n_layer"], SIZES["n_embd"], rope)
    fresh = draw_weights(rng, shapes, 0.02)
    weights = draw_weights(rng, shapes, 1.0) if pretrained else {}
    answer = student.run(prepare, task=task, corpus=corpus, rows="".join(f"{q}\t{a}\n" for q, a in pairs), block_size=block_size,
                         sizes=SIZES, rope=rope, rate=rate, fresh=fresh, pretrained=weights, saved_on=saved_on)
    given = Task(answer, block_size, corpus, pairs, fresh, weights)
    if answer.value is None:
        return given
    if "result" in answer.entries():
        answer["result"].named(f"The result of {task}").present()
        raise WrongAnswer(f"{task} should return (TrainerConfig, Trainer); it returned {answer['result'].describe()}.")
    if not answer["right_types"].flag():
        if "NoneType" in answer["types"].texts():
            Answer(None, f"A part of what {task} returned").present()
        raise WrongAnswer(f"{task} should return (TrainerConfig, Trainer), in this order; it returned "
                          f"({', '.join(answer['types'].texts())}).")
    return given


def require_fields(student, answer: Answer, expected: dict, others: dict) -> None:
    """Compare hyperparameters.

    Args:
        expected: field to value, or to a tuple of accepted values, the handout's first.
        others: field to (value, whose value that is), to name a likely mix-up.

    Raises:
        WrongAnswer: names all that are wrong; the fraction earned is the share of those that are right.
    """
    got, problems = answer["fields"].entries(), []
    for name, value in expected.items():
        accepted = value if isinstance(value, tuple) else (value,)
        entry = got[name].value if name in got else None
        same = entry is value if isinstance(value, bool) else (
            isinstance(entry, (int, float)) and any(abs(entry - x) <= 1e-9 * abs(x) for x in accepted))
        if name == "max_epochs" and isinstance(entry, (int, float)):
            student.note(name, entry)
        if not same:
            mixed_up = [f" ({whose})" for other, whose in others.get(name, []) if entry == other and entry is not True]
            problems.append(f"{name} should be {accepted[0]}; it is "
                            f"{got[name].describe() if name in got else 'missing'}{''.join(mixed_up[:1])}.")
    problems += [f"{name} should keep its default." for name in answer["changed"].texts()]
    if not answer["same_config"].flag():
        raise WrongAnswer("The Trainer was made with another TrainerConfig than the one that is returned.")
    if not answer["writer"].flag():
        student.hint("The argument `writer` is not passed on to TrainerConfig, so the job writes nothing for TensorBoard.")
    if problems:
        raise WrongAnswer("\n".join(problems), fraction=max(0.0, 1 - len(problems) / len(expected)))


def require_same_model(answer: Answer, task: str) -> None:
    """The Trainer trains the model that was passed in, and has not begun to."""
    if not answer["same_model"].flag():
        raise WrongAnswer(f"The Trainer that {task} returns trains another model than the one passed in. Use the argument "
                          f"`model` itself, no copy and no new one.")
    if answer["steps"].number() != 0:
        raise WrongAnswer(f"{task} trained already. It should only prepare the training, which `train` runs.")
    if frozen := answer["frozen"].texts():
        raise WrongAnswer(f"The model is not trained as a whole: {', '.join(frozen[:4])} do not require a gradient.")
    if answer["test_dataset"].flag():
        raise WrongAnswer("The Trainer has a test set. There is none here: pass None.")


def require_questions(answer: Answer, corpus: str, pairs: list[tuple[str, str]]) -> None:
    """The Trainer's dataset has the pairs, and its targets are the places alone."""
    if answer["length"].value != len(pairs) or len(answer["examples"].items()) != 3:
        raise WrongAnswer(f"The Trainer's dataset, a {answer['dataset'].text()}, has {answer['length'].describe()} "
                          f"examples; the file of questions has {len(pairs)}. "
                          "Make a NameDataset of the file's text.")
    symbols = vocabulary(corpus)
    for (question, place), example in zip(pairs, answer["examples"].items()):
        x, y = (part.array("int64", (None,)) for part in example.items(2))
        decode = lambda ids: "".join(symbols[i] if 0 <= i < len(symbols) else "?" for i in ids)     # noqa: E731
        if not decode(x).startswith(f"{question}{MASK}{place}{MASK}"):
            raise WrongAnswer(f"An example of the Trainer's dataset should begin with {question}{MASK}{place}{MASK}\nIt is "
                              f"{decode(x)!r}. Make a NameDataset of "
                              "the file finetune_corpus_path and of pretrain_dataset.")
        # Other editions have the MASK as a target, too.
        if y[:len(question) - 1].any() or decode(y[len(question):]).rstrip("\u25A1") not in (place, place + MASK):
            raise WrongAnswer(f"y should be PAD under the question, so that the loss counts the answer alone, and then the "
                              f"place. For {question!r} with {place!r} it is {decode(y)!r}.")


def require_pretrained(given: Task, message: str) -> None:
    """The model that is trained has the pretrained weights."""
    _require_weights(given.answer["trained"], given.pretrained, message)


def require_unchanged(given: Task, task: str, why: str = "") -> None:
    """The model has the weights that it had."""
    _require_weights(given.answer["weights"], given.fresh, f"{task} changed the model's weights{why}.")


def _require_weights(answer, wanted, message):
    got = answer.entries()
    for name, expected in wanted.items():
        if name not in got or not np.array_equal(got[name].array("float32", expected.shape), expected):
            raise WrongAnswer(f"{message} (The first difference is in {name}.)")
