"""Staff decisions about single people: OUT/overrides.csv, with a reason in every line."""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder import Manifest
from autograder.report import harmless
from checks.support.session import MANIFEST
from common.files import UserError
from instructor.course import read_course

from .private import writing_all
from .sheet import MARK, read_sheet, table

NAME = "overrides.csv"
COLUMNS = ("id", "extension days", "excused", "check", "points", "reason")
EXTENSION, EXCUSED, POINTS = "extension", "excused", "points"
YES, NO = {"yes", "y", "x", "true", "1"}, {"", "no", "n", "false", "0"}


@dataclass(frozen=True)
class Override:
    """A decision about a person.

    Attributes:
        kind: EXTENSION (value: days), EXCUSED (value: 1), or POINTS.
        item: for POINTS, the check that gets them; "" for points added to the total.
        reason: for the person and the staff.
    """

    person: str
    kind: str
    item: str
    value: float
    reason: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies the decision: there is one per key."""
        return self.person, self.kind, self.item

    @property
    def told(self) -> str:
        """The decision in words."""
        if self.kind == EXTENSION:
            return f"{self.value:g} day{'s' * (self.value != 1)} more"
        if self.kind == EXCUSED:
            return "excused"
        return f"{self.value:g} points" if self.item else f"points added: {self.value:+g}"


def read_overrides(path: Path, people: dict[str, str], manifest: Manifest) -> list[Override]:
    """Read the file, and check all of it.

    Args:
        path: CSV as spreadsheets write it, with the columns COLUMNS.
        people: people's ids, by what the file may call them.
        manifest: gives the checks and their points.

    Raises:
        UserError: anything in it is wrong; the message names the line.
    """
    rows = read_sheet(path).rows
    header = (
        [" ".join(name.lower().replace("_", " ").split()) for name in rows[0][1]] if rows else []
    )
    missing = [name for name in COLUMNS if header.count(name) != 1]
    if missing:
        raise UserError(
            f"{path}, line 1: there should be one column {missing[0]!r}. "
            f"The columns are {', '.join(COLUMNS)}. Nothing was changed."
        )
    found = {}
    for line, row in rows[1:]:
        cells = dict(zip(header, [cell.strip() for cell in row] + [""] * len(header), strict=False))
        try:
            for one in _overrides(cells, people, manifest):
                if one.key in found:
                    raise ValueError(f"{one.kind} of {one.person!r} is in two lines; keep one")
                found[one.key] = one
        except ValueError as error:
            raise UserError(
                harmless(f"{path}, line {line}: {error}. Nothing was changed.")
            ) from None
    return list(found.values())


def _overrides(cells, people, manifest):
    """The decisions of a line; raises ValueError with what is wrong."""
    person, check, reason = (cells[name] for name in ("id", "check", "reason"))
    person = person[1:] if person not in people and person.startswith("'") else person
    given = {EXTENSION: cells["extension days"], POINTS: cells["points"]}
    given = {kind: _number(text) for kind, text in given.items() if text}
    if cells["excused"].lower() not in YES | NO:
        raise ValueError(f"excused is {cells['excused'][:40]!r}, and should be yes or blank")
    if cells["excused"].lower() in YES:
        given[EXCUSED] = 1.0
    if person not in people:
        raise ValueError(f"{person[:60]!r} is not in this class; grades-plain.csv has the ids")
    if not given:
        raise ValueError("neither extension days, nor excused, nor points")
    if not reason:
        raise ValueError("a reason is missing; the person will read it")
    if given.get(EXTENSION, 0) < 0 or given.get(EXTENSION, 0) % 1:
        raise ValueError("extension days should be a whole number of days")
    if check and POINTS not in given:
        raise ValueError(f"a check, {check[:40]!r}, but no points for it")
    if check and (check not in manifest.checks or not manifest.checks[check].coded):
        raise ValueError(
            f"{check[:40]!r} is not an automatic check; python src/grader.py --list shows them"
        )
    if check and not 0 <= given[POINTS] <= manifest.checks[check].points:
        raise ValueError(f"{check} gives 0 to {manifest.checks[check].points:g} points")
    for kind, value in given.items():
        yield Override(people[person], kind, check if kind == POINTS else "", value, reason)


def _number(text):
    if not re.fullmatch(r"[+-]?\d{1,6}([.,]\d{1,4})?", text, re.ASCII):
        raise ValueError(f"{text[:40]!r} is not a number")
    return float(text.replace(",", "."))


def as_rows(overrides: Iterable[Override]) -> list[tuple]:
    """The rows of a file with these decisions, header first."""
    column = {EXTENSION: 1, EXCUSED: 2, POINTS: 4}
    rows = [COLUMNS]
    for one in overrides:
        row = [one.person, None, None, one.item, None, one.reason]
        row[column[one.kind]] = "yes" if one.kind == EXCUSED else one.value
        rows.append(tuple(row))
    return rows


@contextlib.contextmanager
def taking_overrides(state, out: Path):
    """Read staff decisions about single people from OUT/overrides.csv. If the file is missing,
    write one with the earlier decisions when the block ends without an error.

    Raises:
        UserError: something in it is wrong; nothing was changed.
    """
    path, blank = out / NAME, {}
    if path.exists():
        # The file may still list people who have left.
        people = {person.id: person.id for person in state.people()}
        people = {id: id for id in state.left()} | people
        manifest = read_course().manifest(MANIFEST)
        for sentence in state.put_overrides(read_overrides(path, people, manifest)):
            print(sentence)
    else:
        blank[path] = MARK + table(as_rows(state.overrides()))
    with writing_all(blank):
        yield
