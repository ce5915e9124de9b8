"""`python -m instructor check-data DIR`: checks if a folder of data is fit for the assignment."""

import argparse
from pathlib import Path

from common.files import UserError, read_questions
from instructor.datasets.folder import SPLITS, Corpus, read_folder

from .findings import (
    Finding,
    alphabet,
    baseline,
    blank_lines,
    formats,
    leakage,
    lengths,
    many,
    overlap,
    places_in_reach,
)

CHECKS = ("formats", "overlap", "leakage", "baseline", "alphabet", "length", "place")


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `check-data`."""
    command = commands.add_parser(
        "check-data", help="check a folder of data: formats, overlap, leaks, lengths and more"
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
        help="the folder of birth_test.tsv, to also check the test answers",
    )
    command.add_argument(
        "--preset",
        choices=("laptop", "gpu"),
        default="gpu",
        help="texts must fit into its block (default: gpu)",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check a folder and print the findings; returns 1 if there are errors."""
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
        print(f"{level:<8} {check:<9} {facts.get(check, 'skipped until the formats are right')}")
    for finding in sorted(findings, key=lambda finding: not finding.error):
        print(f"\n{'Error' if finding.error else 'Warning'} ({finding.check}): {finding.text}")
    errors = sum(finding.error for finding in findings)
    verdict = "is not fit for the assignment" if errors else "is fit for the assignment"
    print(
        f"\n{args.data} {verdict}: {many(errors, 'error')}, "
        f"{many(len(findings) - errors, 'warning')}."
    )
    return 1 if errors else 0


def check_folder(
    data: Path, gold: Path | None, block_size: int
) -> tuple[dict[str, str], list[Finding]]:
    """Check a folder of data.

    Args:
        data: the folder that students get.
        gold: the folder of the test answers, or None.
        block_size: of the model that is to read it.

    Returns:
        What each check measured, in words (nothing for a check that could not run), and the
        findings.

    Raises:
        UserError: `data` is not a folder.
    """
    if not data.is_dir():
        raise UserError(f"{data} is not a folder. Give the one with wiki.txt and the questions.")
    facts, findings = {}, []
    try:
        corpus = read_folder(data, block_size)
        if gold is not None:
            corpus = _with_answers(corpus, data, gold, block_size)
    except UserError as error:
        facts["formats"] = "a file that the jobs would refuse"
        return facts, [Finding("formats", True, str(error))] + leakage(data, None)[1]
    looks = {
        "formats": formats,
        "overlap": overlap,
        "baseline": baseline,
        "alphabet": alphabet,
        "length": lengths,
        "place": places_in_reach,
    }
    for name, look in looks.items():
        facts[name], found = look(corpus, block_size)
        findings += found
    facts["leakage"], found = leakage(data, corpus)
    return facts, findings + blank_lines(data) + found


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
