"""`python -m instructor explain OUT STUDENT CHECK` runs one check again with the inputs of the
grade, to answer questions about it.
"""

import argparse
import os
import shlex
import sys
from pathlib import Path

from common.files import UserError


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    parser = commands.add_parser(
        "explain",
        help="run one check of one student again, with the same inputs, and show all details",
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder that grade wrote")
    parser.add_argument(
        "student", metavar="STUDENT", help="an id, or a name with its words in any order"
    )
    parser.add_argument("check", metavar="CHECK", help="such as 1h-5-hidden; or a question")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the check, and compare the result with the grade.

    Returns:
        0 if both agree, 1 if not.

    Raises:
        UserError: no such student or check, or nothing that was graded.
    """
    from autograder.report import Table, harmless, write_failures
    from checks.support.session import grade_submission
    from instructor.grading.finding.people import find_entry, name_of

    from .fingerprint import digest_submission, seed_for
    from .graded_class import class_of, options_of, setting_of
    from .state import State

    with State(args.out) as state:
        graded, setting, seed = (
            class_of(state, stale=True),
            setting_of(options_of(state)),
            int(state.get("seed")),
        )
        entry = find_entry(graded, args.student)
        handed = next(
            (
                one
                for one in state.handed()
                if one.label == entry.source and one.person == entry.person.id
            ),
            None,
        )
    if handed is None:
        raise UserError(harmless(f"{entry.person.id} handed nothing in."))
    if entry.refused:
        raise UserError(
            harmless(f"The submission of {entry.person.id} was refused: {entry.refused}")
        )
    try:
        checks = [check for check in graded.manifest.select([args.check]) if check.coded]
    except KeyError:
        raise UserError(
            f"There is no check or question {args.check!r}. python src/grader.py --list shows them."
        ) from None
    if not checks:
        raise UserError(f"{args.check} is marked by a person: see written.csv.")
    source = Path(os.fsdecode(handed.source))
    if not source.exists():
        raise UserError(harmless(f"{source} is no longer there. Put it back, then try again."))
    changed = digest_submission(source) != handed.digest
    if changed:
        print(
            f"{harmless(str(source))} has changed since it was graded: the grade is for the "
            "earlier content.",
            file=sys.stderr,
        )
    report = grade_submission(
        source, checks, setting, seed_for(seed, handed.digest), graded.manifest
    )
    print(harmless(f"{entry.person.name} ({entry.person.id}), {source}"))
    table = Table(sys.stdout, graded.manifest, sys.stdout.isatty())
    for outcome in report.outcomes.values():
        table.line(outcome)
    who = name_of(entry)

    def repeat(ids):
        return shlex.join(["python", "-m", "instructor", "explain", str(args.out), who, ids[0]])

    write_failures(report, table, repeat)
    before = {
        check["id"]: _said(check["verdict"], check["score"])
        for check in entry.checks
        if check["verdict"]
    }
    differ = 0
    for id, outcome in report.outcomes.items():
        said, now = before.get(id, "not graded yet"), _said(outcome.verdict.value, outcome.score)
        if said != now:
            differ += 1
            print(f"\nThe grade for {id} is {said}; now it is {now}.")
        if id in entry.manual:
            print(
                f"\nStaff gave {entry.manual[id]:g} points for {id}: they count, whatever the "
                "check finds."
            )
        elif said != now:
            again = ["python", "-m", "instructor", "grade", "--out", str(args.out)]
            known = id in before and not changed
            print(
                "To grade it again: " + shlex.join([*again, "--again", who, id]) + ' --why "..."'
                if known
                else "To grade what is there now: " + shlex.join(again)
            )
    if not differ:
        print("\nThe same as in the grade.")
    return 1 if differ else 0


def _said(verdict, points):
    """What two gradings must agree on."""
    return f"{verdict}, {round(points, 4):g} points"
