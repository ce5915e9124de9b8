"""Calls finetune and pretrain on small data; shared by questions 1d and 1f. prepared.py judges the
results.
"""

from dataclasses import astuple, dataclass

from autograder import Answer, WrongAnswer, probe
from checks.problem1.random_texts import LETTERS
from checks.problem1.random_weights import draw_parameter

SIZES = {"n_layer": 2, "n_head": 2, "n_embd": 12}


@dataclass(frozen=True)
class Weights:
    """Random weights of a model, given by a seed and a standard deviation."""

    seed: int
    spread: float

    def of(self, name: str, shape: tuple[int, ...]):
        """The values of one parameter, float32."""
        return draw_parameter.function(self.seed, name, shape, self.spread)


@probe(uses=(draw_parameter,))
def prepare(
    task,
    corpus,
    rows,
    block_size,
    read_block_size,
    sizes,
    rope,
    rate,
    fresh,
    pretrained,
    path,
    saved_on,
):
    """Call finetune (with a file of the weights `pretrained`, if there is a path) or pretrain on a
    model with the weights `fresh`, each given as (seed, spread), and describe the result.
    read_block_size is the dataset's.
    """
    import inspect
    import pathlib

    import torch

    scratch = pathlib.Path.cwd()  # the submission may change to another folder
    from submission import helper
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT, GPTConfig
    from submission.trainer import Trainer, TrainerConfig

    dataset = CharCorruptionDataset(corpus, read_block_size)

    def make(seed, spread):
        model = GPT(GPTConfig(dataset.vocab_size, block_size, rope=rope, **sizes))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                drawn = draw_parameter(seed, name, tuple(parameter.shape), spread)
                parameter.copy_(torch.from_numpy(drawn))
        return model

    try:
        model = make(*fresh)
    except Exception:
        if not rope:
            raise
        return None  # judged by another question
    if path:
        path = str(scratch / path)
        other = make(*pretrained)
        tag = torch.serialization.location_tag
        if saved_on != "cpu":
            torch.serialization.location_tag = lambda storage: saved_on
        tensors = other.state_dict().items()
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
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        shown = result is None or isinstance(result, tuple)
        return {"result": result if shown else type(result).__name__}
    config, trainer = result
    described = {
        "types": [type(config).__name__, type(trainer).__name__],
        "right_types": isinstance(config, TrainerConfig) and isinstance(trainer, Trainer),
    }
    if not described["right_types"]:
        return described

    def plain(value):
        if isinstance(value, (tuple, list)):
            return list(value)
        data = isinstance(value, (bool, int, float, str, type(None)))
        return value if data else type(value).__name__

    data = trainer.train_dataset
    countable = hasattr(data, "__len__")
    looked_at = range(3) if task == "finetune" and countable and len(data) >= 3 else ()
    names = [name for name in dir(TrainerConfig) if not name.startswith("_")]
    fields = {name: plain(getattr(config, name, None)) for name in names}
    defaults = {name: plain(getattr(TrainerConfig, name)) for name in names}
    return {
        **described,
        "fields": fields,
        "changed": [name for name in names if fields[name] != defaults[name]],
        "same_config": trainer.config is config,
        "same_model": trainer.model is model,
        "same_dataset": data is dataset,
        "frozen": [name for name, p in trainer.model.named_parameters() if not p.requires_grad],
        "writer": config.writer is writer,
        "steps": trainer.step,
        "test_dataset": trainer.test_dataset is not None,
        "dataset": type(data).__name__,
        "length": len(data) if countable else None,
        "examples": [list(data[i]) for i in looked_at],
        "weights": dict(model.named_parameters()),
        "trained": dict(trainer.model.named_parameters()),
    }


@dataclass(frozen=True)
class Task:
    """A function's arguments and its answer. block_size is the argument, read_block_size the
    dataset's; fresh are the model's weights, pretrained those to load, if any.
    """

    answer: Answer
    block_size: int
    read_block_size: int
    corpus: str
    pairs: list[tuple[str, str]]
    fresh: Weights
    pretrained: Weights | None

    @property
    def documents(self) -> int:
        """The number of documents in the corpus."""
        return len(self.corpus.split("\n"))


def random_name(rng, letters: int = 52) -> str:
    """Make a word from the first `letters` of LETTERS, of which 52 are ASCII."""
    return "".join(rng.choice(LETTERS[:letters], size=int(rng.integers(4, 9))))


def random_task(rng) -> tuple[str, list[tuple[str, str]]]:
    """Make a small corpus, and more (question, place) pairs than documents that its vocabulary can
    spell.
    """
    # The first pairs are judged and are ASCII: other editions' NameDataset drops the rest. The
    # others reveal a file read in a wrong encoding.
    pairs = [
        (f"Where was {random_name(rng, letters)} born?", random_name(rng, letters))
        for letters in [52] * 5 + [62] * int(rng.integers(9, 15))
    ]
    documents = [f"{random_name(rng)} {random_name(rng)}" for _ in range(int(rng.integers(5, 10)))]
    return "\n".join([*documents, "Where was born? " + "".join(LETTERS)]), pairs


def call(
    student,
    rng,
    task: str,
    pretrained: bool = False,
    rate: float | None = None,
    rope: bool = False,
    saved_on: str = "cpu",
) -> Task:
    """Run `prepare` on new data.

    Raises:
        WrongAnswer: the result is not a (TrainerConfig, Trainer).
    """
    # The dataset's block size differs from the argument, which is the model's.
    block_size = int(rng.integers(46, 70))
    read_block_size = block_size - int(rng.integers(1, 6))
    corpus, pairs = random_task(rng)
    fresh = Weights(int(rng.integers(2**31)), 0.02)
    weights = Weights(int(rng.integers(2**31)), 1.0) if pretrained else None
    path = f"{random_name(rng)}.params" if pretrained else None  # an uninformative name
    rows = "".join(f"{question}\t{place}\n" for question, place in pairs)
    answer = student.run(
        prepare,
        task=task,
        corpus=corpus,
        rows=rows,
        block_size=block_size,
        read_block_size=read_block_size,
        sizes=SIZES,
        rope=rope,
        rate=rate,
        fresh=astuple(fresh),
        pretrained=astuple(weights) if pretrained else None,
        path=path,
        saved_on=saved_on,
    )
    given = Task(answer, block_size, read_block_size, corpus, pairs, fresh, weights)
    if answer.value is None:
        return given
    if "result" in answer.entries():
        answer["result"].named(f"The result of {task}").present()
        raise WrongAnswer(
            f"{task} should return (TrainerConfig, Trainer); it returned"
            f" {answer['result'].describe()}."
        )
    if not answer["right_types"].flag():
        if "NoneType" in answer["types"].texts():
            Answer(None, f"A part of what {task} returned").present()
        raise WrongAnswer(
            f"{task} should return (TrainerConfig, Trainer), in this order; it returned "
            f"({', '.join(answer['types'].texts())})."
        )
    return given
