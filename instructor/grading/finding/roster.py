"""Who is in the class, and who a submission belongs to."""

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.report import harmless
from common.files import UserError
from instructor.grading.grades import Person
from instructor.grading.sheet import read_sheet

from .find import Found

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
    def _by_field(self):
        index = defaultdict(set)
        for person in self.people:
            for field in LOOKED_UP:
                index[field, getattr(person, field).casefold()].add(person)
        return index

    @cached_property
    def _by_name(self):
        index = defaultdict(set)
        for person in self.people:
            for key in name_keys(person.name):
                index[key].add(person)
        return index

    @property
    def is_gradebook(self) -> bool:
        """Whether it has columns of assignments, as Canvas' gradebook does."""
        return any(re.search(r"\(\d+\)\s*$", header) for header in self.headers)

    def match(self, found: Found) -> tuple[Person, str]:
        """Find the person that a submission belongs to.

        Returns:
            A person of the roster, and ""; or, if none or several fit, a Person made from the
            submission's name with enrolled=False, and a remark if several fit. With an empty
            roster, that Person is enrolled.
        """
        identities = dict(found.identities)
        for field, value in found.identities:
            people = self._look_up(field, value, identities)
            if len(people) == 1:
                return next(iter(people)), ""
            if people:
                ids = ", ".join(sorted(person.id for person in people))
                return self._stranger(found), (
                    f"{value} fits each of {ids} in the roster. Put an id into the name of the "
                    "submission."
                )
        return self._stranger(found), ""

    def _look_up(self, field, value, identities):
        """The people whom a value identifies, in a field or in "any"."""
        for known in LOOKED_UP if field == "any" else (field,):
            if people := self._by_field.get((known, value.casefold())):
                return people
        if field not in ("any", "name"):
            return set()
        return {
            person
            for person in self._by_name.get(_squeeze(value), ())
            if all(
                getattr(person, n) in ("", identities.get(n, getattr(person, n))) for n in NUMBERS
            )
        }

    def _stranger(self, found):
        """A person who is not in the roster, with an id that nobody in it has."""
        known = dict(reversed(found.identities))
        id = found.person
        while any(id.casefold() == person.id.casefold() for person in self.people):
            id += " (not in the roster)"
        return Person(
            id,
            known.get("name", found.person),
            known.get("email", ""),
            canvas_id=known.get("canvas_id", ""),
            sis_id=known.get("sis_id", ""),
            enrolled=not self.people,
        )


def _pressed(text):
    return "".join(text.split()).casefold()


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
    where = harmless(str(path))
    rows = read_sheet(path).rows
    headers = tuple(rows[0][1]) if rows else ()
    fields, column = _fields(headers), _column(headers, title)
    if rows and not set(fields) & set(IDENTIFIES):
        raise UserError(
            f"{where} is not a roster: its first line has none of the columns that identify "
            f"people. Expected {EXPECTED}."
        )
    fields["mark"] = [headers.index(column)] if column else []
    people, lines = [], {}
    for line, row in rows[1:]:
        if person := _person(row, fields, f"{where}, line {line}"):
            if other := lines.get(person.id.casefold()):
                raise UserError(
                    f"{where}, line {line}: {harmless(person.id)!r} is also in line {other}. "
                    "Everybody needs a unique id."
                )
            lines[person.id.casefold()] = line
            people.append(person)
    if not people:
        raise UserError(
            f"{where} has nobody in it. Expected a line of headers, {EXPECTED}, and a line for "
            "each person."
        )
    return Roster(tuple(people), headers, column)


def _fields(headers):
    """The columns of each field of a Person."""
    keys = [re.sub(r"[\W_]", "", header.casefold()) for header in headers]
    fields = defaultdict(list)
    for index, key in enumerate(keys):
        if key in HEADERS:
            fields[HEADERS[key]].append(index)
    if "student" in keys and "id" in keys:  # Canvas calls its own number ID, and we call ours id
        fields["canvas_id"] += fields.pop("id")
    return fields


def _column(headers, title):
    """The header of the assignment's column in Canvas' gradebook, `TITLE (digits)`, ignoring case
    and blanks; "" if there is none or more than one. A title with its digits is unambiguous.
    """
    columns = [
        header
        for header in headers
        if re.search(r"\(\d+\)\s*$", header)
        and _pressed(title) in (_pressed(header), _pressed(header.rpartition("(")[0]))
    ]
    return columns[0] if len(columns) == 1 else ""


def _person(row, fields, where):
    """The Person of a row; None for one that is blank, of a teacher, or added by Canvas itself."""
    row = [" ".join(cell.split()) for cell in row]
    cells = defaultdict(str)
    for field, indices in fields.items():
        cells[field] = next((row[i] for i in indices if row[i:] and row[i]), "")
    name = cells["name"] or f"{cells['first']} {cells['last']}".strip()
    if (
        name.casefold().startswith("points possible")
        or name == "Student, Test"
        or cells["role"].casefold() not in ("", "student")
    ):
        return None
    ids = [cells[field] for field in IDENTIFIES if cells[field]]
    mark = cells.pop("mark", "")
    if "id" in fields and any(cells.values()) and not cells["id"]:
        raise UserError(f"{where}: {harmless(name) or 'somebody'} has no id. Everybody needs one.")
    if not ids:
        if name:
            raise UserError(
                f"{where}: nothing identifies {harmless(name)}. Everybody needs an id, a login, an "
                "e-mail address or a number."
            )
        return None
    known = ("email", "section", "canvas_id", "sis_id", "sis_login", "github")
    return Person(
        ids[0], name or ids[0], *(cells[field] for field in known), excused=mark.casefold() == "ex"
    )
