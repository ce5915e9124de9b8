"""Who is in the class, and who a submission belongs to."""

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from common.files import UserError
from instructor.grading.grades import Person
from instructor.grading.sheet import read_sheet

from .find import Found
from .names import clean

# The known headers, without case, blanks and punctuation, and their fields of a Person.
HEADERS = {
    header: field
    for field, headers in {
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
    }.items()
    for header in headers.split()
}
# The first of these that a row has is the person's id.
IDENTIFIES = ("id", "sis_login", "email", "sis_id", "canvas_id", "github")
# where "any" is looked up
LOOKED_UP = ("id", "email", "sis_login", "github", "canvas_id", "sis_id")
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
        headers: of the file, exactly as written.
        column: the header of the assignment's column in Canvas' gradebook; "" if unknown.
    """

    people: tuple[Person, ...] = ()
    headers: tuple[str, ...] = ()
    column: str = ""

    @cached_property
    def _index(self):
        """The people by what identifies them: (field, value)."""
        index = defaultdict(set)
        for person in self.people:
            for field in LOOKED_UP:
                index[field, getattr(person, field).casefold()].add(person)
            for key in name_keys(person.name):
                index["name", key].add(person)
        return index

    @property
    def is_gradebook(self) -> bool:
        """Whether it has columns of assignments, as Canvas' gradebook does."""
        return any(map(COLUMN.search, self.headers))

    def match(self, found: Found) -> tuple[Person, str]:
        """Find the person that a submission belongs to.

        Returns:
            A person of the roster, and ""; or, if none or several fit, a Person made from the
            submission's name with enrolled=False, and a remark if several fit. With an empty
            roster, that Person is enrolled.
        """
        known, remark = dict(reversed(found.identities)), ""
        for field, value in found.identities:
            people = self.look_up(field, value, known)
            if len(people) == 1:
                return next(iter(people)), ""
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
        fields = {field: known.get(field, "") for field in ("email", *NUMBERS)}
        name = known.get("name", found.person)
        return Person(id, name, **fields, enrolled=not self.people), remark

    def look_up(self, field: str, value: str, known: dict[str, str] | None = None) -> set[Person]:
        """The people whom a value identifies.

        Args:
            field: of a Person, or "any": the first in which somebody has the value. A name may have
                its words in any order.
            known: somebody of this name with other NUMBERS than these is another one.
        """
        for place in (*LOOKED_UP, "name") if field == "any" else (field,):
            key = _squeeze(value) if place == "name" else value.casefold()
            people = self._index.get((place, key), set()) if key else set()
            if place == "name":
                people = {
                    person
                    for person in people
                    if all(
                        getattr(person, number) in ("", value)
                        for number, value in (known or {}).items()
                        if number in NUMBERS
                    )
                }
            if people:
                return people
        return set()


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
    headers = tuple(rows[0][1]) if rows else ()
    fields, column = _fields(headers), _column(headers, title)
    if rows and not set(fields) & set(IDENTIFIES):
        raise UserError(
            f"{path} is not a roster: its first line has none of the columns that identify "
            f"people. Expected {EXPECTED}."
        )
    if column:
        fields[headers.index(column)] = "mark"
    people, lines = [], {}
    for line, row in rows[1:]:
        try:
            person = _person(row, fields)
            if person and (other := lines.setdefault(person.id.casefold(), line)) != line:
                raise ValueError(
                    f"{person.id!r} is also in line {other}. Everybody needs a unique id."
                )
        except ValueError as error:
            raise UserError(f"{path}, line {line}: {error}") from None
        people += [person] if person else []
    if not people:
        raise UserError(
            f"{path} has nobody in it. Expected a line of headers, {EXPECTED}, and a line for "
            "each person."
        )
    return Roster(tuple(people), headers, column)


def _fields(headers):
    """The field of a Person that each column has; "" for others."""
    keys = [re.sub(r"[\W_]", "", header.casefold()) for header in headers]
    # Canvas calls its own number ID, and we call ours id
    known = HEADERS | ({"id": "canvas_id"} if "student" in keys else {})
    return [known.get(key, "") for key in keys]


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


def _person(row, fields):
    """The Person of a row; None for one that is blank, of a teacher, or added by Canvas itself.

    Raises:
        ValueError: nothing identifies the person.
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
    if "id" in fields and any(cells.values()) and not cells["id"]:
        raise ValueError(f"{name or 'somebody'} has no id. Everybody needs one.")
    ids = [cells[field] for field in IDENTIFIES if cells[field]]
    if not ids and name:
        raise ValueError(
            f"nothing identifies {name}. Everybody needs an id, a login, an e-mail address or a "
            "number."
        )
    known = ("email", "section", "canvas_id", "sis_id", "sis_login", "github")
    details = {field: cells[field] for field in known}
    return (
        Person(ids[0], name or ids[0], **details, excused=mark.casefold() == "ex") if ids else None
    )
