"""Written parts: forms that people fill in, and `python -m instructor merge`, which takes their
points over.
"""

import contextlib
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from common.files import UserError, write_text
from instructor.grading.finding.sheet import ADVICE, read_sheet
from instructor.grading.grades import GradedClass
from instructor.grading.pages.gradebook import MARK, cell
from instructor.grading.pages.text import points as shown

NAME = "written.csv"
BLANK = ("id", "name", "question", "rubric", "title", "max points", "points", "comment")
# the points that were taken over, so that those that are filled in stay a person's
COLUMNS = (*BLANK, "counts")
ANONYMOUS = ("code", *BLANK[2:])
NEEDED = ("rubric", "points")


@dataclass(frozen=True)
class Mark:
    """What stands in a line of a form: whose it is (Person.id), which written part, and the line;
    points None where they are still blank.
    """

    id: str
    rubric: str
    points: float | None
    comment: str
    line: int


@dataclass(frozen=True)
class Marks:
    """A file as it was read: the cells of its header, its rows with their line numbers, its
    delimiter, and where columns are.
    """

    header: list[str]
    rows: list[tuple[int, list[str]]]
    delimiter: str
    column: dict[str, int]

    @property
    def who(self) -> str:
        """The column that tells whose a row is: id, or code in an anonymous form."""
        return "id" if "id" in self.column else "code"

    def value(self, row: list[str], name: str) -> str:
        """A cell; "" if the row or the file lacks it."""
        index = self.column.get(name, len(row))
        return row[index].strip() if index < len(row) else ""


def read(path: Path, graded: GradedClass) -> list[Mark]:
    """Read a filled-in file and check all of it. Lines of people who were in the class before are
    passed over.

    Args:
        path: CSV in UTF-8 or UTF-16, with commas, semicolons or tabs.
        graded: whose people and written checks it is about.

    Raises:
        UserError: anything in it is wrong; the message names the line.
    """
    sheet = _read_marks(path)
    people, rubrics = _people(graded), {check.id: check for check in _parts(graded)}
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
                f"{where}: {person[:60]!r} is nobody in this class. Somebody who has left? Then "
                "delete the line. Spreadsheets drop the zeros at the beginning of an id, too: "
                "compare it with grades-plain.csv. No mark was taken over."
            )
        if rubric not in rubrics and (not points or rubric in known):
            continue  # a part that there is no more
        if rubric not in rubrics:
            raise UserError(
                f"{where}: {rubric[:60]!r} is no written part. There are {', '.join(rubrics)}. "
                "Nothing was changed."
            )
        if (people[person], rubric) in lines:
            raise UserError(
                f"{where}: {rubric} of {person[:60]!r} is already in line "
                f"{lines[people[person], rubric]}. Keep one. Nothing was changed."
            )
        lines[people[person], rubric] = number
        same = {value for id, part, value in graded.given if (id, part) == (people[person], rubric)}
        # what was taken over before the points were lowered may stand there
        most = max(rubrics[rubric].points, *same, 0)
        marks.append(Mark(people[person], rubric, _points(points, most, where), comment, number))
    return marks


