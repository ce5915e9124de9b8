"""An evaluation: the model answers the questions of dev or test."""

from collections import Counter

from common.files import UserError, write_text
from jobs.corpus import read_questions
from jobs.problem1.answers import predict_places


def evaluate(job, options, submission, dataset, model) -> tuple[int, int, int]:
    """Answer the questions of `job.split`, and write the places to the job's file.

    Args:
        job: an evaluation.
        options: of this run.
        submission: the student's package.
        dataset: the CharCorruptionDataset of the corpus, for its vocabulary.
        model: with its weights loaded.

    Returns:
        The number of questions whose answers are known (0 if they are not here), of right answers,
        and of right answers if the most common place of the training set is always given.

    Raises:
        UserError: the questions and the answers don't fit together, or a file is wrong.
    """
    preset, out = options.preset, options.out / job.writes
    name = "birth_dev.tsv" if job.split == "dev" else "birth_test_inputs.tsv"
    questions = read_questions(
        options.data / name, dataset.stoi, preset.block_size, answers=job.split == "dev"
    )
    gold = options.data / name
    if job.split == "test" and options.gold is not None:
        gold = options.gold / "birth_test.tsv"
        if [q for q, _ in read_questions(gold, dataset.stoi, preset.block_size, answers=True)] != [
            q for q, _ in questions
        ]:
            raise UserError(
                f"{gold} does not answer the questions of {options.data / name}. Check --gold and "
                "--data."
            )

    places = predict_places(model, [question for question, _ in questions], dataset, options.device)
    write_text(out, "".join(place + "\n" for place in places))
    print(f"Wrote {out}")
    total, correct = submission.evaluate_places(str(gold), places)
    if not total:
        print(f"{len(places)} predictions. The answers are not here, so there is no accuracy.")
        return 0, correct, 0
    train = read_questions(
        options.data / "birth_places_train.tsv", dataset.stoi, preset.block_size, answers=True
    )
    common = Counter(place for _, place in train).most_common(1)[0][0]
    _, baseline = submission.evaluate_places(str(gold), [common] * total)
    print(
        f"Correct: {correct} of {total}, {correct / total:.1%}. "
        f"Always answering {common!r} gets {baseline}, {baseline / total:.1%}."
    )
    return total, correct, baseline
