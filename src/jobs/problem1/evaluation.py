"""An evaluation: the model answers the questions of dev or test."""

from collections import Counter
from pathlib import Path

from common.files import write_text
from jobs.problem1.answers import predict_places
from jobs.problem1.data import Data


def evaluate(model, dataset, data: Data, split: str, device: str, out: Path) -> dict[str, int]:
    """Answer the questions of a split, and write the places to `out`, one per line.

    Args:
        model: with its weights loaded.
        dataset: the CharCorruptionDataset of the corpus, for its vocabulary.

    Returns:
        As in a Record: `total` questions whose answers are known (0 if they are not here),
        `correct` answers, and as a `baseline` those that are right if the most common place of the
        training set is always given.

    Raises:
        UserError: a file of data is wrong.
    """
    questions, answers = zip(*data.questions(split))
    known = None not in answers
    train = Counter(place for _, place in data.questions("train")) if known else None
    places = predict_places(model, [*questions], dataset, device)
    write_text(out, "".join(place + "\n" for place in places))
    print(f"Wrote {out}")
    if not known:
        print(f"{len(places)} predictions. The answers are not here, so there is no accuracy.")
        return {"total": 0, "correct": 0, "baseline": 0}
    total, common = len(answers), train.most_common(1)[0][0]
    correct = sum(place == answer for place, answer in zip(places, answers))
    baseline = answers.count(common)
    print(
        f"Correct: {correct} of {total}, {correct / total:.1%}. "
        f"Always answering {common!r} gets {baseline}, {baseline / total:.1%}."
    )
    return {"total": total, "correct": correct, "baseline": baseline}
