"""The files in which people decide, which the program never rewrites: overrides.csv, requests.csv,
and written/MARKER.csv with the marks of each marker.

Each is read whole, or refused with the line of the fault; each version that was read is kept.
"""

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from autograder import Manifest
from autograder.report import harmless
from common.files import UserError, writing

from . import settings
from .decisions import EXCUSED, EXTENSION, POINTS, Decisions, Mark, Override, Request
from .private import private
from .sheet import ADVICE, MARK, cell, read_sheet, table

OVERRIDES, REQUESTS, WRITTEN = "overrides.csv", "requests.csv", "written"
COLUMNS = {
    OVERRIDES: ("id", "extension days", "excused", "check", "points", "reason"),
    REQUESTS: ("id", "check", "what they say", "points", "answer"),
}
MARKS = ("rubric", "points")  # besides id or code; comment and max points may be missing
YES, NO = {"yes", "y", "x", "true", "1"}, {"", "no", "n", "false", "0"}
VERSIONS = "versions"  # the folder that keeps each version of a file that was read


def make_files(folder: Path) -> None:
    """Write the files that are missing, without decisions."""
    (folder / WRITTEN).mkdir(mode=0o700, exist_ok=True)
    for name, columns in COLUMNS.items():
        if not (folder / name).exists():
            if kept := sorted((folder / VERSIONS / Path(name).stem).glob("*")):
                raise UserError(
                    f"{folder / name} is missing. Its last version is {kept[-1]}: copy it back. "
                    "If nothing in it counts any more, make an empty file with its first line."
                )
            with private(), writing(folder / name) as temporary:
                temporary.write_text(MARK + table([columns]), encoding="utf-8")


def keep_versions(folder: Path, roster: Path | None) -> None:
    """Copy each decision file, the settings and the roster into CLASS/versions, unless the newest
    version there has the same content. Its name has the time and the content's hash.
    """
    files = [folder / name for name in (settings.NAME, *COLUMNS)] + _markers_files(folder)
    places = {path: path.relative_to(folder).with_suffix("") for path in files}
    places |= {roster: Path("roster")} if roster else {}
    for path, place in places.items():
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:12]
        place = folder / VERSIONS / place
        kept = sorted(place.glob(f"*{path.suffix}"))
        if not kept or not kept[-1].stem.endswith(digest):
            time = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%S.%f")
            with private(), writing(place / f"{time} {digest}{path.suffix}") as temporary:
                temporary.write_bytes(content)


def read_decisions(
    folder: Path, present: set[str], left: set[str], codes: dict[str, str], manifest: Manifest
) -> Decisions:
    """Read all decision files of a class.

    Args:
        folder: of the class.
        present: the ids of those who are in it.
        left: the ids of those who have left: their lines are skipped.
        codes: of everybody, those who have left included, by id: anonymous forms have them.
        manifest: gives the checks and their points.

    Raises:
        UserError: anything in them is wrong; the message names the file and the line.
    """
    reader = _Reader(present, left, codes, manifest)
    overrides = reader.read(folder / OVERRIDES, COLUMNS[OVERRIDES], reader.overrides)
    requests = reader.read(folder / REQUESTS, COLUMNS[REQUESTS], reader.request)
    overrides += [item for item in requests if isinstance(item, Override)]
    for item, count in Counter((o.person, o.kind, o.item) for o in overrides).items():
        if count > 1:
            raise UserError(
                harmless(
                    f"{OVERRIDES} and {REQUESTS} have {item[1]} for {item[0]!r} in {count} lines: "
                    f"{' '.join(filter(None, item))}. Keep one. Nothing was changed."
                )
            )
    marks = []
    for path in _markers_files(folder):
        marks += reader.read(path, MARKS, functools.partial(reader.mark, path.stem))
        if twice := [part for part, n in Counter(map(_part_of, marks)).items() if n > 1]:
            raise UserError(
                harmless(
                    f"{path}: {twice[0][1]} of {twice[0][0]!r} is in two lines. Keep one. Nothing "
                    "was graded."
                )
            )
    return Decisions(
        tuple(overrides),
        tuple(item for item in requests if isinstance(item, Request)),
        tuple(marks),
        tuple(reader.skipped),
    )


def _markers_files(folder):
    """The files in CLASS/written: all but those that spreadsheets hide, so that one in another
    format is refused, and not overlooked.
    """
    files = [path for path in (folder / WRITTEN).iterdir() if path.is_file()]
    return sorted(path for path in files if not re.match(r"[.~#]|.*~$", path.name))


def _part_of(mark):
    return mark.person, mark.rubric, mark.marker


