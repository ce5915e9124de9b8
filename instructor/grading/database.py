"""The file grades.sqlite of a class: people, submissions, outcomes and history.

It is consistent whenever the program or the machine stops, even by `kill -9`. Outcomes are stored
by the hash of the submission and the fingerprint of the check; points never are: they are computed
from the manifest.
"""

import contextlib
import getpass
import json
import os
import sqlite3
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from autograder.isolation import LEVELS
from common.files import UserError

from .grades import GRADER_ERROR, Person, Submission

NAME = "grades.sqlite"
VERSION = "3"
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
-- Everybody who ever was in the class; present: who is in it now.
CREATE TABLE people (id TEXT PRIMARY KEY, person TEXT NOT NULL, present INTEGER NOT NULL);
CREATE TABLE submissions (
    label TEXT NOT NULL, person TEXT NOT NULL, source BLOB NOT NULL, digest TEXT NOT NULL,
    submitted TEXT, late INTEGER, remark TEXT NOT NULL, entry BLOB NOT NULL, system TEXT NOT NULL,
    PRIMARY KEY (source, person));
-- Results by content, never removed, so that nothing is graded twice. The id "" is that of taking a
-- submission in; a fingerprint of "" is to be graded again.
CREATE TABLE outcomes (
    digest TEXT NOT NULL, id TEXT NOT NULL, fingerprint TEXT NOT NULL, level TEXT NOT NULL,
    outcome TEXT NOT NULL, PRIMARY KEY (digest, id));
