"""`python -m instructor explain CLASS PERSON [CHECK]` answers a question about a grade: how it
comes about, and what a check found.
"""

import argparse
import io
import shlex
from pathlib import Path

from autograder import Outcome, Report, Verdict
from autograder.report import Table, harmless, write_failures
from common.files import UserError

from .finding.people import find_entry, name_of
from .grades import Entry, GradedClass
from .statistics import by_question
from .text import points


def run(args: argparse.Namespace) -> int:
    """Print the explanation; returns 0.

    Raises:
        UserError: no such person or check.
    """
    from .graded_class import load_class

    graded = load_class(args.folder)
    entry = find_entry(graded, args.person)
    try:
        text = explanation(graded, entry, args.check, args.folder)
    except KeyError:
        raise UserError(
            f"There is no check or question {args.check!r}. python src/grader.py --list shows them."
        ) from None
    source = entry.source or "no submission"
    print(harmless(f"{entry.person.name} ({entry.person.id}), {source}\n{text}"))
    return 0


def explanation(
    graded: GradedClass, entry: Entry, check: str = "", folder: Path = Path("CLASS")
) -> str:
    """For the staff: how a grade comes about; or all that a check, or those of a question, found,
    with the commands that grade them again.

    Raises:
        KeyError: there is no such check or question.
    """
    lines = [f"Refused: {entry.refused}"] if entry.refused else []
    lines += _found(graded, entry, check, folder) if check else _grade(graded, entry)
    return "\n".join(line.rstrip() for line in lines)


def _found(graded, entry, check, folder):
    """Lines with what checks found: the grader's report of them, and what people decided."""
    asked = {found.id: found for found in graded.manifest.select([check])}
    outcomes = {}
    for found in entry.checks:
        if found["id"] in asked:
            known = {name: found[name] for name in Outcome.__dataclass_fields__ if name in found}
            outcomes[found["id"]] = Outcome(**known | {"verdict": Verdict(found["verdict"])})
    stream = io.StringIO()
    table = Table(stream, graded.manifest, color=False)
    for outcome in outcomes.values():
        table.line(outcome)

    def again(ids):
        words = "python", "-m", "instructor", "grade", str(folder), "--again", name_of(entry)
        return shlex.join([*words, ids[0]])

    write_failures(Report(graded.manifest, outcomes, 0, ("", "")), table, again)
    text = stream.getvalue().strip()
    yield text
    for id, outcome in outcomes.items():
        if outcome.verdict is Verdict.NOT_IMPLEMENTED and outcome.details not in text:
            yield f"{id}: {outcome.details}"
    if outcomes and "Again: " not in text:
        yield f"Again: {again([check])}"
    for id, part in asked.items():
        if id in entry.manual:
            given = f"{points(entry.manual[id])} points for {id}"
            yield f"Staff gave {given}: they count, whatever the check found."
        elif not part.coded:
            marked = f"{points(entry.written.get(id))} of {points(part.points)}"
            yield f"{id}: {marked}, marked by a person. {entry.comments.get(id, '')}"
        elif id not in outcomes:
            yield f"{id} has not run yet."


def _grade(graded, entry):
    """Lines on how the grade comes about, and what has changed."""
    given = entry.scores | entry.written
    for question, earned in by_question(graded, entry).items():
        checks = [c for c in graded.manifest.checks.values() if c.question == question]
        lost = [c.id for c in checks if c.id in given and given[c.id] < c.points]
        missing = [c.id for c in checks if c.id not in given]
        nothing = len(missing) == len(checks)
        if nothing and not entry.report:
            continue  # nothing was graded, and a line for each question would hide the rest
        notes = [f"lost in {', '.join(lost)}"] * bool(lost)
        notes += ["no points yet" + f" for {', '.join(missing)}" * (not nothing)] * bool(missing)
        most = points(graded.manifest.questions[question].points)
        yield f"{question:<4} {points(earned):>5} of {most}  {'; '.join(notes)}"
    if entry.penalty:
        yield f"Days late: {entry.days_late}, so {points(100 * entry.penalty)}% less"
    yield from [*entry.reasons, *entry.for_staff, *entry.remarks]
    yield f"In all: {points(entry.total) if entry.final else 'no grade yet'}"
    yield "\nWhat has changed:"
    for when, who, what, id, item, before, after, why in graded.history:
        if id == entry.person.id:
            values = f" {before or '-'} -> {after or '-'}" * bool(before or after)
            yield f"{when}  {who}: {what} {item}{values}{f' ({why})' * bool(why)}"
