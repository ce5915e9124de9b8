"""Forms for the points of written parts: CSV files that markers fill in."""

import re
from dataclasses import dataclass
from pathlib import Path

from autograder import Check
from common.files import UserError
from instructor.grading.grades import GradedClass
from instructor.grading.sheet import ADVICE, MARK, cell, read_sheet, table
from instructor.grading.text import points as shown

NAME = "written.csv"
BLANK = ("id", "name", "question", "rubric", "title", "max points", "points", "comment")
# `counts` has the points that count; only people write into `points`
COLUMNS = (*BLANK, "counts")
ANONYMOUS = ("code", *BLANK[2:])
NEEDED = ("rubric", "points")


@dataclass(frozen=True)
class Mark:
    """A line of a form: the person (Person.id), the written part, and the line number; points is
    None if blank.
    """

    id: str
    rubric: str
    points: float | None
    comment: str
    line: int


@dataclass(frozen=True)
class Marks:
    """A form as read: the cells of its header, its rows with their line numbers, its delimiter, and
    the indices of columns.
    """

    header: list[str]
    rows: list[tuple[int, list[str]]]
    delimiter: str
    column: dict[str, int]

    @property
    def who(self) -> str:
        """The column that identifies the person: id, or code in an anonymous form."""
        return "id" if "id" in self.column else "code"

    def value(self, row: list[str], name: str) -> str:
        """A cell; "" if the row or the file lacks it."""
        index = self.column.get(name, len(row))
        return row[index].strip() if index < len(row) else ""


def read(path: Path, graded: GradedClass) -> list[Mark]:
    """Read a filled-in file and check all of it. Lines of people who have left are skipped.

    Args:
        path: CSV in UTF-8 or UTF-16, with commas, semicolons or tabs.
        graded: the class that the form is for.

    Raises:
        UserError: anything in it is wrong; the message names the line.
    """
    sheet = _read_marks(path)
    people, rubrics = _people(graded), {check.id: check for check in parts_of(graded)}
    known = {rubric for _, rubric, _ in graded.given}
    marks, lines, gone = [], {}, graded.left | {graded.codes.get(id, id) for id in graded.left}
    for number, row in sheet.rows:
        where = f"{path}, line {number}"
        if len(row) > len(sheet.header) and any(
            value.strip() for value in row[len(sheet.header) :]
        ):
            raise UserError(
                f"{where}: {len(row)} cells, but the header has {len(sheet.header)}. A comment "
                "with a comma needs quotes. Nothing was changed."
            )
        if len(row) <= max(sheet.column[name] for name in (sheet.who, *NEEDED)):
            raise UserError(
                f"{where}: only {len(row)} cells, and the points are missing. Nothing was changed."
            )
        person, rubric, points, comment = (
            sheet.value(row, name) for name in (sheet.who, "rubric", "points", "comment")
        )
        if person not in people:
            if person in gone or not (points or comment):
                continue  # somebody who has left the class
            raise UserError(
                f"{where}: {person[:60]!r} is not in this class. If they have left, delete the "
                "line. Spreadsheets also drop leading zeros of an id: compare it with "
                "grades-plain.csv. No mark was merged."
            )
        if rubric not in rubrics and (not points or rubric in known):
            continue  # a part that no longer exists
        if rubric not in rubrics:
            raise UserError(
                f"{where}: {rubric[:60]!r} is not a written part. The parts are "
                f"{', '.join(rubrics)}. Nothing was changed."
            )
        if (people[person], rubric) in lines:
            raise UserError(
                f"{where}: {rubric} of {person[:60]!r} is already in line "
                f"{lines[people[person], rubric]}. Keep one. Nothing was changed."
            )
        lines[people[person], rubric] = number
        same = {value for id, part, value in graded.given if (id, part) == (people[person], rubric)}
        # points merged before the maximum was lowered may still be there
        most = max(rubrics[rubric].points, *same, 0)
        marks.append(Mark(people[person], rubric, _points(points, most, where), comment, number))
    return marks


