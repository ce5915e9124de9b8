"""Written parts: OUT/written.csv, which people fill in, and `python -m instructor merge`, which takes their points over."""
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from files import UserError

from ..grades import Class
from ..sheet import ADVICE, read_sheet
from .gradebook import MARK, cell
from .text import points as shown
from .text import write_if_new

NAME = "written.csv"
COLUMNS = ("id", "name", "question", "rubric", "title", "max points", "points", "comment")
NEEDED = ("id", "rubric", "points")


@dataclass(frozen=True)
class Mark:
    """What a person gave: to whom (Person.id), for which written check, and the line of the file; points None where they are still blank."""
    id: str
    rubric: str
    points: float | None
    comment: str
    line: int


@dataclass(frozen=True)
class Marks:
    """A file as it was read: the cells of its header, its rows with their line numbers, its delimiter, and where columns are."""
    header: list[str]
    rows: list[tuple[int, list[str]]]
    delimiter: str
    column: dict[str, int]

    def value(self, row: list[str], name: str) -> str:
        """A cell; "" if the row or the file lacks it."""
        index = self.column.get(name, len(row))
        return row[index].strip() if index < len(row) else ""


def read(path: Path, klass: Class) -> list[Mark]:
    """Read a filled-in file and check all of it.

    Args:
        path: CSV in UTF-8 or UTF-16, with commas, semicolons or tabs.
        klass: whose people and written checks it is about.

    Raises:
        UserError: anything in it is wrong; the message names the line.
    """
    sheet = _read_marks(path)
    people, rubrics = _people(klass), {check.id: check for check in klass.manifest.checks.values() if not check.coded}
    marks, lines = [], {}
    for number, row in sheet.rows:
        where = f"{path}, line {number}"
        if len(row) > len(sheet.header) and any(value.strip() for value in row[len(sheet.header):]):
            raise UserError(f"{where}: {len(row)} cells, but the header has {len(sheet.header)}. A comment with a comma needs quotes. "
                            "Nothing was changed.")
        if len(row) <= max(sheet.column[name] for name in NEEDED):
            raise UserError(f"{where}: only {len(row)} cells, and the points are missing. Nothing was changed.")
        person, rubric, points, comment = (sheet.value(row, name) for name in ("id", "rubric", "points", "comment"))
        if person not in people:
            if not (points or comment):
                continue            # somebody who has left the class, unmarked
            raise UserError(f"{where}: {person[:60]!r} is nobody in this class. Somebody who has left? Then delete the line. Spreadsheets "
                            f"drop the zeros at the beginning of an id, too: compare it with grades-plain.csv. No mark was taken over.")
        if rubric not in rubrics:
            raise UserError(f"{where}: {rubric[:60]!r} is no written part. There are {', '.join(rubrics)}. Nothing was changed.")
        if (people[person], rubric) in lines:
            raise UserError(f"{where}: {rubric} of {person[:60]!r} is already in line {lines[people[person], rubric]}. Keep one. "
                            "Nothing was changed.")
        lines[people[person], rubric] = number
        marks.append(Mark(people[person], rubric, _points(points, rubrics[rubric].points, where), comment, number))
    return marks


def apply(klass: Class, marks: list[Mark]) -> None:
    """Put marks into the entries of a class; a blank one leaves what is there."""
    entries = {entry.person.id: entry for entry in klass.entries}
    for mark in marks:
        if mark.points is not None:
            entries[mark.id].written[mark.rubric] = mark.points
        if mark.comment:
            entries[mark.id].comments[mark.rubric] = mark.comment


