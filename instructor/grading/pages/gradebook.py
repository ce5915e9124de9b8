"""The gradebooks: grades.csv, which Canvas imports, and grades-plain.csv, with everything.

grades.csv is UTF-8 without a byte order mark, as Canvas reads it.
"""

from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.sheet import MARK, cell, table
from instructor.grading.statistics import by_question, unmarked

CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section"
PERSON = ("id", "name", "email", "section")


def canvas(graded: GradedClass) -> tuple[str, list[Person]]:
    """The text of grades.csv, and the people who are left out: those who are not in the roster, or
    have no id of Canvas there.

    The column has exactly its name in Canvas, which finds it by the name and the number after it.
    Who is excused has EX there, and nobody without a grade yet a cell, which changes nothing in
    Canvas. A person who handed in nothing, or whose submission was refused, has 0.
    """
    rows, left_out = [], []
    for entry in graded.entries:
        person = entry.person
        if person.enrolled and (person.canvas_id or person.sis_id or person.sis_login):
            grade = "EX" if entry.excused else cell(entry.total) if entry.final else ""
            ids = person.canvas_id, person.sis_id, person.sis_login
            rows.append([person.name, *ids, person.section, grade])
        else:
            left_out.append(person)
    header = table([[*CANVAS.split(","), graded.column or graded.title]], str)
    # as Canvas writes it, blanks included
    possible = f"    Points Possible,,,,,{cell(graded.regular_points)}\n"
    return header + possible + table(rows), left_out


def plain(graded: GradedClass) -> str:
    """The text of grades-plain.csv: a row for everybody. Points by question are before the penalty,
    `automatic` is after it. `automatic` and the total are blank while checks are pending or after a
    grader error; excused people have no total.
    """
    head = [*PERSON, "source", "submitted", "days late", "penalty", *graded.manifest.questions]
    rows = [[*head, "automatic", "written", "total", "max", "remarks"]]
    for entry in graded.entries:
        row = [getattr(entry.person, name) for name in PERSON]
        row += [entry.source, entry.submitted and entry.submitted.isoformat()]
        row += [entry.days_late, entry.penalty, *by_question(graded, entry).values()]
        row.append(entry.automatic if entry.final and (entry.report or entry.manual) else None)
        row.append(sum(entry.written.values()) if entry.written else None)
        row.append(entry.total if entry.final and not entry.excused else None)
        rows.append([*row, graded.regular_points, "; ".join(_remarks(graded, entry))])
    return MARK + table(rows)


def _remarks(graded: GradedClass, entry: Entry):
    if entry.excused:
        yield f"excused: {entry.excused}"
    if entry.pending:
        yield f"not graded yet{_listed(entry.pending) if entry.report else ''}"
    if failed := [check["id"] for check in entry.grader_errors]:
        yield f"no grade: the grader failed{_listed(failed)}"
    if entry.refused:
        yield f"refused: {entry.refused}"
    elif not entry.report and not entry.pending:
        yield "nothing was handed in"
    if entry.report and (left := unmarked(graded, entry)):
        yield f"{len(left)} written parts are not marked yet"
    yield from [*entry.reasons, *entry.for_staff, *entry.remarks]


def _listed(ids):
    """3 checks (a, b, c), with no more than three named."""
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return f": {len(ids)} check{'s' * (len(ids) > 1)} ({', '.join(ids[:3])}{more})"
