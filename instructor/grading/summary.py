"""The summaries that `grade` and `merge` print, and their exit codes."""

import shlex
import sys
from pathlib import Path

from autograder.report import harmless
from common.files import UserError

from .grades import Entry, GradedClass
from .state import Handed

SHOWN = 20  # people or submissions that are listed
# timeouts that are no accident: submissions, and their share of those graded
MANY = 3, 0.25


def few(lines: list[str]) -> list[str]:
    """The first lines, safe for a terminal, and how many more there are."""
    more = [f"  and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return [*(harmless(line).replace("\n", " ") for line in lines[:SHOWN]), *more]


def say_summary(
    graded: GradedClass,
    counts: dict[str, int],
    begun: dict,
    out: Path,
    changes: list[str],
    gone: list[Handed],
) -> int:
    """Print the summary of a run of `grade`.

    Args:
        counts: numbers of submissions graded "now", "before" and with timeouts ("late").
        begun: when the run began, or the interrupted run that it continued: the "totals" by id,
            and the length of the "history".
        changes: sentences about options that differ from the previous run.
        gone: submissions that the run no longer found.

    Returns:
        The exit code: 0; 3 if somebody has no grade yet, or many met a time limit.
    """
    from instructor.grading.pages import gradebook

    entries = graded.entries
    nothing = sum(not entry.source for entry in entries)
    print(
        f"{len(entries)} people: {sum(bool(entry.report) for entry in entries)} graded, "
        f"{sum(bool(entry.refused) for entry in entries)} refused, {nothing} handed nothing in. "
        f"Submissions graded now: {counts['now']}, in earlier runs: {counts['before']}."
    )
    for entry in entries:
        if entry.refused:
            print(harmless(f"  refused, {entry.person.id!r}: {entry.refused}"))
        for text in [*entry.for_staff, *entry.remarks, *entry.reasons]:
            print(harmless(f"  {entry.person.id!r}: {text}"))
    for text in changes:
        print(text)
    results = [
        f"  {person!r}, {id}: {old}; now {new} ({why})"
        for _, _, what, person, id, old, new, why in graded.history[begun["history"] :]
        if what == "graded again"
    ]
    if results:
        print(f"{len(results)} results have changed ({out / 'history.csv'}):")
        print("\n".join(few(results)))
    before = begun["totals"]
    totals = [
        f"  {entry.person.id!r}: {before[entry.person.id]:g} points before, {entry.total:g} now"
        for entry in entries
        if entry.final and before.get(entry.person.id, entry.total) != entry.total
    ]
    if totals:
        print(f"The points of {len(totals)} people who were graded before have changed:")
        print("\n".join(few(totals)))
    unknown = sum(
        entry.source != "" and entry.submitted is None and not entry.days_late for entry in entries
    )
    if unknown and graded.due:
        print(f"{unknown} submissions have no submission time and count as on time.")
    print(
        f"Pages: {out / 'class.html'}, {out / 'students'}; gradebooks: {out / 'grades.csv'} (for "
        f"Canvas), {out / 'grades-plain.csv'}; to fill in: {out / 'written.csv'}, "
        f"{out / 'overrides.csv'}"
    )
    if removed := sorted(before.keys() & graded.left):
        told = [f"  {id!r} had {before[id]:g} points" for id in removed]
        print(f"{len(told)} people are no longer in the class:\n" + "\n".join(few(told)))
    if left_out := gradebook.canvas(graded)[1]:
        print(
            f"{len(left_out)} people are not in grades.csv, which is for Canvas: their ids there "
            "are not known. Give a roster with a column canvas_id, such as Canvas' gradebook."
        )
    if gone:
        print(
            f"\n{len(gone)} submissions that an earlier run found are no longer there; their "
            "grades still count. To drop them: --only-these.",
            file=sys.stderr,
        )
        told = [f"  {one.label} of {one.person!r}" for one in gone]
        print("\n".join(few(told)), file=sys.stderr)
    code = say_problems(graded, out)
    if counts["late"] >= max(MANY[0], MANY[1] * counts["now"]):
        print(
            f"\n{counts['late']} of {counts['now']} submissions hit a time limit, too many for an "
            "accident. Is the machine slow or busy? Grade them again with fewer --workers: "
            + shlex.join(
                ["python", "-m", "instructor", "grade", "--out", str(out), "--workers", "1"]
            )
            + " --again --why 'busy machine'",
            file=sys.stderr,
        )
        code = 3
    return code


def say_problems(graded: GradedClass, out: Path) -> int:
    """Print who has no grade yet, and where markers differ.

    Returns:
        The exit code: 3 if somebody has no grade yet, else 0.
    """
    from instructor.grading.written import forms

    try:
        if count := forms.waiting(graded, out / forms.NAME):
            print(
                f"{count} marks in {out / forms.NAME} are not merged yet: python -m instructor "
                f"merge {out}"
            )
    except UserError as error:
        print(f"{out / forms.NAME} can't be merged: {error}", file=sys.stderr)
    if graded.conflicts:
        print(
            f"\nMarkers differ in {len(graded.conflicts)} places. To settle them, merge a form "
            f"with the right points: python -m instructor merge {out} --written FILE --decide",
            file=sys.stderr,
        )
        print("\n".join(few([f"  {text}" for text in graded.conflicts])), file=sys.stderr)
    pending = [entry for entry in graded.entries if entry.pending and not entry.excused]
    if pending:
        print(
            f"\n{len(pending)} people have checks that are not graded yet, and so no grade. Run "
            "grade again with the folder of their submissions:",
            file=sys.stderr,
        )
        told = [
            f"  {entry.person.id!r}: {len(entry.pending)} checks, such as {entry.pending[0]}"
            for entry in pending
        ]
        print("\n".join(few(told)), file=sys.stderr)
    errors = [entry for entry in graded.entries if entry.grader_errors and not entry.excused]
    if errors:
        _say_errors(errors, out)
    return 3 if pending or errors else 0


def _say_errors(entries: list[Entry], out: Path) -> None:
    """List the grader's own errors."""
    count = sum(len(entry.grader_errors) for entry in entries)
    print(
        f"\n{count} checks of {len(entries)} submissions failed with grader errors, which are no "
        "student's fault; those grades are not final. Fix the cause and run the same command: it "
        f"grades only these again. {out / 'class.html'} has the details.",
        file=sys.stderr,
    )
    lines = []
    for entry in entries:
        reasons = {}
        for check in entry.grader_errors:
            said = check["details"].strip().splitlines() or ["no reason given"]
            reason = said[-1 if said[0].startswith(("Traceback", "This check did not run")) else 0]
            reasons.setdefault(reason[:200], []).append(check["id"])
        for reason, ids in reasons.items():
            more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
            lines.append(f"  {entry.person.id!r}, {', '.join(ids[:3])}{more}: {reason}")
    print("\n".join(few(lines)), file=sys.stderr)
