"""`python -m instructor check-data DIR`: whether a folder of data is fit for the assignment,
whoever made it.
"""

import argparse
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from common.files import UserError, read_questions, read_text

from .folder import (
    LONGEST_PLACE,
    QUESTION,
    SPLITS,
    Corpus,
    documents_about,
    longest_truncation,
    name_in,
    place_positions,
    read_folder,
)
from .leaks import is_known, other_files, told_by

CHECKS = ("formats", "overlap", "leakage", "baseline", "alphabet", "length", "place")
ASKED = re.compile(r"Where was [^?]*\S born\?")
# of a split's people may be in another one: two people of one name, as the public corpus has them
OVERLAP = 0.01
BASELINE = 0.10  # for always the same answer, before accuracies say little
SYMBOLS = 256  # of the public corpus, and of the model whose size the handout states
UNREAD = 0.05  # of people whose place no model can have read, before there is a warning
UNREADABLE = 0.50  # and before there is an error
SHORTEST = 4  # characters of a document: span corruption cannot cut a shorter one


@dataclass(frozen=True)
class Finding:
    """What is wrong in a folder: which check found it, what and where it is, and what to do. An
    `error` makes the folder unfit.
    """

    check: str
    error: bool
    text: str


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `check-data`."""
    command = commands.add_parser(
        "check-data",
        help="whether a folder of data is fit: formats, overlap, leaks, lengths and more",
    )
    command.add_argument(
        "data",
        type=Path,
        metavar="DIR",
        help="the folder of wiki.txt and the questions, as students get it",
    )
    command.add_argument(
        "--gold",
        type=Path,
        metavar="DIR",
        help="the folder of birth_test.tsv, to check the test answers, too",
    )
    command.add_argument(
        "--preset",
        choices=("laptop", "gpu"),
        default="gpu",
        help="whose block texts have to fit into (default: gpu)",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check a folder, print what was found; returns 1 if there are errors."""
    from jobs.presets import PRESETS

    facts, findings = check_folder(args.data, args.gold, PRESETS[args.preset].block_size)
    for check in CHECKS:
        mine = [finding for finding in findings if finding.check == check]
        level = (
            "error"
            if any(finding.error for finding in mine)
            else "warning"
            if mine
            else "ok"
            if check in facts
            else "-"
        )
        print(f"{level:<8} {check:<9} {facts.get(check, 'not looked at: the formats come first')}")
    for finding in sorted(findings, key=lambda finding: not finding.error):
        print(f"\n{'Error' if finding.error else 'Warning'} ({finding.check}): {finding.text}")
    errors = sum(finding.error for finding in findings)
    verdict = "is not fit for the assignment" if errors else "is fit for the assignment"
    print(
        f"\n{args.data} {verdict}: {_many(errors, 'error')}, "
        f"{_many(len(findings) - errors, 'warning')}."
    )
    return 1 if errors else 0


def check_folder(
    data: Path, gold: Path | None, block_size: int
) -> tuple[dict[str, str], list[Finding]]:
    """Look at a folder of data.

    Args:
        data: the folder that students get.
        gold: the folder of the test answers, or None.
        block_size: of the model that is to read it.

    Returns:
        What each check measured, in words (a check that could not run has none), and what was found
        wrong.

    Raises:
        UserError: `data` is no folder.
    """
    if not data.is_dir():
        raise UserError(f"{data} is no folder. Give the one with wiki.txt and the questions.")
    facts, findings = {}, []
    try:
        corpus = read_folder(data, block_size)
        if gold is not None:
            corpus = _with_answers(corpus, data, gold, block_size)
    except UserError as error:
        facts["formats"] = "a file that the jobs would refuse"
        return facts, [Finding("formats", True, str(error))] + _leaks(data, None)[1]
    looks = {
        "formats": _formats,
        "overlap": _overlap,
        "baseline": _baseline,
        "alphabet": _alphabet,
        "length": _lengths,
        "place": _places,
    }
    for name, look in looks.items():
        facts[name], found = look(corpus, block_size)
        findings += found
    facts["leakage"], found = _leaks(data, corpus)
    return facts, findings + _blank_lines(data) + found


def _with_answers(corpus, data, gold, block_size):
    path = gold / "birth_test.tsv"
    rows = read_questions(
        path, dict.fromkeys("\n" + "".join(corpus.documents), 0), block_size, answers=True
    )
    if [question for question, _ in rows] != [question for question, _ in corpus.splits["test"]]:
        raise UserError(
            f"{path} doesn't answer the questions of {data / SPLITS['test']} in their order. "
            "Use files that were made together."
        )
    return Corpus(corpus.documents, corpus.splits | {"test": rows})


