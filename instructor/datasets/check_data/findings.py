"""The checks of a folder of data. Each returns what it measured, in words, and its findings."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sized
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from common.files import read_text
from instructor.datasets.folder import (
    LONGEST_PLACE,
    QUESTION,
    SPLITS,
    Corpus,
    documents_about,
    longest_truncation,
    name_in,
    place_positions,
)

from .leaks import is_known, other_files, told_by

ASKED = re.compile(r"Where was [^?]*\S born\?")
# share of a split's names that may be in another split, as in the public corpus
OVERLAP = 0.01
BASELINE = 0.10  # accuracy of a constant answer; above this, accuracies say little
SYMBOLS = 256  # in the public corpus, and in the model whose size the handout states
UNREAD = 0.05  # share of people with unreadable places that gives a warning
UNREADABLE = 0.50  # and an error
SHORTEST = 4  # characters of a document: span corruption cannot cut a shorter one


@dataclass(frozen=True)
class Finding:
    """A problem in a folder: which check found it, what and where it is, and how to fix it. An
    `error` makes the folder unfit.
    """

    check: str
    error: bool
    text: str


Result = tuple[str, list[Finding]]


def _who(question):
    """A name for comparison: blanks and case don't matter."""
    return " ".join(name_in(question).split()).casefold()


def many(things: int | Sized, name: str) -> str:
    """How many there are, in words."""
    count = things if isinstance(things, int) else len(things)
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _some(things):
    """The first three of many, quoted."""
    things = list(things)
    return ", ".join(map(repr, things[:3])) + (
        f" and {len(things) - 3:,} more" if len(things) > 3 else ""
    )


def _is_control(character):
    return unicodedata.category(character) in ("Cc", "Zl", "Zp")


def formats(corpus: Corpus, block_size: int) -> Result:
    """Questions in another form, and documents with odd characters or that occur twice."""
    findings = []
    for split, rows in corpus.splits.items():
        odd = [
            question
            for question, _ in rows
            if question != QUESTION.format(name_in(question)) or "  " in question
        ]
        if odd:
            findings.append(
                Finding(
                    "formats",
                    True,
                    f'{SPLITS[split]}: {many(odd, "row")} without "Where was NAME born?": '
                    f"{_some(odd)}. Reword them.",
                )
            )
    documents = corpus.documents
    for found, what, do in (
        (
            [text for text in documents if text != text.strip()],
            "with a space at the beginning or the end",
            "Strip them",
        ),
        (
            [text for text in documents if any(map(_is_control, text))],
            "with a tab or another control character",
            "Replace these with spaces",
        ),
        (
            [text for text, count in Counter(documents).items() for _ in range(count - 1)],
            "equal to an earlier one",
            "Remove the copies",
        ),
    ):
        if found:
            findings.append(
                Finding(
                    "formats",
                    False,
                    f"wiki.txt: {many(found, 'document')} {what}: "
                    f"{_some(text[:40] for text in found)}. {do}.",
                )
            )
    sizes = " / ".join(f"{len(rows):,}" for rows in corpus.splits.values())
    return f"{sizes} questions (train, dev, test), {len(corpus.documents):,} documents", findings


def blank_lines(data: Path) -> list[Finding]:
    """Blank lines of the corpus."""
    lines = read_text(data / "wiki.txt").removesuffix("\n").split("\n")
    blank = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    return (
        [
            Finding(
                "formats",
                False,
                f"wiki.txt: {many(blank, 'blank line')}, the first is line {blank[0]:,}. Remove "
                "them: each line is a document.",
            )
        ]
        if blank
        else []
    )


def overlap(corpus: Corpus, block_size: int) -> Result:
    """Names in two splits, and questions asked twice in one."""
    findings, shared = [], []
    names = {
        split: {_who(question): name_in(question) for question, _ in rows}
        for split, rows in corpus.splits.items()
    }
    for one, other in combinations(names, 2):
        both = sorted(names[one][who] for who in names[one].keys() & names[other].keys())
        shared += both
        if both:
            too_many = len(both) > OVERLAP * min(len(names[one]), len(names[other]))
            text = (
                f"{SPLITS[one]} and {SPLITS[other]} share {many(both, 'name')}: {_some(both)}. "
                "Remove each from one of the two."
            )
            findings.append(Finding("overlap", too_many, text))
    for split, rows in corpus.splits.items():
        answers = {}
        for question, place in rows:
            answers.setdefault(question, []).append(place)
        again = [place for places in answers.values() for place in places[1:]]
        torn = [name_in(question) for question, places in answers.items() if len(set(places)) > 1]
        if again:
            answer = f", of which {len(torn):,} have two answers ({_some(torn)})" if torn else ""
            text = (
                f"{SPLITS[split]} asks {many(again, 'question')} again{answer}. Remove one of each."
            )
            findings.append(Finding("overlap", False, text))
    return f"{many(shared, 'name')} in two splits", findings


