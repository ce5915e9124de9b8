"""What finetune and pretrain return for small data: a TrainerConfig and a Trainer that hasn't
started training. Shared by questions 1d and 1f.
"""

from dataclasses import dataclass, replace

from autograder import Answer, WrongAnswer, probe
from checks.support.asked import Asked, Close, Same
from checks.support.unchanged import Unchanged, summarize
from checks.support.weights import fill

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


@probe(uses=(fill, summarize))
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
    positions=True,
    saved_on="cpu",
):
    """Call finetune or pretrain on a model with random weights, and summarize the result.

    Args:
        read_block_size: of the dataset; block_size is the argument, and the model's.
        fresh, pretrained: seeds of the model's weights, and of those in the file `path`, if any.
        positions: whether the models have position embeddings; with RoPE they have none.
        saved_on: the device from which that file seems to come.
    """
    import inspect
    import os
    import pathlib

    import torch

    scratch = pathlib.Path.cwd()  # the submission may change to another folder
    from submission import helper
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT, GPTConfig
    from submission.trainer import Trainer, TrainerConfig

    dataset = CharCorruptionDataset(corpus, read_block_size)

    def make(seed):
        config = GPTConfig(dataset.vocab_size, block_size, n_layer=2, n_head=2, n_embd=12)
        model = GPT(config)
        if not positions:
            del model.pos_emb
        fill(model, seed)
        return model

    model = make(fresh)
    if path:
        path, tag = str(scratch / path), torch.serialization.location_tag
        if saved_on != "cpu":
            torch.serialization.location_tag = lambda storage: saved_on
        torch.save(make(pretrained).state_dict(), path)
        torch.serialization.location_tag = tag

    writer = type("Writer", (), {"add_scalar": lambda *args: None})()
    function = getattr(helper, task)
    more = {"writer": writer} if "writer" in inspect.signature(function).parameters else {}
    if rate is not None:
        more[f"{task}_lr"] = rate
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
    data, parameters = trainer.train_dataset, list(trainer.model.named_parameters())
    length = len(data) if hasattr(data, "__len__") else None
    readable = task == "finetune" and (length or 0) >= 3
    examples = [[decode(part) for part in data[i]] for i in range(3)] if readable else []
    places = [y.strip("\u25a1\u2047") for _, y in examples]
    return {
        "returns": "(TrainerConfig, Trainer)",
        "model": trainer.model is model,
        "steps": trainer.step,
        "frozen": [name for name, value in parameters if not value.requires_grad],
        "weights": summarize(dict(parameters)),
        "dataset": data is dataset or task == "finetune",
        "length": length,
        "questions": [x.rstrip("\u25a1") for x, _ in examples],
        "targets": [f"{place} at {y.index(place)}" for place, (_, y) in zip(places, examples)],
        "config": trainer.config is config,
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
            if got[name].value not in accepted(name, right)
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
    "model": Same("The Trainer of {call} should train the argument `model` itself."),
    "steps": Same(
        "{call} already trained the model. It should only prepare the training, which `train` runs."
    ),
    "frozen": Same(
        "The model is not trained as a whole: {got} do not require a gradient, after {call}."
    ),
    "weights": Unchanged(
        "After {call}, the model's {got} should have the values of the file reading_params_path "
        "or, without a path, those from before."
    ),
}
DATASET = {
    "dataset": Same("The dataset of the Trainer of {call} should be the one passed in."),
    "length": Same("The Trainer's dataset should have {right} examples; it has {got}: {call}."),
    "questions": Same(
        "The first examples of the Trainer's dataset should be {right}; they are {got}. Create a "
        "NameDataset from the file finetune_corpus_path and pretrain_dataset."
    ),
    # In other editions the first MASK is a target too, or the last one is not.
    "targets": Same(
        "y should be PAD under the question, so that the loss counts only the answer, and then the "
        "place: {right} in the first examples. Here it is {got}."
    ),
}
CONFIG = {"config": Same("The config of the Trainer of {call} should be the one returned.")}
SETTINGS = {**CONFIG, "fields": Fields(ALL)}

# What is passed in is used, the block size, too; all hyperparameters are right; pretrained weights
# are there; and both.
PASSED = {**RETURNS, **MODEL, **DATASET, **CONFIG}
ARGUMENTS = Asked(prepare, _call, {**PASSED, "fields": Fields(("max_epochs", "learning_rate"))})
ALL_ARGUMENTS = replace(
    ARGUMENTS, reply={**PASSED, "fields": Fields(("max_epochs", "learning_rate", "final_tokens"))}
)
HYPERPARAMETERS = replace(ARGUMENTS, reply={**RETURNS, **SETTINGS})
WEIGHTS = replace(ARGUMENTS, reply={**RETURNS, **MODEL})
LOADED = replace(ARGUMENTS, reply={**RETURNS, **MODEL, **SETTINGS})


def require_prepared(asked: Asked, student, calls: list) -> None:
    """Judge what was prepared, and note the epochs.

    Raises:
        Failed: something is wrong; names the likely cause.
    """
    for call, reply in zip(calls, student.each(prepare, [call.inputs for call in calls])):
        fault = asked.fault(call, reply)
        if isinstance(reply, Answer) and "fields" in reply.entries():
            student.note("max_epochs", reply["fields"]["max_epochs"].number())
        if fault:
            raise fault.explained(call)
        right, *others = accepted("final_tokens", call.right["fields"])
        tokens = reply["fields"]["final_tokens"].value
        if tokens in others:
            student.hint(f"final_tokens is {tokens}: accepted, but the handout asks for {right}.")
        if reply["test_set"].flag():
            student.hint(
                f"The Trainer that {call.inputs['task']} returns has a test set. That is accepted, "
                "but the handout asks for None: it only costs time."
            )
