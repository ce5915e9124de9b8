"""`python -m instructor check-data DIR`: whether a corpus and its questions suit the assignment."""

import argparse
import re
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

from common.files import UserError, read_text
from instructor.datasets.worlds.world import name_in
from jobs.corpus import read_documents, read_questions

SPLITS = {
    "train": "birth_places_train.tsv",
    "dev": "birth_dev.tsv",
    "test": "birth_test_inputs.tsv",
}
OVERLAP = 0.01  # share of a split's names that may be in another split, as in the public corpus
BASELINE = 0.10  # accuracy of a constant answer; above this, accuracies say little
UNREAD = 0.05  # share of people whose place no model can read
ASKED = re.compile(r"Where was [^?]*\S born\?")

Rows = list[tuple[str, str | None]]  # questions with their places; None where they are not known
Result = tuple[str, list[str]]  # what a check measured, and its problems


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `check-data`."""
    command = commands.add_parser(
        "check-data", help="check a corpus: people in two splits, leaked answers, places, baseline"
    )
    command.add_argument(
        "data", type=Path, metavar="DIR", help="the folder of wiki.txt and the questions"
    )
    command.add_argument(
        "--gold", type=Path, metavar="DIR", help="the folder of birth_test.tsv, to check it, too"
    )
    command.add_argument(
        "--preset",
        choices=("laptop", "gpu"),
        default="gpu",
        help="texts must fit into its block (default: gpu)",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check a folder and print what was found; returns 1 if there are problems.

    Raises:
        UserError: a file is missing, or the jobs would refuse it.
    """
    from jobs.presets import PRESETS

    block_size = PRESETS[args.preset].block_size
    documents, splits = read_folder(args.data, args.gold, block_size)
    results = {
        "splits": people_in_two_splits(splits),
        "answers": answers_in_the_corpus(args.data, documents, splits["test"]),
        "places": places_in_reach(documents, splits, longest=int(block_size * 3 / 4)),
        "baseline": most_common_places(splits),
    }
    problems = [problem for _, found in results.values() for problem in found]
    for check, (fact, found) in results.items():
        print(f"{'problem' if found else 'ok':<8} {check:<9} {fact}")
    print("".join(f"\n{problem}" for problem in problems))
    return 1 if problems else 0


def read_folder(
    data: Path, gold: Path | None, block_size: int
) -> tuple[list[str], dict[str, Rows]]:
    """Read a folder as the jobs do: its documents, and the rows of each split.

    Raises:
        UserError: a file is missing, or the jobs would refuse it.
    """
    if not data.is_dir():
        raise UserError(f"{data} is not a folder. Give the one with wiki.txt and the questions.")
    text = read_documents(data / "wiki.txt")
    stoi = dict.fromkeys(text + "\n", 0)
    splits = {
        split: read_questions(data / name, stoi, block_size, answers=split != "test")
        for split, name in SPLITS.items()
    }
    if gold is not None:
        path = gold / "birth_test.tsv"
        asked = [question for question, _ in splits["test"]]
        splits["test"] = read_questions(path, stoi, block_size, answers=True)
        if asked != [question for question, _ in splits["test"]]:
            raise UserError(
                f"{path} doesn't answer the questions of {data / SPLITS['test']} in their order. "
                "Use files that were made together."
            )
    return text.split("\n"), splits


def people_in_two_splits(splits: dict[str, Rows]) -> Result:
    """Names in two splits, whatever their case and blanks, if they are more than a few."""
    names = {
        split: {" ".join(name_in(question).split()).casefold() for question, _ in rows}
        for split, rows in splits.items()
    }
    shared, problems = 0, []
    for first, second in combinations(names, 2):
        both = names[first] & names[second]
        shared += len(both)
        if len(both) > OVERLAP * min(len(names[first]), len(names[second])):
            problems.append(
                f"{SPLITS[first]} and {SPLITS[second]} share {len(both)} names: {_some(both)}. "
                "Remove each from one of the two."
            )
    return f"{shared} names in two splits", problems


def answers_in_the_corpus(data: Path, documents: list[str], test: Rows) -> Result:
    """Answers to the test questions, in what students get."""
    problems = [
        f"{path} has the test answers, in the folder that students get. Move it away."
        for path in sorted(data.rglob("*"))
        if path.name.lower() == "birth_test.tsv"
    ]
    if "\t" in read_text(data / SPLITS["test"]):
        problems.append(f"{SPLITS['test']} has answers after its questions. Remove them.")
    questions = {" ".join(question.split()).casefold() for question, _ in test}
    telling = [
        text
        for text in documents
        if any(
            question.casefold() in questions for question in ASKED.findall(" ".join(text.split()))
        )
    ]
    if telling:
        problems.append(
            f"wiki.txt has {len(telling)} documents with a test question word for word: "
            f"{_some(text[:60] for text in telling)}. Remove them: a corpus states facts, and "
            "doesn't answer questions."
        )
    return f"test answers {'found' if problems else 'in no file and no document'}", problems


def places_in_reach(documents: list[str], splits: dict[str, Rows], longest: int) -> Result:
    """Places that no model can have read, as span corruption shows the first `longest` characters
    of a document.
    """
    facts, problems = [], []
    for split, rows in splits.items():
        if rows[0][1] is None:
            continue
        about = documents_about({name_in(question) for question, _ in rows}, documents)
        unread = [
            question
            for question, place in rows
            if not any(
                0 <= find_words(text, place) <= longest - len(place)
                for text in about[name_in(question)]
            )
        ]
        facts.append(f"{1 - len(unread) / len(rows):.1%} of {split}")
        if len(unread) > UNREAD * len(rows):
            problems.append(
                f"{SPLITS[split]}: the places of {len(unread) / len(rows):.1%} are not within the "
                f"first {longest} characters of a document about the person, so no model can learn "
                f"them: {_some(unread)}. Shorten the text before them, or drop these people."
            )
    return f"in the first {longest} characters of a document for {', '.join(facts)}", problems


def most_common_places(splits: dict[str, Rows]) -> Result:
    """Places so common that the same answer for everybody is often right."""
    facts, problems = [], []
    for split, rows in splits.items():
        if rows[0][1] is None:
            continue
        place, count = Counter(place for _, place in rows).most_common(1)[0]
        share = count / len(rows)
        facts.append(f"{share:.1%} of {split} ({place})")
        if share > BASELINE:
            problems.append(
                f"{SPLITS[split]}: {place!r} for everybody is right {share:.1%} of the time, more "
                f"than {BASELINE:.0%}. Replace some people, or accuracies will say little."
            )
    return f"one place for everybody gets {', '.join(facts)}", problems


def documents_about(names: set[str], documents: list[str]) -> dict[str, list[str]]:
    """The documents that contain each name."""
    containing = defaultdict(set)  # word -> numbers of documents
    for number, document in enumerate(documents):
        for word in _words(document):
            containing[word].add(number)
    about = {}
    for name in names:
        candidates = [containing[word] for word in _words(name)] or [range(len(documents))]
        numbers = sorted(set(candidates[0]).intersection(*candidates[1:]))
        about[name] = [documents[i] for i in numbers if find_words(documents[i], name) >= 0]
    return about


def find_words(text: str, words: str) -> int:
    """Where words first occur in a text as whole words; -1 if they don't."""
    match = re.search(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])", text)
    return match.start() if match else -1


def _words(text):
    return set(re.findall(r"[^\W_]+", text))


def _some(things):
    """The first three, quoted."""
    things = sorted(things)
    more = f" and {len(things) - 3:,} more" if len(things) > 3 else ""
    return ", ".join(map(repr, things[:3])) + more
