"""The options of `grade`. Those that affect points are remembered: an option that is not given
keeps its value from the previous run.
"""

import argparse
import tempfile
from pathlib import Path

from common.command_line import number
from instructor import ROOT
from instructor.grading.finding.late import due_text, parse_due
from instructor.grading.finding.roster import Roster, read_roster

from .graded_class import KEEP

# The remembered options, as data, with their defaults.
DEFAULTS = {
    "at": None,
    "branch": None,
    "due": None,
    "grace": 0,
    "late_percent": 0,
    "late_cap": 100,
    "free_days": 0,
    "canvas_late_days": 1,
    "keep": "latest",
    "title": None,
    "handout": None,
    "preset": None,
    "data": None,
    "gold": None,
    "seconds": 240,
    "submissions": None,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that are remembered; one that is not given is None."""
    clones = parser.add_argument_group("clones")
    clones.add_argument(
        "--at",
        metavar="TIME",
        help="grade the last commit before this time, written as for --due; an extension moves it "
        "(default: the last commit)",
    )
    clones.add_argument(
        "--branch", metavar="NAME", help="the branch to grade (default: each clone's own)"
    )
    late = parser.add_argument_group("late work")
    late.add_argument(
        "--due",
        help="such as '2026-12-01 23:59' (in this machine's time zone), or followed by +01:00",
    )
    late.add_argument(
        "--grace",
        type=number(0),
        metavar="MINUTES",
        help="minutes after the due date that are not late",
    )
    late.add_argument(
        "--late-percent",
        type=number(0, 100),
        metavar="P",
        help="percentage of the automatic points lost per day begun",
    )
    late.add_argument(
        "--late-cap", type=number(0, 100), metavar="P", help="maximum percentage lost"
    )
    late.add_argument(
        "--free-days", type=number(0, kind=int), metavar="N", help="days late that cost nothing"
    )
    late.add_argument(
        "--canvas-late-days",
        type=number(0, kind=int),
        metavar="N",
        help="days to count if an export only says LATE, as Canvas does (default: 1)",
    )
    late.add_argument(
        "--keep", choices=KEEP, help="which of several submissions counts (default: latest)"
    )
    grading = parser.add_argument_group("grading")
    grading.add_argument("--title", help="the assignment's title (default: from course.toml)")
    grading.add_argument(
        "--handout",
        metavar="ADDRESS",
        help="where students read handout.html, for links in their feedback (default: no links)",
    )
    grading.add_argument(
        "--preset", choices=("laptop", "gpu"), help="preset of the results (default: detected)"
    )
    grading.add_argument("--data", type=Path, help="another cohort's corpus and questions")
    grading.add_argument("--gold", type=Path, help="the answers to the test questions")
    grading.add_argument(
        "--seconds",
        type=number(1),
        metavar="N",
        help="for all checks of a submission together (default: 240)",
    )


def choose_options(args: argparse.Namespace, before: dict) -> dict:
    """The options in effect, as data: given now, else from the previous run, else the defaults.

    Args:
        before: what this returned for the previous run; empty for the first run, or with --forget.
    """
    given = {name: getattr(args, name) for name in DEFAULTS if getattr(args, name) is not None}
    for name in ("data", "gold", "submissions"):
        if name in given:
            given[name] = str(given[name].resolve())
    for name in {"at", "due"} & given.keys():
        given[name] = due_text(parse_due(given[name]))
    kept = {name: before[name] for name in DEFAULTS if name in before}
    return {**DEFAULTS, **kept, **given}


def complete(options: dict, weak: bool) -> dict:
    """The options, with what pages and a replay also need."""
    from instructor.course import read_course

    return {
        **options,
        "title": read_course(title=options["title"]).title,
        "gold": options["gold"] or str(ROOT / "instructor" / "gold"),
        "weak": weak,
    }


def differences(before: dict, after: dict) -> list[str]:
    """A sentence for each option that differs from the previous run."""

    def told(value):
        return "not given" if value is None else value

    return [
        f"--{name.replace('_', '-')} is {told(after[name])}, and was {told(before[name])}."
        for name in DEFAULTS
        if name in before
        and before[name] != after[name]
        and name not in ("submissions", "title", "handout")
    ]


def choose_roster(
    args: argparse.Namespace, kept: dict | None, title: str
) -> tuple[Roster, dict | None]:
    """The roster given now, else the previous run's, else an empty one. The file itself is kept,
    since another title may need another of its columns.

    Returns:
        The roster, and what to keep for the next run.

    Raises:
        UserError: it cannot be read.
    """
    if args.roster:
        roster = read_roster(args.roster, title)
        return roster, {"file": args.roster.read_bytes().decode("latin-1")}
    if not kept:
        return Roster(), None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "roster.csv")
        path.write_bytes(kept["file"].encode("latin-1"))
        return read_roster(path, title), kept
