"""Who is in the class, and who a submission belongs to: from our CSV, an export of Canvas,
Gradescope or Classroom 50, or any CSV with its columns named.
"""

import argparse
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from autograder.report import harmless
from common.files import UserError
from instructor.grading.grades import Person
from instructor.grading.sheet import read_sheet

from .find import Found

# The known headers, without case, blanks and punctuation, and their fields of a Person.
HEADERS = {
    "id": "id",
    "identifier": "id",
    "name": "name",
    "fullname": "name",
    "student": "name",
    "email": "email",
    "emailaddress": "email",
    "section": "section",
    "sections": "section",
    "canvasid": "canvas_id",
    "sisid": "sis_id",
    "sisuserid": "sis_id",
    "sid": "sis_id",
    "sislogin": "sis_login",
    "sisloginid": "sis_login",
    "github": "github",
    "githubusername": "github",
    "firstname": "first",
    "lastname": "last",
    "role": "role",
}
FIELDS = tuple(dict.fromkeys(HEADERS.values()))  # what --column may name
# The first of these that a row has is the person's id. "login" is Classroom 50's username, which
# everybody has there; an address may be added later and would change the id.
IDENTIFIES = ("id", "login", "sis_login", "email", "sis_id", "canvas_id", "github")
# where "any" is looked up
LOOKED_UP = ("id", "email", "sis_login", "github", "canvas_id", "sis_id")
FIXED = ("canvas_id", "sis_id")  # two people of one name differ in these
EXPECTED = (
    "id, name, email, section, canvas_id, sis_id, sis_login, github (id, or another column that "
    "identifies people, is enough), or the columns of a gradebook of Canvas, or of a roster of "
    "Gradescope or Classroom 50; or name the columns: --column github=HEADER"
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

    def __post_init__(self):
        index, names = defaultdict(set), defaultdict(set)
        for person in self.people:
            for kind in LOOKED_UP:
                index[kind, getattr(person, kind).casefold()].add(person)
            for key in name_keys(person.name):
                names[key].add(person)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_names", names)

    @property
    def is_gradebook(self) -> bool:
        """Whether it has columns of assignments, as Canvas' gradebook does."""
        return any(re.search(r"\(\d+\)\s*$", header) for header in self.headers)

    def column_for(self, title: str) -> str:
        """The header of the assignment's column in Canvas' gradebook, `TITLE (digits)`, ignoring
        case and blanks; "" if there is none or more than one. A title with its digits is
        unambiguous.
        """
        found = [
            header
            for header in self.headers
            if re.search(r"\(\d+\)\s*$", header)
            and _pressed(title) in (_pressed(header), _pressed(header.rpartition("(")[0]))
        ]
        return found[0] if len(found) == 1 else ""

    def match(self, found: Found) -> tuple[Person, str]:
        """Find the person that a submission belongs to.

        Returns:
            A person of the roster, and ""; or, if none or several fit, a Person made from the
            submission's name with enrolled=False, and a remark that says so. With an empty roster,
            that Person is enrolled, and there is no remark.
        """
        remark = f"{found.person} is not in the roster."
        for kind, value in found.identities:
            people = self._look_up(kind, value, dict(found.identities))
            if len(people) == 1:
                return people.pop(), ""
            if people:
                ids = ", ".join(sorted(person.id for person in people))
                remark = (
                    f"{value} fits each of {ids} in the roster. Put an id into the name of the "
                    "submission."
                )
                break
        return self._stranger(found), remark if self.people else ""

    def find(self, person: Person) -> Person | None:
        """The person of this roster who is a given one of another roster, or a stranger; None if
        unsure. People with the same name must agree in everything that both rosters know.
        """
        kinds = ("canvas_id", "sis_id", "email", "sis_login", "github")
        known = {kind: getattr(person, kind) for kind in kinds if getattr(person, kind)}
        for kind, value in known.items():
            if len(found := self._look_up(kind, value, known)) == 1:
                return found.pop()
        same = [
            one
            for one in self._look_up("name", person.name, known)
            if all(
                getattr(one, kind).casefold() in ("", value.casefold())
                for kind, value in known.items()
            )
        ]
        return same[0] if len(same) == 1 else None

    def _look_up(self, kind, value, identities):
        if kind == "name":
            same = self._names.get(_squeeze(value), set())
            return {
                person
                for person in same
                if not any(
                    getattr(person, fixed)
                    and fixed in identities
                    and getattr(person, fixed) != identities[fixed]
                    for fixed in FIXED
                )
            }
        for one in LOOKED_UP if kind == "any" else (kind,):
            if people := self._index.get((one, value.casefold())):
                return set(people)
        return self._look_up("name", value, identities) if kind == "any" else set()

    def _stranger(self, found):
        known = dict(reversed(found.identities))
        person = found.person
        while any(person.casefold() == other.id.casefold() for other in self.people):
            person += " (not in the roster)"
        return Person(
            person,
            known.get("name", found.person),
            known.get("email", ""),
            "",
            known.get("canvas_id", ""),
            known.get("sis_id", ""),
            "",
            known.get("github", ""),
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


def named_column(text: str) -> tuple[str, str]:
    """Parse an argument of --column: FIELD=HEADER as (FIELD, HEADER)."""
    field, equals, header = text.partition("=")
    if not (equals and field.strip() and header.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIELD=HEADER, such as github=username")
    return field.strip().casefold(), header


def read_roster(path: Path, columns: dict[str, str] | None = None, title: str = "") -> Roster:
    """Read a class roster: CSV with commas, semicolons or tabs, in UTF-8 or UTF-16.

    Args:
        path: the file.
        columns: the header by the field of a person (FIELDS), for headers that are not known.
        title: of the assignment, to find in a gradebook of Canvas: people with EX there have
            excused=True.

    Raises:
        UserError: the file is missing or not such a CSV, it lacks one of `columns`, or an id is
            missing or used twice; the message names the line.
    """
    where = harmless(str(path))
    rows = read_sheet(path).rows
    headers = tuple(rows[0][1]) if rows else ()
    fields, column = _fields(headers, columns, where), Roster(headers=headers).column_for(title)
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


def _fields(headers, columns, where):
    """The columns of each field of a Person: the named one, else the known ones."""
    keys = [re.sub(r"[\W_]", "", header.casefold()) for header in headers]
    fields = defaultdict(list)
    for index, key in enumerate(keys):
        if key in HEADERS:
            fields[HEADERS[key]].append(index)
    if "student" in keys and "id" in keys:  # Canvas calls its own number ID, and we call ours id
        fields["canvas_id"] += fields.pop("id")
    if "username" in keys and "githubid" in keys:  # Classroom 50; elsewhere it may be any login
        fields["login"] = fields["github"] = [keys.index("username")]
    for field, wanted in (columns or {}).items():
        if field not in FIELDS:
            there = ", ".join(FIELDS)
            raise UserError(f"{harmless(field)!r} is not a field of a person. Choose from {there}.")
        fields[field] = [i for i, one in enumerate(headers) if _pressed(one) == _pressed(wanted)]
        if not fields[field]:
            there = harmless(", ".join(headers))
            raise UserError(f"{where} has no column {harmless(wanted)!r}. It has {there}.")
    return fields


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
