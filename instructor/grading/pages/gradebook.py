"""The gradebooks: grades.csv, which Canvas imports, and grades-plain.csv, with everything.

grades.csv is UTF-8 without a byte order mark, as Canvas reads it.
"""

from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.sheet import MARK, cell, table
from instructor.grading.text import line

from .tally import by_question, unmarked

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
PLAIN = ("id", "name", "email", "section", "source", "submitted", "days late", "penalty")


def grade(entry: Entry) -> str:
    """What Canvas gets for a person: the total, EX for somebody excused, "" without a grade yet.

    A person who handed in nothing, or whose submission was refused, has 0. An empty cell changes
    nothing in Canvas.
    """
    return "EX" if entry.excused else cell(entry.total) if entry.final else ""


def canvas(graded: GradedClass) -> tuple[str, list[Person]]:
    """The text of grades.csv, and the people who are left out: those who are not in the roster, or
    have no id of Canvas there.

    The column has exactly its name in Canvas, which finds it by the name and the number after it.
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
    `automatic` is after it. `automatic` and the total are blank while checks are pending or after a
    grader error; excused people have no total.
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
    if entry.report and (left := unmarked(graded, entry)):
        yield f"{len(left)} written parts are not marked yet"
    yield from entry.reasons
    yield from [*entry.for_staff, *entry.remarks]


def _listed(ids):
    """3 checks (a, b, c), with no more than three named."""
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return f": {len(ids)} check{'s' * (len(ids) > 1)} ({', '.join(ids[:3])}{more})"


def canvas_knows(person: Person) -> bool:
    """Whether Canvas can find the person in a gradebook."""
    return person.enrolled and any(map(line, (person.canvas_id, person.sis_id, person.sis_login)))
