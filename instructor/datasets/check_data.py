"""`python -m instructor check-data DIR`: whether a corpus and its questions suit the assignment."""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from common.files import read_text
from jobs.presets import PRESETS
from jobs.problem1.data import SPLITS, TEST_ANSWERS, Data

OVERLAP = 0.01  # share of a split's names that may be in another split, as in the public corpus
BASELINE = 0.10  # accuracy of a constant answer; above this, accuracies say little
UNREAD = 0.05  # share of people whose place no model can read
WORD = re.compile(r"[^\W_]+")

Rows = list[tuple[str, str]]  # questions with their places
Finding = tuple[bool, str, str]  # is it fine? what it is, and what to do if it isn't


def run(args: argparse.Namespace) -> int:
    """Check a folder and print what was found; returns 1 if there are problems.

    Raises:
        UserError: a file is missing, or the jobs would refuse it.
    """
    block_size = PRESETS[args.preset].block_size
    data = Data(args.data, block_size, args.gold)
    documents = data.corpus.split("\n")
    splits = {split: data.questions(split) for split in SPLITS}
    questions = {split: [question for question, _ in rows] for split, rows in splits.items()}
    answered = {split: rows for split, rows in splits.items() if rows[0][1] is not None}
    findings = [
        *people_in_two_splits(questions),
        *answers_in_the_corpus(args.data, documents, questions["test"]),
        *places_in_reach(documents, answered, longest=int(block_size * 3 / 4)),
        *most_common_places(answered),
    ]
    for fine, fact, advice in findings:
        print(f"ok: {fact}" if fine else f"PROBLEM: {fact}. {advice}")
    return 0 if all(fine for fine, _, _ in findings) else 1


def people_in_two_splits(questions: dict[str, list[str]]) -> Iterator[Finding]:
    """Names in two splits, whatever their case and blanks, if they are more than a few."""
    names = {
        split: {_plain(name_in(question)) for question in questions[split]} for split in SPLITS
    }
    for first, second in combinations(names, 2):
        both = names[first] & names[second]
        yield (
            len(both) <= OVERLAP * min(len(names[first]), len(names[second])),
            f"{SPLITS[first]} and {SPLITS[second]} share {len(both)} names{_some(both)}",
            "Remove each from one of the two.",
        )


def answers_in_the_corpus(
    folder: Path, documents: list[str], questions: list[str]
) -> Iterator[Finding]:
    """Answers to the test questions, in what students get."""
    for path in sorted(folder.rglob("*")):
        if path.name.lower() == TEST_ANSWERS:
            yield False, f"{path} has the test answers, in the folder for students", "Move it away."
    if "\t" in read_text(folder / SPLITS["test"]):
        yield False, f"{SPLITS['test']} has answers after its questions", "Remove them."
    asked = re.compile("|".join(re.escape(_plain(question)) for question in questions))
    telling = [text for text in documents if asked.search(_plain(text))]
    yield (
        not telling,
        f"wiki.txt has {len(telling)} documents with a test question word for word"
        + _some(text[:60] for text in telling),
        "Remove them: a corpus states facts, and doesn't answer questions.",
    )


def places_in_reach(
    documents: list[str], splits: dict[str, Rows], longest: int
) -> Iterator[Finding]:
    """Places that no model can have read, as span corruption shows the first `longest` characters
    of a document.
    """
    containing = defaultdict(list)  # word -> documents
    for text in documents:
        for word in set(WORD.findall(text)):
            containing[word].append(text)

    def can_be_read(name, place):
        return any(
            find_words(text, name) >= 0 and 0 <= find_words(text, place) <= longest - len(place)
            for text in containing[max(WORD.findall(name), key=len, default="")]
        )

    for split, rows in splits.items():
        unread = [question for question, place in rows if not can_be_read(name_in(question), place)]
        yield (
            len(unread) <= UNREAD * len(rows),
            f"{SPLITS[split]}: the places of {len(unread) / len(rows):.1%} are not in the first "
            f"{longest} characters of a document about the person{_some(unread)}",
            "No model can learn them: shorten the text before them, or drop these people.",
        )


def most_common_places(splits: dict[str, Rows]) -> Iterator[Finding]:
    """Places so common that the same answer for everybody is often right."""
    for split, rows in splits.items():
        place, count = Counter(place for _, place in rows).most_common(1)[0]
        yield (
            count <= BASELINE * len(rows),
            f"{SPLITS[split]}: {place!r} for all is right {count / len(rows):.1%} of the time",
            f"Have at most {BASELINE:.0%} from one place, or accuracies will say little.",
        )


def name_in(question: str) -> str:
    """The name that a question asks for; the whole question if it has another form."""
    return question.removeprefix("Where was ").removesuffix(" born?").strip()


def find_words(text: str, words: str) -> int:
    """Where words first occur in a text as whole words; -1 if they don't."""
    match = re.search(rf"(?<![^\W_]){re.escape(words)}(?![^\W_])", text)
    return match.start() if match else -1


def _plain(text):
    """The text in lower case and with single blanks, to be compared."""
    return " ".join(text.split()).casefold()


def _some(things):
    """A colon and the first three, quoted; "" if there is none."""
    things = sorted(things)
    more = f" and {len(things) - 3:,} more" if len(things) > 3 else ""
    return f": {', '.join(map(repr, things[:3]))}{more}" if things else ""
