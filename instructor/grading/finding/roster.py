"""Who is in the class, and who a submission belongs to."""

import functools
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from common.files import UserError
from instructor.grading.grades import Person
from instructor.grading.sheet import read_sheet
from instructor.grading.text import clean

from .find import Found

# The known headers, without case, blanks and punctuation, by fields of a Person.
HEADERS = {
    "id": "id identifier",
    "name": "name fullname student",
    "email": "email emailaddress",
    "section": "section sections",
    "canvas_id": "canvasid",
    "sis_id": "sisid sisuserid sid",
    "sis_login": "sislogin sisloginid",
    "github": "github githubusername",
    "first": "firstname",
    "last": "lastname",
    "role": "role",
}
# The first of these that a row has is the person's id.
IDENTIFIES = ("id", "sis_login", "email", "sis_id", "canvas_id", "github")
# where "any" is looked up
LOOKED_UP = ("id", "email", "sis_login", "github", "canvas_id", "sis_id", "name")
NUMBERS = ("canvas_id", "sis_id")  # two people of one name differ in these
COLUMN = re.compile(r"\(\d+\)\s*$")  # how the header of an assignment ends in Canvas
EXPECTED = (
    "id, name, email, section, canvas_id, sis_id, sis_login, github (id is enough), or the columns "
    "of a gradebook of Canvas, a grading worksheet of Moodle or a roster of Gradescope"
)


@dataclass(frozen=True)
class Roster:
    """The people of a class, in the order of the file. An empty one means no roster.

    Attributes:
        is_gradebook: whether it has columns of assignments, as Canvas' gradebook does.
        column: the header of the assignment's column there, exactly as written; "" if unknown.
    """

    people: tuple[Person, ...] = ()
    is_gradebook: bool = False
    column: str = ""

    def match(self, found: Found) -> tuple[Person, str]:
        """Find the person that a submission belongs to.

        Returns:
            A person of the roster, and ""; or, if none or several fit, a Person made from the
            submission's name with enrolled=False, and a remark if several fit. With an empty
            roster, that Person is enrolled.
        """
        known, remark = dict(reversed(found.identities)), ""
        numbers = {field: known[field] for field in NUMBERS if field in known}
        for field, value in found.identities:
            people = self.look_up(field, value, numbers)
            if len(people) == 1:
                return people[0], ""
            if people:
                ids = ", ".join(sorted(person.id for person in people))
                remark = (
                    f"{value} fits each of {ids} in the roster. Put an id into the name of the "
                    "submission."
                )
                break
        id = found.person
        while any(id.casefold() == person.id.casefold() for person in self.people):
            id += " (not in the roster)"
        name, email = known.get("name", found.person), known.get("email", "")
        return Person(id, name, email, **numbers, enrolled=not self.people), remark

    def look_up(
        self, field: str, value: str, numbers: dict[str, str] | None = None
    ) -> list[Person]:
        """The people whom a value identifies.

        Args:
            field: of a Person, or "any": the first in which somebody has the value. A name may have
                its words in any order.
            numbers: somebody of this name with other NUMBERS than these is another one.
        """

        def fits(person, place):
            if place != "name":
                return value.casefold() == getattr(person, place).casefold()
            same = all(getattr(person, key) in ("", it) for key, it in (numbers or {}).items())
            return same and _squeeze(value) in name_keys(person.name)

        for place in LOOKED_UP if field == "any" else (field,):
            if people := [person for person in self.people if value and fits(person, place)]:
                return people
        return []


@functools.cache
def _squeeze(name):
    """A name without case, accents, blanks and punctuation. Marks of other scripts stay: they
    distinguish words.
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(
        ch
        for ch in plain
        if not "\u0300" <= ch <= "\u036f" and unicodedata.category(ch)[0] in "LMN"
    )


@functools.cache
def name_keys(name: str) -> set[str]:
    """The squeezed forms of a name, one starting with each of its words."""
    words = [word for word in map(_squeeze, re.split(r"[\s,]+", name)) if word][:8]
    return {"".join(words[first:] + words[:first]) for first in range(len(words))}


def read_roster(path: Path, title: str = "") -> Roster:
    """Read a class roster: CSV with commas, semicolons or tabs, in UTF-8 or UTF-16.

    Args:
        path: the file.
        title: of the assignment, to find in a gradebook of Canvas: people with EX there have
            excused=True.

    Raises:
        UserError: the file is missing or not such a CSV, or an id is missing or used twice; the
            message names the line.
    """
    rows = read_sheet(path).rows
    headers = rows[0][1] if rows else []
    keys = [re.sub(r"[\W_]", "", header.casefold()) for header in headers]
    known = {header: field for field, names in HEADERS.items() for header in names.split()}
    # Canvas calls its own number ID, and we call ours id
    known |= {"id": "canvas_id"} if "student" in keys else {}
    fields, column = [known.get(key, "") for key in keys], _column(headers, title)
    if rows and not set(fields) & set(IDENTIFIES):
        raise UserError(
            f"{path} is not a roster: its first line has none of the columns that identify "
            f"people. Expected {EXPECTED}."
        )
    if column:
        fields[headers.index(column)] = "mark"
    people, lines = [], {}
    for line, row in rows[1:]:
        if person := _person(row, fields, f"{path}, line {line}"):
            if (other := lines.setdefault(person.id.casefold(), line)) != line:
                raise UserError(
                    f"{path}, line {line}: {person.id!r} is also in line {other}. Everybody needs "
                    "a unique id."
                )
            people.append(person)
    if not people:
        raise UserError(
            f"{path} has nobody in it. Expected a line of headers, {EXPECTED}, and a line for "
            "each person."
        )
    return Roster(tuple(people), any(map(COLUMN.search, headers)), column)


def _column(headers, title):
    """The header of the assignment's column in Canvas' gradebook, `TITLE (digits)`, ignoring case
    and blanks; "" if there is none or more than one. A title with its digits is unambiguous.
    """

    def pressed(text):
        return "".join(text.split()).casefold()

    columns = [
        header
        for header in filter(COLUMN.search, headers)
        if pressed(title) in (pressed(header), pressed(COLUMN.sub("", header)))
    ]
    return columns[0] if len(columns) == 1 else ""


def _person(row, fields, where):
    """The Person of a row; None for one that is blank, of a teacher, or added by Canvas itself.

    Raises:
        UserError: nothing identifies the person.
    """
    cells = defaultdict(str)
    for field, cell in zip(fields, row):
        cells[field] = cells[field] or clean(cell)
    mark, _ = cells.pop("mark", ""), cells.pop("", "")
    name = cells["name"] or f"{cells['first']} {cells['last']}".strip()
    if (
        name.casefold().startswith("points possible")
        or name == "Student, Test"
        or cells["role"].casefold() not in ("", "student")
    ):
        return None
    ids = [cells[field] for field in (("id",) if "id" in fields else IDENTIFIES) if cells[field]]
    if not ids and not name and ("id" not in fields or not any(cells.values())):
        return None
    if not ids:
        raise UserError(
            f"{where}: {name or 'somebody'} has no id. Everybody needs one, or without a column of "
            "ids a login, an e-mail address or a number."
        )
    known = ("email", "section", "canvas_id", "sis_id", "sis_login", "github")
    details = {field: cells[field] for field in known}
    return Person(ids[0], name or ids[0], **details, excused=mark.casefold() == "ex")
