"""The gradebooks: grades.csv, which Canvas imports, and grades-plain.csv, with all there is to
know.

Excel takes a CSV file without a byte order mark for its old code page and spoils names, so what
people open begins with one. Canvas reads UTF-8 without it.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable

from instructor.grading.grades import Entry, GradedClass, Person

from .tally import by_question, unmarked
from .text import line

MARK = "\ufeff"
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
PLAIN = ("id", "name", "email", "section", "source", "submitted", "days late", "penalty")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
# What a spreadsheet takes for a formula, at the beginning of a cell, or after a separator that it
# may split a cell at.
FORMULA = re.compile(r"(^|[;,])(?=[\s\u200c\u200d\"]*[=+\-@\uff1d\uff0b\uff0d\uff20])")


def cell(value) -> str:
    """What stands in a cell: one line of text that no spreadsheet takes for a formula. Numbers stay
    numbers.

    An apostrophe goes before a text that begins with = + - @ (in fullwidth, too), a tab or a line
    end, blanks before it or not.
    """
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{round(value, 4):.4f}".rstrip("0").rstrip(".")
    text = line(value)
    if NUMBER.fullmatch(text):
        return text
    text = FORMULA.sub(r"\1'", text)
    return (
        "'" + text
        if value.replace("\0", "")[:1] in ("\t", "\r", "\n") and not text.startswith("'")
        else text
    )


def table(rows: Iterable[Iterable], safe: Callable[[object], str] = cell) -> str:
    """Rows as CSV, every cell made safe, or else by `safe`."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(map(safe, row) for row in rows)
    return stream.getvalue()


def grade(entry: Entry) -> str:
    """What Canvas gets for a person: the total, EX for somebody excused, "" without a grade yet.

    A person who handed in nothing, or whose submission was refused, has 0. An empty cell changes
    nothing in Canvas.
    """
    return "EX" if entry.excused else cell(entry.total) if entry.final else ""


def canvas(graded: GradedClass) -> tuple[str, list[Person]]:
    """The text of grades.csv, and the people who are left out: those that the roster doesn't know,
    or knows by nothing that Canvas does.

    The column is called exactly as in Canvas, which finds it by that and by the number behind it.
    """
    known = [entry for entry in graded.entries if canvas_knows(entry.person)]
    rows = [
        (one.name, one.canvas_id, one.sis_id, one.sis_login, one.section, grade(entry))
        for entry in known
        for one in [entry.person]
    ]
    header = table([(*CANVAS, graded.column or graded.title)], str)
    # as Canvas writes it, blanks included
    possible = f"    Points Possible,,,,,{cell(graded.regular_points)}\n"
    left_out = [entry.person for entry in graded.entries if not canvas_knows(entry.person)]
    return header + possible + table(rows), left_out


def plain(graded: GradedClass) -> str:
    """The text of grades-plain.csv: a row for everybody. Points by question are before the penalty,
    `automatic` is after it. Where something is to be graded yet or the grader failed, there are no
    `automatic` and no total; who is excused has no total.
    """
    rows = [(*PLAIN, *graded.manifest.questions, "automatic", "written", "total", "max", "remarks")]
    for entry in graded.entries:
        person, final = entry.person, entry.final
        automatic = entry.automatic if final and (entry.report or entry.manual) else None
        total = entry.total if final and not entry.excused else None
        rows.append(
            (
                person.id,
                person.name,
                person.email,
                person.section,
                entry.source,
                entry.submitted and entry.submitted.isoformat(),
                entry.days_late,
                entry.penalty,
                *by_question(graded, entry).values(),
                automatic,
                sum(entry.written.values()) if entry.written else None,
                total,
                graded.regular_points,
                "; ".join(_remarks(graded, entry)),
            )
        )
    return MARK + table(rows)


def _remarks(graded: GradedClass, entry: Entry):
    if entry.excused:
        yield f"excused: {entry.excused}"
    if entry.pending:
        yield f"not graded yet{_listed(entry.pending) if entry.report else ''}"
    if entry.grader_errors:
        yield (
            f"no grade: the grader failed{_listed([check['id'] for check in entry.grader_errors])}"
        )
    if entry.refused:
        yield f"refused: {entry.refused}"
    elif not entry.report and not entry.pending:
        yield "nothing was handed in"
    if not entry.person.enrolled:
        yield "not in the roster"
    if entry.report and (left := unmarked(graded, entry)):
        yield f"{len(left)} written parts are not marked yet"
    yield from entry.reasons
    yield from entry.remarks


def _listed(ids):
    """3 checks (a, b, c), with no more than three named."""
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return f": {len(ids)} check{'s' * (len(ids) > 1)} ({', '.join(ids[:3])}{more})"


def canvas_knows(person: Person) -> bool:
    """Whether Canvas would find a person of a gradebook."""
    return person.enrolled and any(map(line, (person.canvas_id, person.sis_id, person.sis_login)))
