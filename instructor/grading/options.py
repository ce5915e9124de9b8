"""The options of `grade`. What decides about points is remembered: a run without an option takes
that of the run before.
"""

import argparse
import tempfile
from pathlib import Path

from common.arguments import number
from common.files import UserError
from instructor.grading.finding.late import parse_due
from instructor.grading.finding.roster import Roster, named_column, read_roster

from .graded_class import KEEP

ROOT = Path(__file__).resolve().parents[2]
# What is remembered, as data, and what counts where nobody ever said anything.
DEFAULTS = {
    "due": None,
    "grace": 0,
    "late_percent": 0,
    "late_cap": 100,
    "free_days": 0,
    "canvas_late_days": 1,
    "keep": "latest",
    "title": None,
    "preset": None,
    "data": None,
    "gold": None,
    "seconds": 300,
    "submissions": None,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that are remembered; one that is not given is None."""
    late = parser.add_argument_group("late work")
    late.add_argument(
        "--due",
        help="such as '2026-12-01 23:59' (in this machine's time zone) or with +01:00 behind it",
    )
    late.add_argument(
        "--grace", type=number(0), metavar="MINUTES", help="after the due date that are not late"
    )
    late.add_argument(
        "--late-percent",
        type=number(0, 100),
        metavar="P",
        help="of the automatic points lost with each day begun",
    )
    late.add_argument(
        "--late-cap", type=number(0, 100), metavar="P", help="the most that is lost so"
    )
    late.add_argument(
        "--free-days", type=number(0, kind=int), metavar="N", help="days late that cost nothing"
    )
    late.add_argument(
        "--canvas-late-days",
        type=number(0, kind=int),
        metavar="N",
        help="days that count where an export only says LATE, as Canvas does (default: 1)",
    )
    late.add_argument(
        "--keep", choices=KEEP, help="which of several submissions counts (default: latest)"
    )
    grading = parser.add_argument_group("grading")
    grading.add_argument("--title", help="of the assignment (default: that of course.toml)")
    grading.add_argument(
        "--preset",
        choices=("laptop", "gpu"),
        help="which preset the results are of (default: found out)",
    )
    grading.add_argument(
        "--data", type=Path, help="the corpus and the questions, of another cohort"
    )
    grading.add_argument("--gold", type=Path, help="the answers of the test questions")
    grading.add_argument(
        "--seconds",
        type=number(1),
        metavar="N",
        help="of all checks of a submission together (default: 300)",
    )


def choose_options(args: argparse.Namespace, before: dict) -> dict:
    """The options that count, as data: those given now, else those of the run before, else the
    defaults.

    Args:
        before: what this returned for the run before; empty for the first run, or with --forget.
    """
    given = {name: getattr(args, name) for name in DEFAULTS if getattr(args, name) is not None}
    for name in ("data", "gold", "submissions"):
        if name in given:
            given[name] = str(given[name].resolve())
    if "due" in given:
        given["due"] = parse_due(given["due"]).isoformat()
    kept = {name: before[name] for name in DEFAULTS if name in before}
    return {**DEFAULTS, **kept, **given}


def complete(options: dict, weak: bool) -> dict:
    """The options with what pages and a replay need to know besides."""
    from instructor.course import read_course

    return {
        **options,
        "title": read_course(title=options["title"]).title,
        "hidden": str(ROOT / "instructor" / "checks"),
        "gold": options["gold"] or str(ROOT / "instructor" / "gold"),
        "weak": weak,
    }


def differences(before: dict, after: dict) -> list[str]:
    """A sentence for each option that is another one than in the run before."""

    def told(value):
        return "not given" if value is None else value

    return [
        f"--{name.replace('_', '-')} is {told(after[name])}, and was {told(before[name])}."
        for name in DEFAULTS
        if name in before and before[name] != after[name] and name not in ("submissions", "title")
    ]


def choose_roster(
    args: argparse.Namespace, kept: dict | None, title: str
) -> tuple[Roster, dict | None]:
    """The roster that was given; else that of the run before, which is kept as the file that it
    was, since another title may ask for another of its columns; else an empty one.

    Returns:
        The roster, and what is to be kept for the next run.

    Raises:
        UserError: it cannot be read.
    """
    if args.roster:
        roster = read_roster(args.roster, dict(args.column), title)
        text = args.roster.read_bytes().decode("latin-1")
        return roster, {"file": text, "columns": dict(args.column)}
    if args.column:
        raise UserError("--column says what the columns of a roster are. Add --roster FILE.")
    if not kept:
        return Roster(), None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "roster.csv")
        path.write_bytes(kept["file"].encode("latin-1"))
        return read_roster(path, kept["columns"], title), kept


def add_roster(parser: argparse.ArgumentParser) -> None:
    """Add the options of the roster."""
    parser.add_argument(
        "--roster",
        type=Path,
        help="a CSV file of the class: id, name, email, ...; or a gradebook exported from Canvas",
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        type=named_column,
        metavar="FIELD=HEADER",
        help="which column of the roster has what, such as github=username",
    )
