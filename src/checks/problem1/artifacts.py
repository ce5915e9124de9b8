"""Judges results: predictions are claims that count only if the submitted weights reproduce
them.
"""

from dataclasses import dataclass
from pathlib import Path

from autograder import NotImplementedYet, WrongAnswer, probe
from checks.support.context import GRADED, Context
from common.files import read_documents, why_not_utf8
from jobs.deliverables import MADE_BY
from jobs.presets import PRESETS, Preset
from jobs.targets import JOBS, WRITTEN_BY
from jobs.weights import why_no_state, why_other, why_unreadable

# A CPU and a GPU may answer differently where two characters are almost equally likely.
UNREPRODUCED = 0.05


@probe
def answer_questions(weights, variant, sizes, corpus, questions):
    """Load the weights into the submission's model and answer the questions as ./run.sh does."""
    import torch

    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
    except Exception as error:
        return {"unreadable": str(error)[:3000]}
    if not isinstance(state, dict):
        return {"odd": f"It is not a state_dict but a {type(state).__name__}"}
    names = [str(name)[:60] for name in state][:500]
    if not state or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items()
    ):
        return {"names": names, "odd": "It is not a state_dict, a dict of tensors"}
    odd = [
        name
        for name, value in state.items()
        if value.layout != torch.strided or value.is_meta or value.nelement() > 10**8
    ]
    if odd:
        return {"odd": f"{odd[0]} is sparse, has no values, or has more than 100 million numbers"}
    if not all(torch.isfinite(value).all() for value in state.values()):
        return {"odd": "Some of the weights are NaN or infinite"}
    from answers import predict_places

    from submission import helper
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPTConfig

    dataset = CharCorruptionDataset(corpus, sizes.pop("block_size"))
    config = GPTConfig(dataset.vocab_size, dataset.block_size, **sizes)
    model = {"vanilla": helper.initialize_vanilla_model, "rope": helper.initialize_rope_model}[
        variant
    ](config)
    learned = "pos_emb" in state
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        return {"mismatch": str(error)[:600], "learned": learned, "names": names}
    return {"places": predict_places(model, questions, dataset), "learned": learned}


def require_result(folder: Path, name: str) -> Path:
    """Path of a result file.

    Raises:
        NotImplementedYet: the file doesn't exist.
    """
    path = folder / name
    if not path.is_file():
        raise NotImplementedYet(f"{name} doesn't exist yet. ./run.sh {MADE_BY[name]} writes it.")
    return path


def read_predictions(path: Path) -> list[str]:
    """Return the lines of a predictions file.

    Raises:
        WrongAnswer: it is not UTF-8, or another file than its name says.
    """
    raw = path.read_bytes()
    if why := why_not_utf8(path.name, raw):
        raise WrongAnswer(why)
    if why := why_other(raw):
        raise WrongAnswer(f"{path.name}: {why}")
    text = raw.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    return [line.strip() for line in text.removesuffix("\n").split("\n")]


@dataclass(frozen=True)
class Judged:
    """What was judged: the model's variant, the preset, the weights file, and the correct
    predictions that were reproduced, as (question, place) pairs.
    """

    variant: str
    preset: Preset
    weights: Path
    right: list[tuple[str, str]]


def judge_predictions(
    student, rng, context: Context, target: str, sample: int, threshold: bool
) -> Judged:
    """Judge the predictions that a target of ./run.sh wrote.

    Args:
        target: an evaluation target.
        sample: how many predictions, besides all the correct ones, must be reproduced.
        threshold: whether to require the manifest's accuracy.

    Raises:
        NotImplementedYet: a file doesn't exist.
        WrongAnswer: a file is malformed, or the predictions are too inaccurate or not what the
            weights answer.
    """
    job = JOBS[target]
    predictions, weights = (
        require_result(context.artifacts, name) for name in (job.writes, job.reads)
    )
    claims = read_predictions(predictions)
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
    _require_accuracy(len(right), len(pairs), needed, "")
    for other in JOBS.values():
        twin = context.artifacts / other.writes
        if (
            other.kind == "evaluate"
            and other.split == job.split
            and other != job
            and twin.is_file()
            and twin.stat().st_size == predictions.stat().st_size
            and twin.read_bytes() == predictions.read_bytes()
        ):
            raise WrongAnswer(
                f"{predictions.name} is identical to {twin.name}. Two models don't answer every "
                f"question alike: run {job.target} again."
            )

    chosen = sorted(
        right | set(rng.choice(len(pairs), size=min(sample, len(pairs)), replace=False).tolist())
    )
    sizes = {
        "block_size": preset.block_size,
        "n_layer": preset.n_layer,
        "n_head": preset.n_head,
        "n_embd": preset.n_embd,
    }
    answer = student.run(
        answer_questions,
        weights=str(weights.resolve()),
        variant=job.variant,
        sizes=sizes,
        corpus=read_documents(context.data_of(preset) / "wiki.txt"),
        questions=[pairs[i][0] for i in chosen],
    )
    places = _places(answer, job, preset, weights, len(chosen))
    reproduced = {i for i, place in zip(chosen, places) if place.strip() == claims[i]}
    lost = [i for i in chosen if i not in reproduced]
    if len(lost) > max(1, UNREPRODUCED * len(chosen)):
        i = lost[0]
        raise WrongAnswer(
            f"{len(lost)} of {len(chosen)} checked predictions differ from what {weights.name} "
            f"answers with your code. The first is in line {i + 1} of {predictions.name}: "
            f"{claims[i][:60]!r}; the weights answer {places[chosen.index(i)][:60]!r}. Run "
            f"{job.target} again after any change."
        )
    student.note(f"accuracy {name}", len(right & reproduced) / len(pairs))
    _require_accuracy(
        len(right & reproduced), len(pairs), needed, " and are what the weights answer"
    )
    return Judged(job.variant, preset, weights, [pairs[i] for i in sorted(right & reproduced)])


def _require_accuracy(right, total, needed, which):
    if right < needed * total:
        raise WrongAnswer(
            f"{right} of {total} predictions are right{which}, {right / total:.1%}; at least "
            f"{needed:.1%} should be."
        )


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


def _places(answer, job, preset, weights, count):
    """Return the places that the weights answer."""
    again = f"./run.sh {WRITTEN_BY[job.reads].target} creates it again."
    require_weights(answer, weights, again)
    if "mismatch" in answer.entries():
        if answer["learned"].flag() != (job.variant == "vanilla"):
            kinds = (
                ("learned positions", "RoPE")
                if answer["learned"].flag()
                else ("RoPE", "learned positions")
            )
            raise WrongAnswer(
                f"{job.reads} holds the weights of a model with {kinds[0]}; it should have "
                f"{kinds[1]}. {again}"
            )
        raise WrongAnswer(
            f"{job.reads} doesn't fit the model that your code creates for the preset "
            f"{preset.name}: {answer['mismatch'].text()}\n"
            f"{again}"
        )
    places = answer["places"].texts()
    if len(places) != count:
        raise WrongAnswer(f"{count} questions gave {len(places)} answers.")
    return places
