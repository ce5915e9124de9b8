"""`python -m instructor explain CLASS PERSON [CHECK]` answers a question about a grade: how it
comes about, and what a check found, which runs again with the same inputs.
"""

import argparse
import io
import shlex
import sys
from pathlib import Path

from autograder import Outcome, Report, Verdict
from autograder.report import Table, harmless, write_failures
from common.files import UserError

from .grades import Entry, GradedClass
from .text import points


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    parser = commands.add_parser(
        "explain",
        help="how a person's grade comes about, or what one check found, in full",
        description="With CHECK, the check runs again with the inputs of the grade.",
    )
    parser.add_argument("folder", type=Path, metavar="CLASS", help="the folder of the class")
    parser.add_argument(
        "person", metavar="PERSON", help="an id, or a name with its words in any order"
    )
    parser.add_argument(
        "check", metavar="CHECK", nargs="?", help="such as 1h-5-hidden; or a question"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Explain the grade, or run the check and compare the result with the grade.

    Returns:
        0; 1 if the check's result is another one than in the grade.

    Raises:
        UserError: no such person or check, or nothing that was graded.
    """
    from .finding.people import find_entry
    from .graded_class import load_class

    graded = load_class(args.folder)
    entry = find_entry(graded, args.person)
    print(harmless(f"{entry.person.name} ({entry.person.id}), {entry.source or 'no submission'}"))
    if args.check:
        return _run_again(args.folder, graded, entry, args.check)
    print(harmless(explanation(graded, entry)))
    return 0


def explanation(graded: GradedClass, entry: Entry, check: str = "") -> str:
    """What is known of a grade, as text for the staff; of a check or a question, what
    its checks found.
    """
    if check:
        asked = {found.id for found in graded.manifest.select([check])}
        outcomes = [_outcome(found) for found in entry.checks if found["id"] in asked]
        report = Report(graded.manifest, {outcome.id: outcome for outcome in outcomes}, 0, ("", ""))
        stream = io.StringIO()
        _write(
            stream,
            report,
            lambda ids: shlex.join(
                ["python", "-m", "instructor", "explain", "CLASS", entry.person.id, *ids]
            ),
        )
        return stream.getvalue().strip() or "No check of it has run yet."
    lines = []
    for question in graded.manifest.questions.values():
        checks = [c for c in graded.manifest.checks.values() if c.question == question.id]
        given = entry.scores | entry.written
        lost = [c.id for c in checks if c.id in given and given[c.id] < c.points]
        missing = [c.id for c in checks if c.id not in given]
        notes = [f"lost in {', '.join(lost)}"] * bool(lost)
        notes += [f"no points yet for {', '.join(missing)}"] * bool(missing)
        sum_ = sum(given.get(c.id, 0) for c in checks)
        lines.append(
            f"{question.id:<4} {points(sum_):>5} of {points(question.points)}  {'; '.join(notes)}"
        )
    if entry.penalty:
        lines.append(f"{entry.days_late} days late: {points(100 * entry.penalty)}% less")
    lines += [*entry.reasons, *entry.for_staff, *entry.remarks]
    lines += [f"Refused: {entry.refused}"] * bool(entry.refused)
    total = points(entry.total) if entry.final else "no grade yet"
    lines += [f"In all: {total}", "", "What has changed:"]
    for when, who, what, id, item, before, after, why in graded.history:
        if id == entry.person.id:
            values = f" {before or '-'} -> {after or '-'}" * bool(before or after)
            lines.append(f"{when}  {who}: {what} {item}{values}{f' ({why})' * bool(why)}")
    return "\n".join(line.rstrip() for line in lines)


def _outcome(found):
    """The Outcome of a check of a report."""
    names = Outcome.__dataclass_fields__
    values = {name: value for name, value in found.items() if name in names}
    return Outcome(**values | {"verdict": Verdict(found["verdict"])})


def _write(stream, report, repeat):
    """Write the table of a report, and its failures."""
    table = Table(stream, report.manifest, stream.isatty())
    for outcome in report.outcomes.values():
        table.line(outcome)
    write_failures(report, table, repeat)


def _run_again(folder, graded, entry, word):
    """Run checks of a person again; returns the exit code."""
    from checks.support.session import grade_submission

    from .database import State
    from .finding.people import name_of
    from .fingerprint import digest_submission, seed_for
    from .settings import read_settings

    submission = graded.submissions.get(entry.person.id)
    if submission is None:
        raise UserError(harmless(f"{entry.person.id} handed nothing in."))
    if entry.refused:
        raise UserError(
            harmless(f"The submission of {entry.person.id} was refused: {entry.refused}")
        )
    try:
        checks = [check for check in graded.manifest.select([word]) if check.coded]
    except KeyError:
        raise UserError(
            f"There is no check or question {word!r}. python src/grader.py --list shows them."
        ) from None
    if not checks:
        raise UserError(f"{word} is marked by a person: see the files in {folder / 'written'}.")
    if not submission.path.exists():
        raise UserError(
            harmless(f"{submission.path} is no longer there. Put it back, then try again.")
        )
    changed = digest_submission(submission.path) != submission.digest
    if changed:
        print(
            f"{harmless(str(submission.path))} has changed since it was graded: the grade is for "
            "the earlier content.",
            file=sys.stderr,
        )
    with State(folder) as state:
        seed = seed_for(int(state.get("seed")), submission.digest)
    setting = read_settings(folder).for_checks()
    report = grade_submission(submission.path, checks, setting, seed, graded.manifest)
    program, who = ["python", "-m", "instructor"], name_of(entry)
    _write(
        sys.stdout, report, lambda ids: shlex.join([*program, "explain", str(folder), who, ids[0]])
    )
    before = {check["id"]: _result(check["verdict"], check["score"]) for check in entry.checks}
    differ = 0
    for id, outcome in report.outcomes.items():
        old, new = before.get(id, "not graded yet"), _result(outcome.verdict.value, outcome.score)
        if old != new:
            differ += 1
            print(f"\nThe grade for {id} is {old}; now it is {new}.")
        if id in entry.manual:
            print(
                f"\nStaff gave {entry.manual[id]:g} points for {id}: they count, whatever the "
                "check finds."
            )
        elif old != new:
            again = [*program, "grade", str(folder)]
            again += ["--again", who, id] if id in before and not changed else []
            print("To grade it again: " + shlex.join(again))
    if not differ:
        print("\nThe same as in the grade.")
    return 1 if differ else 0


def _result(verdict, score):
    """What two gradings must agree on."""
    return f"{verdict}, {round(score, 4):g} points"
