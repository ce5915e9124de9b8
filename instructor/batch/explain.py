"""`python -m instructor explain OUT STUDENT CHECK`: one check once more, with the draws of the grade, for somebody who asks about it."""
import argparse
import os
import sys
from pathlib import Path

from files import UserError


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    parser = commands.add_parser("explain", help="run one check of one student again, with the same random inputs, and say all about it")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder that grade wrote")
    parser.add_argument("student", metavar="STUDENT", help="an id or a name, as on the class page")
    parser.add_argument("check", metavar="CHECK", help="such as 1h-5-hidden; or a question")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the check, and print what came of it beside what the grade says.

    Returns:
        0 if both agree, 1 if not.

    Raises:
        UserError: no such student or check, or nothing that was graded.
    """
    from autograder.report import Table, harmless, write_failures
    from checks.support.session import grade_submission

    from .fingerprint import digest_submission, seed_for
    from .klass import class_of, options_of, setting_of
    from .state import State
    with State(args.out) as state:
        klass, setting, seed = class_of(state), setting_of(options_of(state)), int(state.get("seed"))
        entry = _entry(klass, args.student)
        handed = next((one for one in state.handed() if one.label == entry.source and one.person == entry.person.id), None)
    if handed is None:
        raise UserError(harmless(f"{entry.person.id} handed nothing in."))
    if entry.refused:
        raise UserError(harmless(f"The submission of {entry.person.id} was refused: {entry.refused}"))
    try:
        checks = [check for check in klass.manifest.select([args.check]) if check.coded]
    except KeyError:
        raise UserError(f"There is no check or question {args.check!r}. python src/grader.py --list shows them.") from None
    if not checks:
        raise UserError(f"{args.check} is marked by a person: see written.csv.")
    source = Path(os.fsdecode(handed.source))
    if not source.exists():
        raise UserError(harmless(f"{source} is not there any more."))
    if digest_submission(source) != handed.digest:
        print(f"{harmless(str(source))} has changed since it was graded.", file=sys.stderr)
    report = grade_submission(source, checks, setting, seed_for(seed, handed.digest), klass.manifest)
    print(harmless(f"{entry.person.name} ({entry.person.id}), {source}"))
    table = Table(sys.stdout, klass.manifest, sys.stdout.isatty())
    for outcome in report.outcomes.values():
        table.line(outcome)
    write_failures(report, table, lambda ids: f"python -m instructor explain {args.out} {args.student} {ids[0]}")
    before = {check["id"]: check["verdict"] for check in entry.checks}
    changed = [id for id, outcome in report.outcomes.items() if before.get(id) != outcome.verdict.value]
    for id in changed:
        print(f"\nThe grade says of {id}: {before.get(id, 'not graded')}. Has the check changed? Then run grade again.")
    if not changed:
        print("\nThe same as in the grade.")
    return 1 if changed else 0


def _entry(klass, student):
    """The Entry of a student, by id, folder or name."""
    for wanted in (lambda entry: entry.person.id == student, lambda entry: entry.folder == student,
                   lambda entry: entry.person.name.casefold() == student.casefold()):
        found = [entry for entry in klass.entries if wanted(entry)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UserError(f"{len(found)} people are called {student!r}. Give an id: {', '.join(repr(entry.person.id) for entry in found)}.")
    raise UserError(f"There is no {student!r} among the {len(klass.entries)} people. Look at class.html or grades-plain.csv.")