def form(graded: GradedClass, path: Path) -> str | None:
    """The text of a class's own form: what is there, with rows for people and parts that it lacks,
    and the points that count now. What somebody filled in stays as it is, with columns and rows of
    their own. None if nothing is to be changed.

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
        for check in _parts(graded):
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
    return MARK + _csv([sheet.header, *rows], sheet.delimiter)


def blank_form(graded: GradedClass, anonymous: bool = False, question: str = "") -> str:
    """The text of a form without points, for one marker.

    Args:
        anonymous: codes in the place of ids and names, sorted by them.
        question: only this one, or this written part.

    Raises:
        UserError: there is no such written part.
    """
    parts = [
        check for check in _parts(graded) if not question or question in (check.question, check.id)
    ]
    if not parts:
        raise UserError(
            f"{question!r} has no written part. There are "
            f"{', '.join(check.id for check in _parts(graded))}."
        )
    header = ANONYMOUS if anonymous else BLANK
    people = [entry.person for entry in graded.entries]
    people = sorted(people, key=lambda person: graded.codes[person.id]) if anonymous else people
    return MARK + _csv(
        [header, *(_row(graded, person, check, header) for check in parts for person in people)],
        ",",
    )


def _parts(graded):
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


def _csv(rows, delimiter):
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def waiting(graded: GradedClass, path: Path) -> int:
    """How many marks stand in a form and were not taken over."""
    return sum(
        mark.points is not None and (mark.id, mark.rubric, mark.points) not in graded.given
        for mark in read(path, graded)
    )


def merge(args) -> int:
    """The command: check a filled-in form, keep its points beside those of others, and make pages
    and gradebooks anew, or change nothing.

    Returns:
        0; or 3 if somebody has no grade yet, which is said.
    """
    from instructor.grading.command import taking_overrides
    from instructor.grading.graded_class import class_of
    from instructor.grading.marks import Given
    from instructor.grading.pages import writing_reports
    from instructor.grading.state import State
    from instructor.grading.summary import say_problems

    own = args.out / NAME
    source = args.written or own
    marker = args.marker or source.stem
    place = NAME if source.resolve() == own.resolve() else str(source.resolve())
    with State(args.out) as state, contextlib.ExitStack() as stack:
        with state.transaction():
            stack.enter_context(taking_overrides(state, args.out))
            graded = class_of(state)
            if not source.exists() and args.written:
                raise UserError(f"{source} does not exist. Look at the name.")
            marks = read(source, graded) if source.exists() else []
            if not args.marker and (others := state.sources(marker) - {place}):
                raise UserError(
                    f"{source}: marks of {marker!r} came from {min(others)} before. Whose are "
                    "these? Say it: --marker NAME. Nothing was changed."
                )
            most = {check.id: check.points for check in _parts(graded)}
            given = [
                Given(
                    mark.id,
                    mark.rubric,
                    marker,
                    mark.points,
                    mark.comment,
                    args.decide,
                    most[mark.rubric],
                )
                for mark in marks
                if mark.points is not None or mark.comment
            ]
            new = state.put_marks(given, place)
            graded = class_of(state)
            stack.enter_context(writing_reports(graded, args.out))
    people = len({mark.person for mark in new})
    parts = len(_parts(graded)) * len(graded.entries)
    left = parts - sum(len(entry.written) for entry in graded.entries)
    print(
        f"{source}: {len(new)} new mark{'s' * (len(new) != 1)} for {people} "
        f"{'person' if people == 1 else 'people'}, by {marker}. Of {parts} written parts, {left} "
        "are not marked yet."
    )
    print(f"Pages and gradebooks in {args.out} are made anew.")
    return say_problems(graded, args.out)


def write_form(args) -> int:
    """The command: a blank form for a marker."""
    from instructor.grading.graded_class import load_class

    if args.file.exists():
        raise UserError(
            f"{args.file} is there already. Choose another name: what is filled in shall not be "
            "lost."
        )
    write_text(args.file, blank_form(load_class(args.out), args.anonymous, args.question or ""))
    print(
        f"Wrote {args.file}. Filled in: python -m instructor merge {args.out} --written {args.file}"
    )
    return 0


def add_parser(commands) -> None:
    """Add `merge` and `written` to the commands of `python -m instructor`."""
    command = commands.add_parser(
        "merge",
        help="take over the points of written parts and overrides.csv, and make pages and "
        "gradebooks anew",
        description="Checks the whole file first, and changes nothing if anything in it is wrong.",
    )
    command.add_argument("out", type=Path, help="the folder that `grade` wrote")
    command.add_argument(
        "--written",
        type=Path,
        metavar="FILE",
        help="a filled-in form, perhaps with some of the rows; cells that it leaves blank change "
        "nothing (default: OUT/written.csv)",
    )
    command.add_argument(
        "--marker",
        help="who marked (default: the file's name). Where two differ, the first counts, and both "
        "are shown",
    )
    command.add_argument(
        "--decide",
        action="store_true",
        help="the points of this file settle what markers gave differently",
    )
    command.set_defaults(run=merge)
    command = commands.add_parser(
        "written",
        help="write a blank form for a marker",
        description="A form of all written parts, for `merge --written`.",
    )
    command.add_argument("out", type=Path, help="the folder that `grade` wrote")
    command.add_argument("file", type=Path, help="such as anna.csv")
    command.add_argument(
        "--anonymous", action="store_true", help="codes in the place of names and ids"
    )
    command.add_argument("--question", help="only this one, such as 3c")
    command.set_defaults(run=write_form)


def _people(graded):
    """The ids of persons by what stands for them in a file."""
    people = {}
    for entry in graded.entries:
        for text in {
            cell(entry.person.id),
            entry.person.id,
            graded.codes.get(entry.person.id, entry.person.id),
        }:
            if people.setdefault(text, entry.person.id) != entry.person.id:
                raise UserError(
                    f"Two people have the id {text!r}, apart from characters that cannot be seen. "
                    "Mend the roster."
                )
    for old, new in graded.renamed.items():  # a form may be older than the roster
        for text in {cell(old), graded.codes.get(old, old)}:
            people.setdefault(text, people.get(new, new))
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