def _who(question):
    """A name as it is compared: of one spelling, whatever the blanks and capitals."""
    return " ".join(name_in(question).split()).casefold()


def _many(things, name):
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


def _formats(corpus, block_size):
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
                    f'{SPLITS[split]}: {_many(odd, "row")} without "Where was NAME born?": '
                    f"{_some(odd)}. Reword them.",
                )
            )
    documents = corpus.documents
    for found, what, do in (
        (
            [text for text in documents if text != text.strip()],
            "a blank begins or ends",
            "Strip them",
        ),
        (
            [text for text in documents if any(map(_is_control, text))],
            "a tab or another control character stands in",
            "Put blanks in their place",
        ),
        (
            [text for text, count in Counter(documents).items() for _ in range(count - 1)],
            "there is a second copy of",
            "Remove it",
        ),
    ):
        if found:
            findings.append(
                Finding(
                    "formats",
                    False,
                    f"wiki.txt: {what} {_many(found, 'document')}: "
                    f"{_some(text[:40] for text in found)}. {do}.",
                )
            )
    sizes = " / ".join(f"{len(rows):,}" for rows in corpus.splits.values())
    return f"{sizes} questions (train, dev, test), {len(corpus.documents):,} documents", findings


def _blank_lines(data):
    lines = read_text(data / "wiki.txt").removesuffix("\n").split("\n")
    blank = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    return (
        [
            Finding(
                "formats",
                False,
                f"wiki.txt: {_many(blank, 'blank line')}, the first is line {blank[0]:,}. Remove "
                "them: each line is a document.",
            )
        ]
        if blank
        else []
    )


def _overlap(corpus, block_size):
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
                f"{SPLITS[one]} and {SPLITS[other]} share {_many(both, 'name')}: {_some(both)}. "
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
                f"{SPLITS[split]} asks {_many(again, 'question')} again{answer}. Remove one of "
                "each."
            )
            findings.append(Finding("overlap", False, text))
    return f"{_many(shared, 'name')} in two splits", findings


def _leaks(data, corpus):
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
            f"{folder} is of a working folder of the command wikipedia: it has all test answers, "
            "and whoever is on the exclusion list. Move that folder away.",
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
                f"{SPLITS['test']} has answers behind its questions. Leave only the questions.",
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
                f"wiki.txt: {_many(told, 'document')} with a test question word by word: "
                f"{_some(text[:60] for text in told)}. Remove them: a corpus tells facts, and "
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
            f"{path} answers {_many(count, 'test question')}, as it looks: their names stand in it "
            "with something beside them, or the places in their order. Move it away.",
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
                f"{_many(unknown, 'file')} that the assignment doesn't know: {_some(unknown)}. "
                "Students get them: look whether they tell any answers, or move them away.",
            )
        )
    return fact, findings


def _baseline(corpus, block_size):
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


def _alphabet(corpus, block_size):
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


def _lengths(corpus, block_size):
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
                f"{_many(long, 'place')} of more than {LONGEST_PLACE} characters: {_some(long)}. "
                "Shorten them: no more is read of an answer, so it would always be wrong.",
            )
        )
    if short:
        findings.append(
            Finding(
                "length",
                False,
                f"wiki.txt: {_many(short, 'document')} of fewer than {SHORTEST} characters: "
                f"{_some(short)}. Remove them: there is nothing to cut out.",
            )
        )
    return (
        f"documents {min(lengths)} to {max(lengths)} characters, {sum(lengths) / len(lengths):.0f} "
        f"on average; questions at most {question} of {block_size + 1}"
    ), findings


def _places(corpus, block_size):
    last, findings, told = longest_truncation(block_size), [], []
    for split, rows in corpus.splits.items():
        about = documents_about({name_in(question) for question, _ in rows}, corpus.documents)
        without = sorted(name for name, texts in about.items() if not texts)
        if without:
            text = (
                f"{SPLITS[split]}: {_many(without, 'name')} in no document of wiki.txt: "
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
                f"{SPLITS[split]}: the places of {unread:.1%} don't stand within the first {last} "
                f"characters of a document about the person ({nowhere:.1%} in none at all), so no "
                "model can learn them. Shorten what stands before them, or drop these people."
            )
            findings.append(Finding("place", unread > UNREADABLE, text))
    return f"within the first {last} characters of a document for " + ", ".join(told), findings
