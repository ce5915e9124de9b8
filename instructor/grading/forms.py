"""Blank forms of the written parts, for markers to copy into CLASS/written and fill in."""

from .grades import GradedClass
from .sheet import MARK, cell, table

COLUMNS = ("name", "question", "rubric", "title", "max points", "points", "comment")


def blank_form(graded: GradedClass, anonymous: bool = False) -> str:
    """The text of a form with a line for each written part and person.

    Args:
        anonymous: codes in place of ids and names, in the order of codes.
    """
    people = [entry.person for entry in graded.entries]
    if anonymous:
        people.sort(key=lambda person: graded.codes.get(person.id, ""))
    header = ("code", *COLUMNS[1:]) if anonymous else ("id", *COLUMNS)
    rows = [header]
    for check in graded.manifest.checks.values():
        for person in people if not check.coded else ():
            values = {
                "id": person.id,
                "code": graded.codes.get(person.id, ""),
                "name": person.name,
                "question": check.question,
                "rubric": check.id,
                "title": check.title,
                "max points": check.points,
            }
            rows.append([cell(values.get(name)) for name in header])
    return MARK + table(rows, str)
