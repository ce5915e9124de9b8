"""Deducts for a fault only once: what builds on a failed part is graded again with the reference's
part instead.

Only when staff grade, since only they have the reference. The manifest says what builds on what
(`builds_on`).
"""

import dataclasses
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from autograder import Check, Outcome, Report, Submission, Verdict
from checks.support.staging import END, GIVEN, RESULTS, START
from common.files import UserError

STUB = re.compile(rf"{START}[ \t]*\n\s*raise NotImplementedError\(\"(\w+): ")
BODY = re.compile(rf"(?<={START}\n).*?(?=^[ \t]*{END})", re.DOTALL | re.MULTILINE)


def grade_once(
    report: Report,
    checks: list[Check],
    submission: Submission,
    folder: Path,
    reference: Path,
    grade: Callable[[list[Check], Submission], Report],
) -> list[Outcome]:
    """Grade checks again that failed together with a question that they build on, with our code for
    that question; the better result counts.

    Only points are kept from the second grading, since it ran our code in the student's process.

    Args:
        report: of the first grading; its outcomes are updated.
        checks: the checks it was made with, limits included.
        submission: the graded one.
        folder: an empty folder that the submission may read, for the copy.
        reference: the folder of the solution.
        grade: grades a submission with given checks.

    Returns:
        The updated outcomes.

    Raises:
        UserError: the starter doesn't match the reference.
    """
    manifest, mended = report.manifest, []
    coded = [check for check in manifest.checks.values() if check.coded and not check.artifacts]

    def failures(question, outcomes):
        """A question's checks that, as far as known, failed because of a fault in its code."""
        fine = (None, Verdict.PASSED, Verdict.GRADER_ERROR)
        return [
            check
            for check in coded
            if check.question == question
            and outcomes.get(check.id, Outcome("")).verdict not in fine
        ]

    failed = [
        check
        for check in checks
        if manifest.questions[check.question].builds_on
        and check.id in {failure.id for failure in failures(check.question, report.outcomes)}
        and not _is_unwritten(check, report.outcomes[check.id])
    ]
    bases = {base for check in failed for base in manifest.bases(check.question)}
    # A run of only some checks doesn't know the others' outcomes.
    memory = max((check.memory for check in checks), default=0)
    unknown = [
        dataclasses.replace(check, memory=min(check.memory, memory))
        for check in coded
        if check.question in bases and report.outcomes.get(check.id, Outcome("")).verdict is None
    ]
    outcomes = report.outcomes | (grade(unknown, submission).outcomes if unknown else {})
    groups: dict[tuple[str, ...], list[Check]] = {}
    for check in failed:
        bad = tuple(base for base in manifest.bases(check.question) if failures(base, outcomes))
        if bad:
            groups.setdefault(bad, []).append(check)
    for bad, together in groups.items():
        copy = folder / "-".join(bad)
        if not graft(submission, copy, reference, bad):
            continue
        visible = any(check.kind == "basic" for base in bad for check in failures(base, outcomes))
        grafted = dataclasses.replace(
            submission, path=(copy, *submission.path[1:]), root=copy / submission.package, asked={}
        )
        again = grade(together, grafted)
        for check in together:
            mine, other = report.outcomes[check.id], again.outcomes[check.id]
            if other.score <= mine.score or other.verdict not in (
                Verdict.PASSED,
                Verdict.WRONG_ANSWER,
            ):
                continue
            mine.score = other.score
            if other.verdict is Verdict.PASSED:
                mine.verdict, mine.message, mine.details = Verdict.PASSED, "", ""
            # findings of hidden checks only are not disclosed early
            if visible or check.kind == "hidden":
                mine.hints = [
                    *mine.hints,
                    f"A fault costs points only once: with our code for {' and '.join(bad)} in "
                    f"place of yours, {check.id} earns {other.score:g} of {check.points:g}, "
                    "and that counts.",
                ]
            mended.append(mine)
    return mended


def _is_unwritten(check, outcome):
    """Whether the check met a place of its own question that is not filled in."""
    unwritten = outcome.verdict is Verdict.NOT_IMPLEMENTED
    return unwritten and f"{check.question}: " in outcome.details


def graft(submission: Submission, copy: Path, reference: Path, questions: tuple[str, ...]) -> bool:
    """Copy a staged submission, with the reference's code between the markers of some questions.

    Returns:
        Whether any code was replaced; a file without its markers, or not in UTF-8, is unchanged.

    Raises:
        UserError: the starter's places differ from the reference's.
    """
    shutil.copytree(submission.path[0], copy, ignore=shutil.ignore_patterns("__pycache__", RESULTS))
    changed = False
    for path in sorted((copy / submission.package).rglob("*.py")):
        name = path.relative_to(copy / submission.package).as_posix()
        if not (reference / name).is_file():
            continue
        ours = places(name, reference)
        try:
            text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            continue
        text = re.sub(rf"(?<={START})[ \t]*(#.*)?$", "", text, flags=re.MULTILINE)
        asked = {question for question, _ in ours}
        if len(BODY.findall(text)) != len(ours) or not asked & {*questions}:
            continue

        following = iter(ours)

        def fill(match):
            question, body = next(following)
            return body if question in questions else match[0]

        path.write_text(BODY.sub(fill, text), encoding="utf-8", newline="\n")
        changed = True
    return changed


def places(name: str, reference: Path) -> list[tuple[str, str]]:
    """Return the places in a file, in order: each one's question, and our code for it.

    Raises:
        UserError: the starter's places differ from the reference's.
    """
    asked = STUB.findall((GIVEN / name).read_text(encoding="utf-8"))
    ours = BODY.findall((reference / name).read_text(encoding="utf-8"))
    if len(asked) != len(ours):
        raise UserError(f"{GIVEN / name} was changed; grading needs the starter here. Restore it.")
    return list(zip(asked, ours, strict=True))