class _Reader:
    """Reads decision files of a class.

    Args:
        present: the ids of those who are in the class.
        left: the ids of those who were.
        codes: of all of them, by id.
        manifest: gives the checks and their points.

    Attributes:
        skipped: sentences about lines of people who have left.
    """

    def __init__(self, present, left, codes, manifest):
        self.present, self.manifest, self.skipped = present, manifest, []
        ids = [*left, *present]
        self.names = {text: id for id in ids for text in (codes.get(id, id), cell(id))}
        self.names |= {id: id for id in ids}

    def read(self, path: Path, needed: tuple[str, ...], parse: Callable) -> list:
        """The decisions in a file: what `parse` makes of the cells and the person of each line.

        Raises:
            UserError: something in it is wrong.
        """
        if not path.exists():
            return []
        sheet = read_sheet(path)
        header = [_column(name) for name in sheet.rows[0][1]] if sheet.rows else []
        who = "code" if "code" in header and "id" not in header else "id"
        for name in dict.fromkeys((who, *needed)):
            if header.count(name) != 1:
                fault = "two columns" if name in header else "no column"
                columns = ", ".join(dict.fromkeys(("id", *needed)))
                raise UserError(
                    f"{path}, line 1: {fault} {name!r}. The columns are {columns}. {ADVICE}"
                )
        found = []
        for line, row in sheet.rows[1:]:
            try:
                if any(text.strip() for text in row[len(header) :]):
                    raise ValueError(
                        f"{len(row)} cells, but the header has {len(header)}. A text with a comma "
                        "needs quotes"
                    )
                row = [text.strip() for text in row] + [""] * (len(header) - len(row))
                cells = dict(zip(header, row))
                person = self.names.get(cells[who])
                if person is None:
                    raise ValueError(
                        f"{cells[who][:60]!r} is not in this class; grades-plain.csv has the ids. "
                        "Spreadsheets drop leading zeros"
                    )
                if person in self.present:
                    found += parse(cells, person)
                else:
                    self.skipped.append(f"{path.name}, line {line}: {person!r} has left.")
            except ValueError as error:
                raise UserError(
                    harmless(f"{path}, line {line}: {error}. Correct it. Nothing was changed.")
                ) from None
        return found

    def overrides(self, cells: dict[str, str], person: str) -> list[Override]:
        """The overrides in a line."""
        check, reason = cells["check"], cells["reason"]
        given = {EXTENSION: cells["extension days"], POINTS: cells["points"]}
        given = {kind: _number(text) for kind, text in given.items() if text}
        if cells["excused"].lower() not in YES | NO:
            raise ValueError(f"excused is {cells['excused'][:40]!r}, and should be yes or blank")
        if cells["excused"].lower() in YES:
            given[EXCUSED] = 1.0
        if not given:
            raise ValueError("neither extension days, nor excused, nor points")
        if not reason:
            raise ValueError("a reason is missing; the person will read it")
        if given.get(EXTENSION, 0) < 0 or given.get(EXTENSION, 0) % 1:
            raise ValueError("extension days should be a whole number of days")
        if check and POINTS not in given:
            raise ValueError(f"a check, {check[:40]!r}, but no points for it")
        if check:
            self._require(check, given[POINTS])
        return [
            Override(person, kind, check if kind == POINTS else "", value, reason)
            for kind, value in given.items()
        ]

    def request(self, cells: dict[str, str], person: str) -> list[Request | Override]:
        """The request in a line, and the override that an answer with points is."""
        check, answer = cells["check"], cells["answer"]
        if check and check not in self.manifest.checks | self.manifest.questions:
            raise ValueError(
                f"there is no check {check[:40]!r}; python src/grader.py --list shows all"
            )
        found = [Request(person, check, cells["what they say"], answer)]
        if cells["points"]:
            if not answer:
                raise ValueError("points without an answer; the person will read it")
            points = _number(cells["points"])
            if check:
                self._require(check, points)
            found.append(Override(person, POINTS, check, points, answer))
        return found

    def mark(self, marker: str, cells: dict[str, str], person: str) -> list[Mark]:
        """The mark in a line of a marker's file."""
        parts = {check.id: check for check in self.manifest.checks.values() if not check.coded}
        rubric, comment = cells["rubric"], cells.get("comment", "")
        if rubric not in parts:
            raise ValueError(
                f"{rubric[:60]!r} is not a written part. The parts are {', '.join(parts)}"
            )
        points = _number(cells["points"]) if cells["points"] else None
        # if the part had other points when it was marked, the mark keeps its share of them
        today = parts[rubric].points
        most = _number(cells["max points"]) if cells.get("max points") else today
        if points is not None and re.fullmatch(r"\d+", comment):
            raise ValueError(f"the comment is {comment!r}: decimal commas need quotes")
        if points is not None and not 0 <= points <= most:
            raise ValueError(f"{cells['points']} points, but there are 0 to {most:g}")
        if points is not None and most != today:
            points = round(points * today / most, 4) if most else 0.0
        blank = points is None and not comment
        return [] if blank else [Mark(person, rubric, marker, points, comment)]

    def _require(self, id, points):
        """Raise ValueError unless it is an automatic check that gives so many points."""
        check = self.manifest.checks.get(id)
        if check is not None and not check.coded:
            raise ValueError(f"a person marks {id}: write the points into written/decided.csv")
        if check is None:
            raise ValueError(
                f"{id[:40]!r} is not an automatic check; python src/grader.py --list shows them"
            )
        if not 0 <= points <= check.points:
            raise ValueError(f"{id} gives 0 to {check.points:g} points")


def _number(text):
    if not re.fullmatch(r"[+-]?(\d{1,6}([.,]\d{0,4})?|[.,]\d{1,4})", text, re.ASCII):
        raise ValueError(f"{text[:60]!r} is not a number; a text with a comma needs quotes")
    return float(text.replace(",", "."))


def _column(name):
    return " ".join(name.lower().replace("_", " ").split())
