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

from .finding.people import find_entry, name_of
from .grades import Entry, GradedClass
from .statistics import by_question
from .text import points


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    parser = commands.add_parser(
        "explain",
        help="how a person's grade comes about, or what one check found, in full",
        description="With CHECK, the check runs again with the inputs of the grade.",
    )
    parser.add_argument("folder", type=Path, metavar="CLASS", help="the folder of the class")
    text = "an id, or a name with its words in any order"
    parser.add_argument("person", metavar="PERSON", help=text)
    text = "such as 1h-5-hidden; or a question"
    parser.add_argument("check", metavar="CHECK", nargs="?", help=text)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Explain the grade, or run the check and compare the result with the grade.

    Returns:
        0; 1 if the check's result is another one than in the grade.

    Raises:
        UserError: no such person or check, or nothing that was graded.
    """
    from .graded_class import load_class

    graded = load_class(args.folder)
    entry = find_entry(graded, args.person)
    print(harmless(f"{entry.person.name} ({entry.person.id}), {entry.source or 'no submission'}"))
    if args.check:
        return _run_again(args.folder, graded, entry, args.check)
    print(harmless(explanation(graded, entry)))
    return 0


def explanation(graded: GradedClass, entry: Entry, check: str = "") -> str:
    """For the staff: how a grade comes about; or what a check, or those of a question, found."""
    if check:
        asked = {found.id for found in graded.manifest.select([check])}
        fields = Outcome.__dataclass_fields__
        outcomes = {}
        for found in entry.checks:
            if found["id"] in asked:
                values = {name: value for name, value in found.items() if name in fields}
                outcome = Outcome(**values | {"verdict": Verdict(found["verdict"])})
                outcomes[found["id"]] = outcome
        stream = io.StringIO()
        _write(stream, Report(graded.manifest, outcomes, 0, ("", "")), "CLASS", entry)
        return stream.getvalue().strip() or "No check of it has run yet."
    lines, given = [], entry.scores | entry.written
    for question, earned in by_question(graded, entry).items():
        checks = [c for c in graded.manifest.checks.values() if c.question == question]
        lost = [c.id for c in checks if c.id in given and given[c.id] < c.points]
        missing = [c.id for c in checks if c.id not in given]
        notes = [f"lost in {', '.join(lost)}"] * bool(lost)
        notes += [f"no points yet for {', '.join(missing)}"] * bool(missing)
        most = points(graded.manifest.questions[question].points)
        lines.append(f"{question:<4} {points(earned):>5} of {most}  {'; '.join(notes)}")
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


def _write(stream, report, folder, entry):
    """Write the table of a report, and its failures with commands that repeat them."""
    table = Table(stream, report.manifest, stream.isatty())
    for outcome in report.outcomes.values():
        table.line(outcome)
    write_failures(report, table, lambda ids: _command("explain", folder, name_of(entry), ids[0]))


def _command(*words):
    return shlex.join(["python", "-m", "instructor", *map(str, words)])


def _run_again(folder, graded, entry, word):
    """Run checks of a person again; returns the exit code."""
    from checks.support.session import grade_submission

    from .database import State
    from .fingerprint import digest_submission, seed_for
    from .settings import read_settings

    id, submission = entry.person.id, graded.submissions.get(entry.person.id)
    try:
        checks = [check for check in graded.manifest.select([word]) if check.coded]
    except KeyError:
        raise UserError(
            f"There is no check or question {word!r}. python src/grader.py --list shows them."
        ) from None
    for wrong, why in (
        (not submission, f"{id} handed nothing in."),
        (entry.refused, f"The submission of {id} was refused: {entry.refused}"),
        (not checks, f"{word} is marked by a person: see the files in {folder / 'written'}."),
    ):
        if wrong:
            raise UserError(harmless(why))
    where = harmless(str(submission.path))
    if not submission.path.exists():
        raise UserError(f"{where} is no longer there. Put it back, then try again.")
    changed = digest_submission(submission.path) != submission.digest
    if changed:
        text = f"{where} has changed since it was graded: the grade is for the earlier content."
        print(text, file=sys.stderr)
    with State(folder) as state:
        seed = seed_for(int(state.get("seed")), submission.digest)
    setting = read_settings(folder).for_checks()
    report = grade_submission(submission.path, checks, setting, seed, graded.manifest)
    _write(sys.stdout, report, folder, entry)
    graded_so = {found["id"]: _result(found["verdict"], found["score"]) for found in entry.checks}
    differ = False
    for check, outcome in report.outcomes.items():
        old, new = graded_so.get(check), _result(outcome.verdict.value, outcome.score)
        if old != new:
            differ = True
            print(f"\nThe grade for {check} is {old or 'not graded yet'}; now it is {new}.")
        if check in entry.manual:
            given = f"{entry.manual[check]:g} points for {check}"
            print(f"\nStaff gave {given}: they count, whatever the check finds.")
        elif old != new:
            again = ["--again", name_of(entry), check] if old and not changed else []
            print("To grade it again: " + _command("grade", folder, *again))
    if not differ:
        print("\nThe same as in the grade.")
    return int(differ)


def _result(verdict, score):
    """What two gradings must agree on."""
    return f"{verdict}, {round(score, 4):g} points"