def leakage(data: Path, corpus: Corpus | None) -> Result:
    """Test answers in the folder; only what needs no corpus if it is None."""
    others = other_files(data)
    gold = [path for path in others if path.name.lower() == "birth_test.tsv"]
    parts = [path for path in others if path.match("parts/*.jsonl.gz")]
    findings = [
        Finding(
            "leakage",
            True,
            f"{path} has the test answers, in the folder that students get. Move it away.",
        )
        for path in gold
    ]
    findings += [
        Finding(
            "leakage",
            True,
            f"{folder} is in a working folder of the command wikipedia: it has all test answers, "
            "and the people on the exclusion list. Move that folder away.",
        )
        for folder in sorted({path.parent for path in parts})
    ]
    if corpus is None:
        return "", findings
    test = corpus.splits["test"]
    if "\t" in read_text(data / SPLITS["test"]):
        findings.append(
            Finding(
                "leakage",
                True,
                f"{SPLITS['test']} has answers after its questions. Leave only the questions.",
            )
        )
    asked = {_who(question) for question, _ in test}
    told = [
        text
        for text in corpus.documents
        if any(_who(question) in asked for question in ASKED.findall(" ".join(text.split())))
    ]
    if told:
        findings.append(
            Finding(
                "leakage",
                True,
                f"wiki.txt: {many(told, 'document')} with a test question word for word: "
                f"{_some(text[:60] for text in told)}. Remove them: a corpus states facts, and "
                "doesn't answer questions.",
            )
        )
    others = [path for path in others if path not in gold + parts]
    names, places = [name_in(question) for question, _ in test], [place for _, place in test]
    leaking = {path: count for path in others if (count := told_by(path, names, places))}
    findings += [
        Finding(
            "leakage",
            True,
            f"{path} seems to answer {many(count, 'test question')}: it has their names with "
            "something beside them, or the places in their order. Move it away.",
        )
        for path, count in leaking.items()
    ]
    fact = "test answers in the folder" if findings else "no test answer in the folder"
    unknown = [
        str(path.relative_to(data)) for path in others if path not in leaking and not is_known(path)
    ]
    if unknown:
        findings.append(
            Finding(
                "leakage",
                False,
                f"{many(unknown, 'file')} that the assignment doesn't know: {_some(unknown)}. "
                "Students get them: check that they have no test answers, or move them away.",
            )
        )
    return fact, findings


def baseline(corpus: Corpus, block_size: int) -> Result:
    """Places so common that a constant answer is often right."""
    common = {
        split: Counter(place for _, place in rows).most_common(1)[0]
        for split, rows in corpus.splits.items()
        if rows[0][1] is not None
    }
    shares = {
        split: (place, count / len(corpus.splits[split]))
        for split, (place, count) in common.items()
    }
    findings = [
        Finding(
            "baseline",
            False,
            f"{SPLITS[split]}: {place!r} for everybody is right {share:.1%} of the time, more than "
            f"{BASELINE:.0%}. Replace some of these people, or accuracies will say little.",
        )
        for split, (place, share) in shares.items()
        if share > BASELINE
    ]
    return "one place for everybody gets " + ", ".join(
        f"{share:.1%} of {split} ({place})" for split, (place, share) in shares.items()
    ), findings


def alphabet(corpus: Corpus, block_size: int) -> Result:
    """More symbols than the model of the handout has."""
    used = Counter(character for document in corpus.documents for character in set(document))
    symbols, rare = len(used) + 3, sum(count == 1 for count in used.values())
    findings = []
    if symbols > SYMBOLS:
        rarest = sorted(used, key=lambda character: (used[character], character))[:3]
        findings.append(
            Finding(
                "alphabet",
                False,
                f"wiki.txt: {symbols} symbols; with more than {SYMBOLS} the model is larger than "
                f"the handout says. Drop documents with rare characters, such as {_some(rarest)}.",
            )
        )
    return (
        f"{symbols} symbols with PAD, MASK and the line end; {rare} of them in one document alone",
        findings,
    )


def lengths(corpus: Corpus, block_size: int) -> Result:
    """Places that are too long, and documents that are too short."""
    lengths = [len(document) for document in corpus.documents]
    short = [document for document in corpus.documents if len(document) < SHORTEST]
    question = max(
        len(question) + len(place or "") + 2
        for rows in corpus.splits.values()
        for question, place in rows
    )
    findings = []
    long = {
        place: None
        for rows in corpus.splits.values()
        for _, place in rows
        if len(place or "") > LONGEST_PLACE
    }
    if long:
        findings.append(
            Finding(
                "length",
                True,
                f"{many(long, 'place')} of more than {LONGEST_PLACE} characters: {_some(long)}. "
                "Shorten them: models generate no longer answers, so these would always be wrong.",
            )
        )
    if short:
        findings.append(
            Finding(
                "length",
                False,
                f"wiki.txt: {many(short, 'document')} of fewer than {SHORTEST} characters: "
                f"{_some(short)}. Remove them: there is nothing to cut out.",
            )
        )
    return (
        f"documents {min(lengths)} to {max(lengths)} characters, {sum(lengths) / len(lengths):.0f} "
        f"on average; questions at most {question} of {block_size + 1}"
    ), findings


def places_in_reach(corpus: Corpus, block_size: int) -> Result:
    """People without a document, and places that no model can have read."""
    last, findings, told = longest_truncation(block_size), [], []
    for split, rows in corpus.splits.items():
        about = documents_about({name_in(question) for question, _ in rows}, corpus.documents)
        without = sorted(name for name, texts in about.items() if not texts)
        if without:
            text = (
                f"{SPLITS[split]}: {many(without, 'name')} in no document of wiki.txt: "
                f"{_some(without)}. Add one for each, or drop them."
            )
            findings.append(Finding("place", len(without) > UNREAD * len(rows), text))
        if rows[0][1] is None:
            continue
        ends = place_positions(rows, about)
        unread, nowhere = (
            sum(end is None or end > last for end in ends) / len(ends),
            ends.count(None) / len(ends),
        )
        told.append(f"{1 - unread:.1%} of {split}")
        if unread > UNREAD:
            text = (
                f"{SPLITS[split]}: the places of {unread:.1%} are not within the first {last} "
                f"characters of a document about the person ({nowhere:.1%} in none at all), so no "
                "model can learn them. Shorten the text before them, or drop these people."
            )
            findings.append(Finding("place", unread > UNREADABLE, text))
    return f"within the first {last} characters of a document for " + ", ".join(told), findings
