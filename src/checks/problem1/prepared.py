"""What finetune and pretrain return for small data: a TrainerConfig and a Trainer that hasn't
started training. Shared by questions 1d and 1f.
"""

from dataclasses import dataclass, replace

from autograder import Answer, WrongAnswer, probe
from checks.problem1.random_texts import MASK, PAD
from checks.problem1.random_weights import draw_all
from checks.support.asked import Asked, Close, Same

# TrainerConfig fields that the handout sets
ALL = (
    "max_epochs",
    "batch_size",
    "learning_rate",
    "lr_decay",
    "warmup_tokens",
    "final_tokens",
    "writer",
)
FREE = "num_workers"  # it has no effect, and editions differ


@probe(uses=(draw_all,))
def prepare(
    task,
    corpus,
    rows,
    block_size,
    read_block_size,
    fresh,
    pretrained=None,
    path=None,
    rate=None,
    rope=False,
    saved_on="cpu",
):
    """Call finetune or pretrain on a model with random weights, and describe the result.

    Args:
        read_block_size: of the dataset; block_size is the argument, and the model's.
        fresh, pretrained: seeds of the model's weights, and of those in the file `path`, if any.
        saved_on: the device from which that file seems to come.
    """
    import inspect
    import os
    import pathlib
    import zlib

    import torch

    scratch = pathlib.Path.cwd()  # the submission may change to another folder
    from submission import helper
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT, GPTConfig
    from submission.trainer import Trainer, TrainerConfig

    dataset = CharCorruptionDataset(corpus, read_block_size)

    def make(seed):
        sizes = {"n_layer": 2, "n_head": 2, "n_embd": 12}
        try:
            model = GPT(GPTConfig(dataset.vocab_size, block_size, rope=rope, **sizes))
        except Exception:
            if not rope:
                raise
            # Another question judges that; here the vanilla model stands for it.
            model = GPT(GPTConfig(dataset.vocab_size, block_size, **sizes))
        draw_all(model, seed)
        return model

    model = make(fresh)
    if path:
        path, tag = str(scratch / path), torch.serialization.location_tag
        if saved_on != "cpu":
            torch.serialization.location_tag = lambda storage: saved_on
        tensors = make(pretrained).state_dict().items()
        torch.save({name: tensor.clone() for name, tensor in tensors}, path)
        torch.serialization.location_tag = tag

    writer = type("Writer", (), {"add_scalar": lambda *args: None})()
    function = getattr(helper, task)
    more = {"writer": writer} if "writer" in inspect.signature(function).parameters else {}
    if rate is not None:
        more["finetune_lr" if task == "finetune" else "pretrain_lr"] = rate
    if task == "finetune":
        questions = scratch / "questions.tsv"
        questions.write_text(rows, encoding="utf-8")
        result = function(path, str(questions), dataset, block_size, model, **more)
    else:
        result = function(dataset, block_size, model, **more)
    os.chdir(scratch)  # for the next call
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    if any(part is None for part in parts):
        return {"returns": None}
    wanted = TrainerConfig, Trainer
    if len(parts) != 2 or not all(map(isinstance, parts, wanted)):
        return {"returns": f"({', '.join(type(part).__name__ for part in parts)})"}

    def plain(value):
        if isinstance(value, (tuple, list)):
            return list(value)
        data = isinstance(value, (bool, int, float, str, type(None)))
        return value if data else type(value).__name__

    def decode(ids):
        symbols = ["\u25a1", "\u2047", *sorted(set(corpus))]
        return "".join(symbols[i] if 0 <= i < len(symbols) else "?" for i in ids.tolist())

    config, trainer = parts
    names = [name for name in dir(TrainerConfig) if not name.startswith("_")]
    fields = {name: plain(getattr(config, name, None)) for name in names}
    changed = [name for name in names if fields[name] != plain(getattr(TrainerConfig, name))]
    data = trainer.train_dataset
    length = len(data) if hasattr(data, "__len__") else None
    readable = task == "finetune" and (length or 0) >= 3

    def checksums(model):
        named = model.named_parameters()
        return {name: zlib.crc32(value.detach().numpy().tobytes()) for name, value in named}

    weights = checksums(trainer.model)
    other = "a copy of it" if weights == checksums(model) else "another one"
    if rope:
        weights.pop("pos_emb", None)  # of the vanilla model that stands for it
    passed = data is dataset or task == "finetune"
    equal = getattr(trainer.config, "__dict__", None) == vars(config)
    return {
        "returns": "(TrainerConfig, Trainer)",
        "model": "the one passed in" if trainer.model is model else other,
        "steps": trainer.step,
        "frozen": [name for name, p in trainer.model.named_parameters() if not p.requires_grad],
        "weights": weights,
        "dataset": "the one passed in" if passed else f"a {type(data).__name__} of {length}",
        "length": length,
        "examples": [[decode(part) for part in data[i]] for i in range(3)] if readable else [],
        "config": "the one returned" if trainer.config is config else f"another, equal: {equal}",
        "fields": {**fields, "writer": config.writer is writer, "changed": changed},
        "test_set": trainer.test_dataset is not None,
    }