CREATE TABLE history (
    at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, person TEXT NOT NULL,
    item TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, why TEXT NOT NULL)"""
TAKEN_IN = ""  # the id of the outcome that says how a submission was taken in


class State:
    """The file grades.sqlite, locked by this process while it is open; only its owner can read it.

    Args:
        folder: of the class.
        make: whether to create it if it is missing.

    Raises:
        UserError: another run has it open, or it is missing, of another version or not such a file.
    """

    def __init__(self, folder: Path, make: bool = False):
        self.path = folder / NAME
        if not self.path.is_file() and not make:
            raise UserError(
                f"{folder} has no {NAME}: nothing was graded there. First: python -m instructor "
                f"grade {folder}"
            )
        try:
            folder.mkdir(0o700, parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
        except OSError as error:
            raise UserError(f"{folder} cannot be used: {error.strerror}.") from None
        self._connection = sqlite3.connect(self.path, timeout=0.5, isolation_level=None)
        try:
            # exclusive from the first transaction until this process ends, however it ends
            self.rows("PRAGMA locking_mode = EXCLUSIVE")
            with self.transaction(exclusive=True):
                if not self.rows("SELECT 1 FROM sqlite_master"):
                    if (folder / "history.csv").exists():
                        raise UserError(
                            f"{self.path} is empty, but {folder} was graded before: all results "
                            "would be lost. Restore a good copy of it. To start over, use a new "
                            "folder."
                        )
                    for statement in TABLES.split(";\n"):
                        self.rows(statement)
                    self.put(version=VERSION)
            version = self.get("version")
            if version == "2":
                from .old_format import convert

                convert(self, folder)
            elif version != VERSION:
                raise UserError(
                    f"{self.path} has version {version}, but this program writes version {VERSION}."
                    " Nothing was changed: use that version, or a new folder."
                )
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self, exclusive: bool = False):
        """Keep all changes of the block, or none of them."""
        self.rows(f"BEGIN {'EXCLUSIVE' * exclusive}")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk may have ended it already
                self._connection.execute("ROLLBACK")
            raise

    def rows(self, query: str, *values) -> list[tuple]:
        """Run SQL with its values; returns the rows that it finds.

        Raises:
            UserError: another run has the file open, or it is damaged or cannot be written.
        """
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise UserError(
                    f"Another run is using {self.path.parent}. Wait for it or stop it, then try "
                    "again."
                ) from None
            raise UserError(
                f"{self.path} cannot be written: {error}. What was graded before is safe; fix "
                "this, then run it again."
            ) from None
        except sqlite3.DatabaseError as error:
            raise UserError(
                f"{self.path} is not a grading state, or is damaged: {error}. Restore a good "
                "copy, or remove it to start over."
            ) from None

    def get(self, key: str) -> str | None:
        """A text that was kept, or None."""
        rows = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def put(self, **texts: str) -> None:
        """Keep texts."""
        for key, value in texts.items():
            self.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    # People and submissions

    def put_found(self, people: list[Person], submissions: list[Submission]) -> None:
        """Replace the class and its submissions."""
        self.rows("UPDATE people SET present = 0")
        for person in people:
            row = person.id, json.dumps(asdict(person))
            self.rows("INSERT OR REPLACE INTO people VALUES (?, ?, 1)", *row)
        self.rows("DELETE FROM submissions")
        for submission in submissions:
            values = asdict(submission).values()
            self.rows("INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)

    def people(self) -> list[Person]:
        """The class, sorted by name."""
        rows = self.rows("SELECT person FROM people WHERE present")
        people = [Person(**json.loads(text)) for (text,) in rows]
        return sorted(people, key=lambda person: (person.name.casefold(), person.id))

    def left(self) -> set[str]:
        """The ids of people who have left the class."""
        return {id for (id,) in self.rows("SELECT id FROM people WHERE NOT present")}

    def submissions(self) -> list[Submission]:
        """All submissions, in the order in which they were found."""
        rows = self.rows("SELECT * FROM submissions ORDER BY rowid")
        return [
            Submission(*row[:5], None if row[5] is None else bool(row[5]), *row[6:]) for row in rows
        ]

    # Outcomes

    def outcomes(self, digest: str, wanted: dict[str, str] | None = None) -> dict[str, dict]:
        """The outcomes of a submission's checks by id, with how it was taken in under TAKEN_IN.

        Args:
            wanted: the fingerprints of today: leave out what has another one. By default,
                everything that is stored.
        """
        rows = self.rows("SELECT id, fingerprint, outcome FROM outcomes WHERE digest = ?", digest)
        return {
            id: json.loads(outcome)
            for id, fingerprint, outcome in rows
            if wanted is None or wanted.get(id) == fingerprint
        }

    def missing(self, digest: str, wanted: dict[str, str], weak: bool) -> list[str]:
        """The ids of the checks to run on a submission: those without an outcome, and those in
        which the grader failed.

        Args:
            wanted: the fingerprint of each check.
            weak: whether outcomes without isolation count.
        """
        rows = self.rows(
            "SELECT id, fingerprint, level, outcome FROM outcomes WHERE digest = ?", digest
        )
        known = {
            id: json.loads(outcome)
            for id, fingerprint, level, outcome in rows
            if wanted.get(id) == fingerprint and (weak or level != LEVELS[-1])
        }
        if known.get(TAKEN_IN, {}).get("refused"):
            return []
        known = {id for id in known if known[id].get("verdict") != GRADER_ERROR}
        return [id for id in wanted if id not in known and id != TAKEN_IN]

    def put_report(self, digest: str, wanted: dict[str, str], report: dict) -> None:
        """Store a grading: the outcomes of the checks that ran, and how the submission was taken
        in. A report of some checks has notices for their questions only, so earlier ones stay.
        """
        taken_in = {
            name: report[name] for name in ("notices", "isolation", "isolation_reason", "refused")
        }
        with self.transaction():
            if len(report["checks"]) < len(wanted) - 1:
                before = self.outcomes(digest, wanted).get(TAKEN_IN)
                taken_in |= {"notices": before["notices"]} if before else {}
            for id, outcome in [
                (TAKEN_IN, taken_in),
                *((check["id"], check) for check in report["checks"]),
            ]:
                self.rows(
                    "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?)",
                    *(digest, id, wanted[id], report["isolation"], json.dumps(outcome)),
                )

    def grade_again(self, digests: set[str], ids: set[str]) -> None:
        """Mark checks of submissions to run again; refused submissions are looked at again."""
        for digest in digests:
            refused = self.outcomes(digest).get(TAKEN_IN, {}).get("refused")
            for id in [*ids, TAKEN_IN] if refused else ids:
                self.rows(
                    "UPDATE outcomes SET fingerprint = '' WHERE digest = ? AND id = ?", digest, id
                )

    # History

    def log(self, what: str, person: str, item: str, old: str, new: str, why: str) -> None:
        """Add a row to the history."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.rows(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(now, _user(), what, person, item, old, new, why),
        )

    def history(self) -> list[tuple[str, ...]]:
        """The changes, oldest first: when, who, what, person, check or part, before, after, why."""
        return self.rows("SELECT * FROM history ORDER BY rowid")


def _user():
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
