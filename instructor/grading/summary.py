"""What `grade` prints at the end, and its exit code."""

import sys
from pathlib import Path

from autograder.report import harmless

from .changes import Change
from .grades import GradedClass
from .pages import gradebook
from .statistics import unmarked

SHOWN = 20  # people that are listed
# timeouts that are no accident: submissions, and their share of those graded
MANY = 3, 0.25
DETAILS = ("submission", "check", "points", "penalty", "refused")  # changes that totals explain


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
    entries, decisions = graded.entries, graded.decisions
    refused = [entry for entry in entries if entry.refused]
    absent = sum(not entry.source and not entry.excused for entry in entries)
    excused = sum(bool(entry.excused) for entry in entries)
    print(
        f"{len(entries)} people: {sum(bool(entry.report) for entry in entries)} graded, "
        f"{len(refused)} refused, {absent} handed nothing in"
        f"{f', {excused} excused' * bool(excused)}. Submissions graded now: {now}."
    )
    totals = [change for change in changes if change.what in ("total", "left the class")]
    moved = {change.person for change in totals}
    others = [c for c in changes if c.what not in DETAILS and c.person not in moved]
    for title, lines in {
        "Refused": [f"{entry.person.id!r}: {entry.refused}" for entry in refused],
        "Remarks": [
            f"{entry.person.id!r}: {text}"
            for entry in entries
            for text in (*entry.for_staff, *entry.remarks)
        ],
        "Whose points have changed, and why": [
            f"{change.person!r}: {change.old or 'none'}, now {change.new or 'none'}: {change.why}"
            for change in totals
        ],
        "Decisions that changed no total": [f"{c.person!r}: {c.text}" for c in others],
        "Lines of people who have left the class were skipped": decisions.skipped,
    }.items():
        _list(title, lines)
    untimed = sum(bool(e.source) and e.submitted is None and not e.days_late for e in entries)
    left_out = len(gradebook.canvas(graded)[1])
    parts = sum(len(unmarked(graded, entry)) for entry in entries)
    requests = sum(not request.answer for request in decisions.requests)
    for applies, text in (
        (
            untimed and graded.due,
            f"{untimed} submissions have no submission time and count as on time.",
        ),
        (
            0 < left_out < len(entries),
            f"{left_out} people are not in grades.csv, which is for Canvas: their ids there are "
            "not known. Give a roster with a column canvas_id, such as Canvas' gradebook.",
        ),
        (parts, f"{parts} written parts have no points yet: totals are without them."),
        (requests, f"Open requests: {requests}. Read {folder / 'requests.html'}."),
    ):
        if applies:
            print(text)
    print(f"Pages and gradebooks are in {folder}: class.html, grades.csv, history.csv, ...")
    return _print_problems(graded, folder, now, slow)


def _print_problems(graded, folder, now, slow):
    """Print on stderr what keeps grades from being final; returns the exit code."""
    waiting = [entry for entry in graded.entries if not entry.final and not entry.excused]
    many = slow >= max(MANY[0], MANY[1] * now)
    for title, lines in {
        "Markers differ, so these parts have no points yet. Copy their lines of a form into "
        f"{folder / 'written' / 'decided.csv'}, with the points that are right": graded.conflicts,
        "No grade yet, because checks have still to be graded. Run the same command again": [
            f"{entry.person.id!r}: {len(entry.pending)} checks, such as {entry.pending[0]}"
            for entry in waiting
            if entry.pending
        ],
        "No grade yet, because the grader failed, which is no student's fault. Fix the cause and "
        f"run the same command; {folder / 'class.html'} has the details": [
            f"{entry.person.id!r}: {len(entry.grader_errors)} checks, such as "
            f"{entry.grader_errors[0]['id']}: {_last_line(entry.grader_errors[0]['details'])}"
            for entry in waiting
            if entry.grader_errors
        ],
        f"{slow} of {now} submissions hit a time limit, too many for an accident. Is the machine "
        "slow or busy? Grade again with fewer workers (settings.toml)": [
            f"python -m instructor grade {folder} --again"
        ]
        * many,
    }.items():
        _list(title, lines, sys.stderr)
    return 3 if waiting or many else 0


def _list(title, lines, stream=None):
    """Print lines below a title, no more than SHOWN; nothing without lines."""
    if lines:
        shown = [harmless(line).replace("\n", " ") for line in lines[:SHOWN]]
        if len(lines) > SHOWN:
            shown.append(f"and {len(lines) - SHOWN} more (history.csv has all changes)")
        print(f"\n{title}:", *shown, sep="\n  ", file=stream)


def _last_line(details):
    """Of a traceback, what went wrong."""
    return "".join(details.strip().splitlines()[-1:])[:200]
