"""Judges results: predictions are claims that count only if the submitted weights answer the same.

In a student's copy, the student's code computes what the weights answer. Where staff grades, a
model of the staff's does, since a submission's could look answers up, and leave its weights
untrained.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from autograder import NotImplementedYet, WrongAnswer
from checks.problem1.asking import answer_with_code, draw_texts
from checks.problem1.random_texts import vocabulary
from checks.support.context import GRADED, Context
from common.files import why_not_utf8
from jobs.presets import PRESETS
from jobs.problem1.data import read_documents
from jobs.target import Job
from jobs.targets import JOBS, MADE_BY
from jobs.weights import why_no_state, why_other, why_unreadable

TARGETS = {  # of ./run.sh, by question; {} is a split of the questions
    "1e": "vanilla_eval_{}_without_pretrain",
    "1f": "vanilla_eval_{}_with_pretrain",
    "1h": "rope_eval_{}_with_pretrain",
}
SIZES = ("block_size", "n_layer", "n_head", "n_embd")
# A CPU and a GPU may answer differently where two characters are almost equally likely.
UNREPRODUCED = 0.05
# Share of the loss of random guessing, on questions that finetuning has seen. Of the preset laptop:
# 0.32 without pretraining, 0.01 with it.
FINETUNED = 0.8
# Share of the loss that the characters' frequencies alone give, on documents. Of the preset laptop
# (three trainings, both kinds of positions): 0.11 to 0.14, and 0.58 after 75 epochs of finetuning
# at 1e-3. Weights that were trained on the questions and answers alone: 1.85 to 2.9; not trained:
# 1.1. A tenth of an epoch of the larger corpus is enough.
PRETRAINED = 0.7
# Words that are cut out of documents must be known better than by guessing, 3.97 nats a character.
# Of the same trainings: 1.5 to 1.9, and 2.2 to 3.3 after 75 epochs of finetuning at 1e-3. Weights
# that read documents as they are, beside questions and answers: 4.2 to 4.6.


def require_result(folder: Path, name: str) -> Path:
    """Path of a result file.

    Raises:
        NotImplementedYet: the file doesn't exist.
    """
    path = folder / name
    if not path.is_file():
        raise NotImplementedYet(
            f"{name} doesn't exist yet. ./run.sh {MADE_BY[name].target} writes it."
        )
    return path


def judge_predictions(student, context: Context, split: str, threshold: bool = True) -> None:
    """Judge the predictions of the check's question on a split, "dev" or "test", and the weights
    that answered.

    Args:
        threshold: whether to require the manifest's accuracy.

    Raises:
        NotImplementedYet: a file doesn't exist.
        WrongAnswer: a file is malformed, the predictions are too inaccurate or not what the
            weights answer, or the weights are not trained as they should be.
    """
    job = JOBS[TARGETS[student.check.question].format(split)]
    predictions, weights = (
        require_result(context.artifacts, name) for name in (job.writes, job.reads)
    )
    raw = predictions.read_bytes()
    if why := why_not_utf8(predictions.name, raw):
        raise WrongAnswer(why)
    if why := why_other(raw):
        raise WrongAnswer(f"{predictions.name}: {why}")
    text = raw.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    claims = [line.strip() for line in text.removesuffix("\n").split("\n")]
    preset = context.preset_of(len(claims), job.split)
    expected = {
        name: len(context.pairs(PRESETS[name], job.split))
        for name in GRADED
        if context.preset in (None, name)
    }
    if preset is None or len(claims) != expected[preset.name]:
        counts = " or ".join(f"{count} ({name})" for name, count in expected.items())
        raise WrongAnswer(
            f"{predictions.name} has {len(claims)} lines; there are {counts} questions."
        )
    pairs = context.pairs(preset, job.split)
    right = {i for i, (claim, (_, place)) in enumerate(zip(claims, pairs)) if claim == place}
    name = job.writes.removesuffix(".predictions")
    needed = context.accuracy[preset.name][name] if threshold else 0
    if needed:
        student.note(f"needed {name}", needed)
    student.note(f"claimed {name}", len(right) / len(pairs))
    # a wrong prediction earns nothing, so it needs no proof
    _require_accuracy(predictions, job, len(right), len(pairs), needed)
    _require_no_twin(predictions, job)

    code, advice = "your code", ""
    if context.answer_alone:
        code, advice = "our code", " Does your model compute what 1d and 1h ask for?"
    places, losses = student.once(
        f"{weights.name} {job.split}",
        lambda rng: _ask(student, rng, context, job, preset, weights, code),
    )
    differ = [i for i, place in enumerate(places) if place != claims[i]]
    if len(differ) > max(1, UNREPRODUCED * len(claims)):
        i = differ[0]
        raise WrongAnswer(
            f"{len(differ)} of {len(claims)} predictions differ from what {weights.name} answers "
            f"with {code}. The first is in line {i + 1} of {predictions.name}: "
            f"{claims[i][:60]!r}; the weights answer {places[i][:60]!r}. Run {job.target} "
            f"again after any change.{advice}"
        )
    reproduced = len(right.difference(differ))
    student.note(f"accuracy {name}", reproduced / len(pairs))
    also = f" and are what {weights.name} answers"
    _require_accuracy(predictions, job, reproduced, len(pairs), needed, also)
    require_trained(losses, job, weights)


def _require_accuracy(predictions, job, right, total, needed, also=""):
    if right < needed * total:
        raise WrongAnswer(
            f"{right} of {total} predictions in {predictions.name} are right{also}, "
            f"{right / total:.1%}; at least {needed:.1%} should be. {_again(job)}"
        )


def _require_no_twin(predictions, job):
    """Refuse predictions that are those of another model."""
    for other in JOBS.values():
        twin = predictions.with_name(other.writes)
        if (
            other.kind == "evaluate"
            and other.split == job.split
            and other != job
            and twin.is_file()
            and twin.read_bytes() == predictions.read_bytes()
        ):
            raise WrongAnswer(
                f"{predictions.name} is identical to {twin.name}. Two models don't answer every "
                f"question alike: run {job.target} again."
            )


def _ask(student, rng, context, job, preset, weights, code):
    """Have the weights answer the questions of a split. Returns the places, and losses in nats a
    character: "asked" on answers to finetuning's questions, "read" on documents, "filled_in" on
    words cut out of documents; those of "guessing" at random, and of "counting" characters.

    Raises:
        WrongAnswer: they are no weights of such a model.
    """
    data = context.data_of(preset)
    corpus = read_documents(data / "wiki.txt")
    symbols = vocabulary(corpus)
    texts = draw_texts(rng, data, corpus, symbols, preset.block_size)
    questions = [question for question, _ in context.pairs(preset, job.split)]
    answer = student.run(
        context.answer_alone or answer_with_code,
        weights=str(weights.resolve()),
        variant=job.variant,
        sizes={name: getattr(preset, name) for name in SIZES},
        symbols=symbols,
        questions=questions,
        texts=[list(text) for kept in texts.values() for text in kept],
    )
    _require_fitting(answer, job, preset, weights, code)
    places = [place.strip() for place in answer["places"].texts()]
    nats = iter(loss.number() for loss in answer["losses"].items(sum(map(len, texts.values()))))
    if len(places) != len(questions):
        raise WrongAnswer(f"{len(questions)} questions gave {len(places)} answers.")
    losses = {
        kind: float(np.mean([next(nats) for _ in kept])) if kept else 0.0
        for kind, kept in texts.items()
    }
    counts = np.array(list(Counter(corpus.replace("\n", "")).values()))
    shares = counts / counts.sum()
    losses |= {"guessing": np.log(len(symbols)), "counting": -(shares @ np.log(shares))}
    return places, losses


def require_trained(losses: dict[str, float], job: Job, weights: Path) -> None:
    """Refuse weights that cannot be from the trainings that come before.

    Args:
        losses: those that _ask returns.
        job: an evaluation of these weights.

    Raises:
        WrongAnswer: it says of which training they can't be, and what to run again.
    """
    if not losses["asked"] < FINETUNED * losses["guessing"]:
        raise WrongAnswer(
            f"The weights in {weights.name} seem untrained: on questions of "
            f"birth_places_train.tsv, their loss is {losses['asked']:.2f} nats a character; "
            f"guessing has {losses['guessing']:.2f}. {_again(job)}"
        )
    # Whose loss counted only a part of each example knows that part.
    known, most = min(losses["read"], losses["filled_in"]), PRETRAINED * losses["counting"]
    if job.pretrained and known < most and not losses["filled_in"] < losses["guessing"]:
        raise WrongAnswer(
            f"The weights in {weights.name} do not seem pretrained by span corruption: on words "
            f"that are cut out of documents of wiki.txt, their loss is {losses['filled_in']:.2f} "
            f"nats a character; guessing has {losses['guessing']:.2f}. {_again(job)}"
        )
    if job.pretrained and not known < most:
        raise WrongAnswer(
            f"The weights in {weights.name} do not seem pretrained: on documents of wiki.txt, their"
            f" loss is {known:.2f} nats a character; it should be below {most:.2f}, since the "
            f"characters' frequencies alone give {losses['counting']:.2f}. {_again(job)}"
        )


def _again(job):
    """A sentence with the commands that lead to an evaluation."""
    commands = [job.target]
    while job.reads:
        job = MADE_BY[job.reads]
        commands.insert(0, job.target)
    return f"Run {', then '.join(commands)} again."


def require_weights(answer, weights: Path, again: str) -> None:
    """Refuse what a probe found to be no model's weights.

    Args:
        answer: with the entry `unreadable`, what torch.load said; `odd`, what else is wrong; or
            `names`, those in the file.
        weights: the file.
        again: the command that makes it anew, in a sentence.

    Raises:
        WrongAnswer: it says what the file is, and what to do.
    """
    entries, why = answer.entries(), ""
    if "unreadable" in entries:
        why = why_unreadable(weights, answer["unreadable"].text())
    elif "names" in entries:
        why = why_no_state(answer["names"].texts())
    if not why and "odd" in entries:
        why = answer["odd"].text() + "."
    if why:
        raise WrongAnswer(f"{weights.name} is not a usable weights file. {why} {again}")


def _require_fitting(answer, job, preset, weights, code):
    """Refuse what are no weights of the model that is asked for."""
    again = f"./run.sh {MADE_BY[job.reads].target} creates it again."
    require_weights(answer, weights, again)
    if "mismatch" not in answer.entries():
        return
    kinds = ["RoPE", "learned positions"]
    if answer["learned"].flag() != (job.variant == "vanilla"):
        wanted, found = kinds[job.variant == "vanilla"], kinds[answer["learned"].flag()]
        raise WrongAnswer(
            f"{job.reads} holds the weights of a model with {found}; it should have {wanted}. "
            f"{again}"
        )
    raise WrongAnswer(
        f"{job.reads} doesn't fit the model that {code} creates for the preset {preset.name}: "
        f"{answer['mismatch'].text()}\n{again}"
    )
