"""Reads a folder of data: its corpus and questions, and the figures that describe them."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from common.files import UserError, read_documents, read_questions

SPLITS = {
    "train": "birth_places_train.tsv",
    "dev": "birth_dev.tsv",
    "test": "birth_test_inputs.tsv",
}
QUESTION = "Where was {} born?"
START = 4  # letters of a name that index it
LONGEST_PLACE = 32  # characters; no more of an answer are generated (answers.predict_places)
Rows = list[tuple[str, str | None]]  # questions with their places; None where they are not known
_ASKED = re.compile(r"Where was (.*\S) born\?")


@dataclass(frozen=True)
class Corpus:
    """A folder of data: its documents, and the rows of each split."""

    documents: list[str]
    splits: dict[str, Rows]


def read_folder(folder: Path, block_size: int) -> Corpus:
    """Read a folder as the jobs do, with their errors.

    Raises:
        UserError: as files.read_documents and files.read_questions.
    """
    text = read_documents(folder / "wiki.txt")
    stoi = dict.fromkeys(text + "\n", 0)
    splits = {
        split: read_questions(folder / name, stoi, block_size, answers=split != "test")
        for split, name in SPLITS.items()
    }
    return Corpus(text.split("\n"), splits)


def name_in(question: str) -> str:
    """The name that a question asks for; the whole question if it has another form."""
    match = _ASKED.fullmatch(question)
    return match[1].strip() if match else question


def longest_truncation(block_size: int) -> int:
    """The most characters of a document that span corruption shows to a model."""
    return int(block_size * 3 / 4)


def refuse_gold_inside(out: Path, gold: Path) -> None:
    """Refuse a folder of test answers inside the one that students get.

    Raises:
        UserError: it is inside.
    """
    if gold.resolve() == out.resolve() or out.resolve() in gold.resolve().parents:
        raise UserError(
            "--gold must not be inside --out: students get that folder. Nothing was written."
        )


def figures(documents: list[str], splits: dict[str, Rows]) -> dict[str, object]:
    """The figures that a README or a report states about an edition; places count where they are
    known.
    """
    lengths = [len(document) for document in documents]
    rows = [row for split in splits.values() for row in split]
    common, count = Counter(place for _, place in splits["dev"]).most_common(1)[0]
    return {
        "people": len(rows),
        "train / dev / test": " / ".join(str(len(splits[split])) for split in SPLITS),
        "documents": len(documents),
        "characters": sum(lengths) + len(lengths),
        "mean and longest document": f"{sum(lengths) / len(lengths):.0f} and {max(lengths)} "
        "characters",
        "symbols, with MASK and PAD": len(set("\n".join(documents))) + 2,
        "places": len({place for _, place in rows if place is not None}),
        "most common place in dev": f"{common}, {count / len(splits['dev']):.1%}",
    }


def find_word(text: str, word: str) -> int:
    """Where one or more words first occur in a text as whole words; -1 if they don't."""
    start = text.find(word)
    while start >= 0 and (
        text[max(0, start - 1) : start].isalnum() or text[start + len(word) :][:1].isalnum()
    ):
        start = text.find(word, start + 1)
    return start


def documents_about(names: set[str], documents: list[str]) -> dict[str, list[str]]:
    """The documents that contain each name."""
    found, by_start = {name: [] for name in names}, {}
    for name in names:
        by_start.setdefault(name[:START], []).append(name)
    lengths = sorted({len(start) for start in by_start})
    for document in documents:
        # Names begin where words do: looking for every name at every position would take minutes.
        words = {
            0,
            *(
                position + 1
                for position, character in enumerate(document)
                if not character.isalnum()
            ),
        }
        for start in {document[word : word + length] for word in words for length in lengths}:
            for name in by_start.get(start, ()):
                if find_word(document, name) >= 0:
                    found[name].append(document)
    return found


def place_positions(rows: Rows, about: dict[str, list[str]]) -> list[int | None]:
    """Where each person's place ends, at the earliest in a document with their name; None if none
    has it.

    Rows without a place are left out; `about` is what documents_about gives for their names.
    """
    known = [(name_in(question), place) for question, place in rows if place is not None]
    starts = (
        [start for text in about[name] if (start := find_word(text, place)) >= 0]
        for name, place in known
    )
    return [min(found) + len(place) if found else None for found, (_, place) in zip(starts, known)]