@dataclass(frozen=True)
class Fields:
    """Some hyperparameters, of which each wrong one costs its share of the points. If they are all
    that the handout sets, the others must keep their defaults.
    """

    names: tuple[str, ...]

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply.

        Raises:
            WrongAnswer: names all wrong fields.
        """
        got = Answer(got, "the TrainerConfig")
        problems = [
            f"{name} should be {right[name]}; it is {got[name].describe()}."
            for name in self.names
            if not any(_same(got[name].value, value) for value in accepted(name, right))
        ]
        if self.names == ALL:
            changed = [name for name in got["changed"].texts() if name not in (*ALL, FREE)]
            problems += [f"{name} should keep its default." for name in changed]
        if problems:
            fraction = max(0.0, 1 - len(problems) / len(self.names))
            raise WrongAnswer("\n".join([*problems, f"The call was {call}."]), fraction)


def accepted(name: str, right: dict) -> tuple:
    """The accepted values of a field, the handout's first."""
    if name == "final_tokens" and right["max_epochs"] == 650:
        return right[name], right[name] // 650 * 200  # of other editions
    return (right[name],)


def _same(got, value):
    if isinstance(value, bool):
        return got is value
    return isinstance(got, (int, float)) and abs(got - value) <= 1e-9 * abs(value)


class Weights:
    """The checksums of the model's parameters."""

    def require(self, call: str, got, right) -> None:
        """As `Fields.require`."""
        for name, checksum in right.items():
            if Answer(got, "the model")[name].value != checksum:
                raise WrongAnswer(
                    f"After {call}, the model to be trained should have the weights of the file "
                    "reading_params_path; if there is none, its own, unchanged. The first "
                    f"difference is in {name}."
                )


class Questions:
    """The first examples of finetuning, as characters: only the places are targets."""

    def require(self, call: str, got, right) -> None:
        """As `Fields.require`."""
        examples = Answer(got, "the list of examples").items(len(right))
        for number, (x, _) in enumerate(right):
            text = x.rstrip(PAD)
            question, place, _ = text.split(MASK)
            mine, targets = examples[number].texts()
            if not mine.startswith(text):
                raise WrongAnswer(
                    f"Example {number} of the Trainer's dataset should begin with {text!r}; it is "
                    f"{mine!r}. Create a NameDataset from the file finetune_corpus_path and "
                    "pretrain_dataset."
                )
            # In other editions the first MASK is a target too, or the last one is not.
            before, answer = targets[: len(question) - 1], targets[len(question) :].rstrip(PAD)
            if before.strip(PAD) or answer not in (place, place + MASK):
                raise WrongAnswer(
                    "y should be PAD under the question, so that the loss counts only the answer, "
                    f"and then the place. For {text!r} it is {targets!r}."
                )


def _call(inputs):
    """The call of a task, as a student would write it."""
    data, rate = f"pretrain_dataset, {inputs['block_size']}, model", inputs["rate"]
    if inputs["task"] == "finetune":
        data = f"{inputs['path']!r}, 'questions.tsv', {data}"
    rate = "" if rate is None else f", {inputs['task']}_lr={rate:.4g}"
    documents = inputs["corpus"].count("\n") + 1
    return f"{inputs['task']}({data}{rate}, writer=writer) with {documents} documents"


RETURNS = {"returns": Close("What {call} returns")}
MODEL = {
    "model": Same(
        "The model that the Trainer of {call} trains should be {right}; it is {got}. Use the "
        "argument `model` itself, not a copy or a new one."
    ),
    "steps": Same(
        "{call} already trained the model. It should only prepare the training, which `train` runs."
    ),
    "frozen": Same(
        "The model is not trained as a whole: {got} do not require a gradient, after {call}."
    ),
    "weights": Weights(),
}
DATASET = {
    "dataset": Same("The dataset of the Trainer of {call} should be {right}; it is {got}."),
    "length": Same("The Trainer's dataset should have {right} examples; it has {got}: {call}."),
    "examples": Questions(),
}
CONFIG = {"config": Same("The config of the Trainer should be {right}; it is {got}.")}
SETTINGS = {**CONFIG, "fields": Fields(ALL)}

# What is passed in is used; all hyperparameters are right; pretrained weights are there; and both.
ARGUMENTS = Asked(
    prepare,
    _call,
    {**RETURNS, **MODEL, **DATASET, **CONFIG, "fields": Fields(("max_epochs", "learning_rate"))},
)
HYPERPARAMETERS = replace(ARGUMENTS, reply={**RETURNS, **SETTINGS})
WEIGHTS = replace(ARGUMENTS, reply={**RETURNS, **MODEL})
LOADED = replace(ARGUMENTS, reply={**RETURNS, **MODEL, **SETTINGS})


def with_final_tokens(asked: Asked) -> Asked:
    """The same, and the block size passed in counts."""
    fields = Fields(("max_epochs", "learning_rate", "final_tokens"))
    return replace(asked, reply={**asked.reply, "fields": fields})


def require_prepared(asked: Asked, student, calls: list) -> None:
    """Judge what was prepared, and note the epochs.

    Raises:
        Failed: something is wrong; names the likely cause.
    """
    for call, reply in zip(calls, student.each(prepare, [call.inputs for call in calls])):
        got = reply.value if isinstance(reply, Answer) else None
        got = got if isinstance(got, dict) else {}
        fields = got.get("fields") if isinstance(got.get("fields"), dict) else {}
        if isinstance(fields.get("max_epochs"), (int, float)):
            student.note("max_epochs", fields["max_epochs"])
        if fault := asked.fault(call, reply):
            raise fault.explained(call)
        right, *others = accepted("final_tokens", call.right["fields"])
        if fields.get("final_tokens") in others:
            student.hint(
                f"final_tokens is {fields['final_tokens']}: accepted, but the handout asks for "
                f"{right}."
            )
        if got.get("test_set"):
            student.hint(
                f"The Trainer that {call.inputs['task']} returns has a test set. That is accepted, "
                "but the handout asks for None: it only costs time."
            )