def update(path: Path, klass: Class, marks: list[Mark] = ()) -> None:
    """Make the file if it isn't there, else add rows for people and parts that it lacks; and fill in marks that came from another file.

    What somebody filled in stays as it is, with columns and rows of their own; if nothing is to be added, the file isn't touched.

    Raises:
        UserError: the file can't be read; it was left alone.
    """
    sheet = _read_marks(path) if path.exists() else Marks(list(COLUMNS), [], ",", {name: i for i, name in enumerate(COLUMNS)})
    people, rows = _people(klass), [list(row) for _, row in sheet.rows]
    found = {(people.get(sheet.value(row, "id")), sheet.value(row, "rubric")): row for row in rows}
    for entry in klass.entries:
        person = entry.person
        for check in klass.manifest.checks.values():
            if not check.coded and (person.id, check.id) not in found:
                values = {"id": person.id, "name": person.name, "question": check.question, "rubric": check.id, "title": check.title,
                          "max points": check.points}
                found[person.id, check.id] = row = [cell(values.get(name)) for name in map(_column, sheet.header)]
                rows.append(row)
    for mark in marks:
        row = found[mark.id, mark.rubric]
        row += [""] * (len(sheet.header) - len(row))
        if mark.points is not None:
            row[sheet.column["points"]] = cell(mark.points)
        if mark.comment and "comment" in sheet.column:
            row[sheet.column["comment"]] = cell(mark.comment)
    if rows != [row for _, row in sheet.rows] or not path.exists():
        stream = io.StringIO()
        csv.writer(stream, delimiter=sheet.delimiter, lineterminator="\n").writerows([sheet.header, *rows])
        write_if_new(path, MARK + stream.getvalue())


def merge(args) -> int:
    """The command: check a filled-in file, keep its points, and make pages and gradebooks anew."""
    from ..batch import load_class
    from . import write_reports
    klass = load_class(args.out)
    own = args.out / NAME
    source = args.written or own
    if not source.exists():
        raise UserError(f"{source} does not exist. Grading a class makes {own}; fill that in, or name your file: --written FILE.")
    kept = read(own, klass) if own.exists() else []
    marks = read(source, klass)
    apply(klass, kept)
    apply(klass, marks)
    update(own, klass, marks if args.written else ())
    write_reports(klass, args.out)
    given = [mark for mark in marks if mark.points is not None]
    parts = sum(not check.coded for check in klass.manifest.checks.values()) * len(klass.entries)
    done = sum(len(entry.written) for entry in klass.entries)
    people = len({mark.id for mark in given})
    print(f"{source}: {len(given)} mark{'s' * (len(given) != 1)} for {people} {'person' if people == 1 else 'people'}. "
          f"Of {parts} written parts, {parts - done} are not marked yet.")
    print(f"Pages and gradebooks in {args.out} are made anew.")
    return 0


def add_parser(commands) -> None:
    """Add `merge` to the commands of `python -m instructor`."""
    command = commands.add_parser("merge", help="take over the points of written parts from written.csv, and make pages and gradebooks anew",
                                  description="Checks the whole file first, and changes nothing if anything in it is wrong.")
    command.add_argument("out", type=Path, help="the folder that `grade` wrote")
    command.add_argument("--written", type=Path, metavar="FILE",
                         help="a filled-in copy, perhaps with some of the rows; its points are kept in OUT/written.csv, and cells that it "
                              "leaves blank change nothing (default: OUT/written.csv itself)")
    command.set_defaults(run=merge)


def _people(klass):
    """The ids of persons by what stands for them in a file."""
    people = {}
    for entry in klass.entries:
        for text in {cell(entry.person.id), entry.person.id}:
            if people.setdefault(text, entry.person.id) != entry.person.id:
                raise UserError(f"Two people have the id {text!r}, apart from characters that cannot be seen. Mend the roster.")
    return people


def _points(text, most, where):
    """The points in a cell, None if it is blank; both 2.5 and 2,5."""
    if not text:
        return None
    if not re.fullmatch(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)", text):
        raise UserError(f"{where}: the points {text[:60]!r} are no number. Nothing was changed.")
    value = float(text.replace(",", "."))
    if value < 0:
        raise UserError(f"{where}: the points {text[:60]} are negative. Nothing was changed.")
    if value > most:
        raise UserError(f"{where}: {text[:60]} points, but there are at most {shown(most)}. Nothing was changed.")
    return value


def _column(name):
    return " ".join(name.lower().replace("_", " ").split())


def _read_marks(path):
    """The marks of a file, as cells with their lines; and its columns."""
    sheet = read_sheet(path)
    header = sheet.rows[0][1] if sheet.rows else []
    names = [_column(name) for name in header]
    for name in NEEDED:
        if names.count(name) != 1:
            fault = "two columns" if name in names else "no column"
            raise UserError(f"{path}, line 1: {fault} {name!r}. The columns are {', '.join(COLUMNS)}. {ADVICE}")
    return Marks(header, sheet.rows[1:], sheet.delimiter, {name: i for i, name in enumerate(names)})
