"""What `grade` prints at the end, and its exit code."""

import sys
from pathlib import Path

from autograder.report import harmless

from .changes import Change
from .grades import Entry, GradedClass
from .pages import gradebook

SHOWN = 20  # people that are listed
# timeouts that are no accident: submissions, and their share of those graded
MANY = 3, 0.25


def print_summary(
    graded: GradedClass, folder: Path, changes: list[Change], now: int, slow: int
) -> int:
    """Print what was graded, what has changed, and who has no grade yet.

    Args:
        folder: of the class.
        changes: since the last run.
        now: the number of submissions graded in this run.
        slow: how many of them had a timeout.

    Returns:
        The exit code: 0; 3 if somebody has no grade yet, or many met a time limit.
    """
    entries = graded.entries
    refused = [entry for entry in entries if entry.refused]
    absent = [entry for entry in entries if not entry.source and not entry.excused]
    excused = sum(bool(entry.excused) for entry in entries)
    print(
        f"{len(entries)} people: {sum(bool(entry.report) for entry in entries)} graded, "
        f"{len(refused)} refused, {len(absent)} handed nothing in"
        f"{f', {excused} excused' * bool(excused)}. Submissions graded now: {now}."
    )
    _list("Refused", [f"{entry.person.id!r}: {entry.refused}" for entry in refused])
    notes = [(e, text) for e in entries for text in (*e.for_staff, *e.remarks)]
    _list("Remarks", [f"{entry.person.id!r}: {text}" for entry, text in notes])
    totals = [change for change in changes if change.what in ("total", "left the class")]
    _list(
        "Whose points have changed, and why",
        [
            f"{change.person!r}: {change.old or 'none'}, now {change.new or 'none'}: {change.why}"
            for change in totals
        ],
    )
    told = {change.person for change in totals}
    _list(
        "Decisions that changed no total",
        [
            f"{change.person!r}: {change.text}"
            for change in changes
            if change.what not in ("submission", "check", "points", "penalty", "refused")
            and change.person not in told
        ],
    )
    _list("Lines of people who have left the class were skipped", graded.decisions.skipped)
    unknown = sum(
        bool(entry.source) and entry.submitted is None and not entry.days_late for entry in entries
    )
    if unknown and graded.due:
        print(f"{unknown} submissions have no submission time and count as on time.")
    left_out = gradebook.canvas(graded)[1]
    if 0 < len(left_out) < len(entries):
        print(
            f"{len(left_out)} people are not in grades.csv, which is for Canvas: their ids there "
            "are not known. Give a roster with a column canvas_id, such as Canvas' gradebook."
        )
    parts = [check for check in graded.manifest.checks.values() if not check.coded]
    unmarked = sum(check.id not in entry.written for check in parts for entry in entries)
    if unmarked:
        print(f"{unmarked} written parts have no points yet: totals are without them.")
    open_requests = sum(not request.answer for request in graded.decisions.requests)
    if open_requests:
        print(f"Open requests: {open_requests}. Read {folder / 'requests.html'}.")
    print(f"Pages and gradebooks are in {folder}: class.html, grades.csv, history.csv, ...")
    return _print_problems(graded, folder, now, slow)


def _print_problems(graded, folder, now, slow):
    """Print on stderr what keeps grades from being final; returns the exit code."""
    _list(
        "Markers differ, so these parts have no points yet. Copy their lines of a form into "
        f"{folder / 'written' / 'decided.csv'}, with the points that are right",
        graded.conflicts,
        sys.stderr,
    )
    waiting = [entry for entry in graded.entries if not entry.final and not entry.excused]
    _list(
        "No grade yet, because checks have still to be graded. Run the same command again",
        [
            f"{entry.person.id!r}: {len(entry.pending)} checks, such as {entry.pending[0]}"
            for entry in waiting
            if entry.pending
        ],
        sys.stderr,
    )
    _list(
        "No grade yet, because the grader failed, which is no student's fault. Fix the cause and "
        f"run the same command; {folder / 'class.html'} has the details",
        [text for entry in waiting for text in _grader_errors(entry)],
        sys.stderr,
    )
    many = slow >= max(MANY[0], MANY[1] * now)
    if many:
        print(
            f"\n{slow} of {now} submissions hit a time limit, too many for an accident. Is the "
            "machine slow or busy? Grade again with fewer workers (settings.toml): python -m "
            f"instructor grade {folder} --again",
            file=sys.stderr,
        )
    return 3 if waiting or many else 0


def _list(title, lines, stream=None):
    """Print lines below a title, no more than SHOWN; nothing without lines."""
    if lines:
        more = (
            [f"and {len(lines) - SHOWN} more (history.csv has all changes)"]
            if len(lines) > SHOWN
            else []
        )
        shown = [harmless(line).replace("\n", " ") for line in lines[:SHOWN]]
        print(f"\n{title}:", *shown, *more, sep="\n  ", file=stream)


def _grader_errors(entry: Entry):
    """A line for each reason of the grader's failures, with the checks."""
    reasons = {}
    for check in entry.grader_errors:
        lines = check["details"].strip().splitlines() or ["no reason given"]
        reason = lines[-1 if lines[0].startswith(("Traceback", "This check did not run")) else 0]
        reasons.setdefault(reason[:200], []).append(check["id"])
    for reason, ids in reasons.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        yield f"{entry.person.id!r}, {', '.join(ids[:3])}{more}: {reason}"