def form(graded: GradedClass, path: Path) -> str | None:
    """The text of a class's own form: what is there, with missing people and parts added, and the
    points that count now. What people filled in stays, with columns and rows of their own. None if
    nothing changes.

    Raises:
        UserError: the file can't be read; it was left alone.
    """
    sheet = (
        _read_marks(path)
        if path.exists()
        else Marks(list(COLUMNS), [], ",", {name: i for i, name in enumerate(COLUMNS)})
    )
    people, rows = _people(graded), [list(row) for _, row in sheet.rows]
    found = {
        (people.get(sheet.value(row, sheet.who)), sheet.value(row, "rubric")): row for row in rows
    }
    for entry in graded.entries:
        for check in parts_of(graded):
            row = found.get((entry.person.id, check.id))
            if row is None:
                row = _row(graded, entry.person, check, map(_column, sheet.header))
                rows.append(row)
            for name, value in (
                ("counts", entry.written.get(check.id)),
                ("max points", check.points),
            ):
                if name in sheet.column:
                    row += [""] * (len(sheet.header) - len(row))
                    row[sheet.column[name]] = cell(value)
    if path.exists() and rows == [row for _, row in sheet.rows]:
        return None
    return MARK + table([sheet.header, *rows], str, sheet.delimiter)


def blank_form(graded: GradedClass, anonymous: bool = False, question: str = "") -> str:
    """The text of a form without points, for one marker.

    Args:
        anonymous: codes in place of ids and names, in the order of codes.
        question: only this one, or this written part.

    Raises:
        UserError: there is no such written part.
    """
    parts = [
        check
        for check in parts_of(graded)
        if not question or question in (check.question, check.id)
    ]
    if not parts:
        raise UserError(
            f"{question!r} has no written part. The parts are "
            f"{', '.join(check.id for check in parts_of(graded))}."
        )
    header = ANONYMOUS if anonymous else BLANK
    people = [entry.person for entry in graded.entries]
    people = sorted(people, key=lambda person: graded.codes[person.id]) if anonymous else people
    rows = [_row(graded, person, check, header) for check in parts for person in people]
    return MARK + table([header, *rows], str)


def parts_of(graded: GradedClass) -> list[Check]:
    """The written parts, in the manifest's order."""
    return [check for check in graded.manifest.checks.values() if not check.coded]


def _row(graded, person, check, header):
    values = {
        "id": person.id,
        "code": graded.codes.get(person.id),
        "name": person.name,
        "question": check.question,
        "rubric": check.id,
        "title": check.title,
        "max points": check.points,
    }
    return [cell(values.get(name)) for name in header]


def waiting(graded: GradedClass, path: Path) -> int:
    """The number of marks in a form that are not merged yet."""
    return sum(
        mark.points is not None and (mark.id, mark.rubric, mark.points) not in graded.given
        for mark in read(path, graded)
    )


def _people(graded):
    """People's ids, by what a file may call them."""
    people = {}
    for entry in graded.entries:
        for text in {
            cell(entry.person.id),
            entry.person.id,
            graded.codes.get(entry.person.id, entry.person.id),
        }:
            if people.setdefault(text, entry.person.id) != entry.person.id:
                raise UserError(
                    f"Two people have the id {text!r}, apart from invisible characters. Fix the "
                    "roster."
                )
    return people


def _points(text, most, where):
    """The points in a cell, None if blank; accepts 2.5 and 2,5."""
    if not text:
        return None
    if not re.fullmatch(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)", text):
        raise UserError(f"{where}: the points {text[:60]!r} are not a number. Nothing was changed.")
    value = float(text.replace(",", "."))
    if value < 0:
        raise UserError(f"{where}: the points {text[:60]} are negative. Nothing was changed.")
    if value > most:
        raise UserError(
            f"{where}: {text[:60]} points, but there are at most {shown(most)}. Nothing was "
            "changed."
        )
    return value


def _column(name):
    return " ".join(name.lower().replace("_", " ").split())


def _read_marks(path):
    """The marks of a file, as cells with their lines; and its columns."""
    sheet = read_sheet(path)
    header = sheet.rows[0][1] if sheet.rows else []
    names = [_column(name) for name in header]
    who = "id" if "id" in names or "code" not in names else "code"
    for name in (who, *NEEDED):
        if names.count(name) != 1:
            fault = "two columns" if name in names else "no column"
            raise UserError(
                f"{path}, line 1: {fault} {name!r}. The columns are {', '.join(COLUMNS)}. {ADVICE}"
            )
    return Marks(header, sheet.rows[1:], sheet.delimiter, {name: i for i, name in enumerate(names)})
