"""Reads the folder of a class that an older program graded: options, roster, marks and decisions
were in grades.sqlite, version 2. They become files, once.
"""

import json
import re
from itertools import chain, count
from pathlib import Path

from common.files import UserError, writing

from .changes import snapshot
from .database import TABLES, VERSION, State
from .decision_files import COLUMNS, OVERRIDES, WRITTEN, make_files
from .decisions import DECIDED
from .graded_class import class_of, decisions_of
from .private import private
from .settings import NAME, TEMPLATE, read_settings
from .sheet import MARK, read_sheet, table

OLD = ("people", "handed", "gradings", "outcomes", "marks", "overrides", "history")


def convert(state: State, folder: Path) -> None:
    """Write the files of a class from its state of version 2, and change the state to today's.

    If it is interrupted, it begins again.

    Raises:
        UserError: a file cannot be written, or another one is in its place.
    """
    with state.transaction(), private():
        old = {name: state.rows(f"SELECT * FROM {name} ORDER BY rowid") for name in OLD}
        _write_overrides(folder, old["overrides"])
        _write_marks(folder, old["marks"])
        make_files(folder)
        _write_settings(state, folder)
        for name in OLD:
            state.rows(f"DROP TABLE {name}")
        for statement in TABLES.split(";\n")[1:]:
            state.rows(statement)
        _copy(state, old)
        state.put(version=VERSION)
        people = state.people()
        graded = class_of(state, read_settings(folder), decisions_of(state, folder, people))
        state.put(snapshot=json.dumps(snapshot(graded)))
    print(
        f"{folder} is of an older program. Its options are now in {NAME}, and what people decided "
        f"in {OVERRIDES} and the folder {WRITTEN}. The old written.csv is no longer read. Where "
        "markers differ, the first one's points counted; now none do until written/decided.csv has "
        "the right ones."
    )


def _write(path, content, replaces=lambda content: False):
    """Write a file; one that exists has to be the same, of an interrupted conversion, or one that
    may be replaced.
    """
    if path.exists() and path.read_bytes() != content and not replaces(path.read_bytes()):
        raise UserError(
            f"{path} is in the way of what an older program kept in grades.sqlite, which becomes "
            "that file. Move it elsewhere, run the same command again, then put what you need of "
            "it into the new one. Nothing was changed."
        )
    with writing(path) as temporary:
        temporary.write_bytes(content)


def _write_settings(state, folder):
    given = json.loads(state.get("remembered") or "{}")
    given["grace_minutes"] = given.pop("grace", 0)
    given["submissions"] = [given["submissions"]] if given.get("submissions") else None
    if roster := json.loads(state.get("roster") or "null"):
        _write(folder / "roster.csv", roster["file"].encode("latin-1"))
        given["roster"] = "roster.csv"
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in given.items():
        if value is not None:  # what JSON writes, TOML reads
            line = f"{name} = {json.dumps(value, ensure_ascii=False)}  "
            text = re.sub(rf"(?m)^{name} = [^#\n]*", lambda match, line=line: line, text)
    _write(folder / NAME, re.sub(r"(?m) +$", "", text).encode())


def _write_overrides(folder, overrides):
    place = {"extension": 1, "excused": 2, "points": 4}  # of the old kinds
    rows = [COLUMNS[OVERRIDES]]
    for person, kind, item, value, reason in overrides:
        row = [person, None, None, item, None, reason]
        row[place[kind]] = "yes" if kind == "excused" else value
        rows.append(row)
    # people own that file, and what it says has always counted; but one without lines was made by
    # this program
    if not (folder / OVERRIDES).exists() or len(read_sheet(folder / OVERRIDES).rows) < 2:
        _write(folder / OVERRIDES, (MARK + table(rows)).encode(), lambda content: True)


def _write_marks(folder, marks):
    """A file for each marker, with the last marks, and one for what was decided."""
    files, names = {}, {}
    for person, rubric, marker, points, comment, decides, most, *_ in marks:
        name = names.get(marker) or _name(marker, {DECIDED, *names.values()})
        names[marker] = name
        row = [person, rubric, most or None, points, comment]
        files.setdefault(DECIDED if decides else name, {})[person, rubric] = row
    for name, rows in files.items():
        header = ("id", "rubric", "max points", "points", "comment")
        _write(folder / WRITTEN / f"{name}.csv", (MARK + table([header, *rows.values()])).encode())


def _name(marker, taken):
    """A name of a file for a marker that no other one has, on any system."""
    name = re.sub(r"[^\w.-]+", "-", marker).strip(".-~") or "marker"
    others = {other.casefold() for other in taken}
    numbered = chain([name], (f"{name}-{i}" for i in count(2)))
    return next(name for name in numbered if name.casefold() not in others)


def _copy(state, old):
    """Put the rows of the old tables into today's."""
    known = {id: person for id, person in old["people"]}
    left = {row[3] for row in old["history"]} | {row[0] for row in old["marks"]}
    for id, person in known.items():
        state.rows("INSERT INTO people VALUES (?, ?, 1)", id, person)
    for id in left - known.keys() - {""}:
        state.rows("INSERT INTO people VALUES (?, '', 0)", id)
    for row in old["handed"]:
        state.rows("INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?, x'', '')", *row[:7])
    for digest, intake, refused, notices, isolation, reason in old["gradings"]:
        taken_in = {"notices": json.loads(notices), "refused": refused}
        taken_in |= {"isolation": isolation, "isolation_reason": reason}
        row = digest, "", intake, isolation, json.dumps(taken_in)
        state.rows("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?)", *row)
    for digest, id, fingerprint, outcome, level, why in old["outcomes"]:
        row = digest, id, "" if why else fingerprint, level.split(" ")[0], outcome
        state.rows("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?)", *row)
    for row in old["history"]:
        state.rows("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)
