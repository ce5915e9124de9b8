"""The file grades.sqlite: its tables, its lock, transactions, and the history of changes.

It is consistent whenever the program or the machine stops, even by `kill -9`.
"""

import contextlib
import getpass
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from common.files import UserError

VERSION = "2"
NAME = "grades.sqlite"
# Rows of marks and history are never changed.
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
-- Everybody, and every submission with its content's hash.
CREATE TABLE people (id TEXT PRIMARY KEY, person TEXT NOT NULL);
CREATE TABLE handed (
    label TEXT NOT NULL, person TEXT NOT NULL, source BLOB NOT NULL, digest TEXT NOT NULL,
    submitted TEXT, late INTEGER, remark TEXT NOT NULL, gone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (label, person));
-- Grading results, by content: never removed, so that nothing is graded twice.
CREATE TABLE gradings (
    digest TEXT PRIMARY KEY, intake TEXT NOT NULL, refused TEXT NOT NULL, notices TEXT NOT NULL,
    isolation TEXT NOT NULL, reason TEXT NOT NULL);
-- why: a check is to run again; '' if its outcome stands.
CREATE TABLE outcomes (
    digest TEXT NOT NULL, id TEXT NOT NULL, fingerprint TEXT NOT NULL, outcome TEXT NOT NULL,
    level TEXT NOT NULL DEFAULT '', why TEXT NOT NULL DEFAULT '', PRIMARY KEY (digest, id));
CREATE TABLE marks (
    person TEXT NOT NULL, rubric TEXT NOT NULL, marker TEXT NOT NULL, points REAL,
    comment TEXT NOT NULL, decides INTEGER NOT NULL, most REAL NOT NULL, source TEXT NOT NULL,
    at TEXT NOT NULL);
CREATE TABLE overrides (
    person TEXT NOT NULL, kind TEXT NOT NULL, item TEXT NOT NULL, value REAL NOT NULL,
    reason TEXT NOT NULL, PRIMARY KEY (person, kind, item));
CREATE TABLE history (
    at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, person TEXT NOT NULL,
    item TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL, why TEXT NOT NULL)"""


class Database:
    """The file grades.sqlite of a folder, locked by this process while it is open. Only its owner
    can read it.

    Args:
        out: the folder of a class's grading.
        make: whether to create it if it is missing.

    Raises:
        UserError: another run has it open, or it is missing, of another version or not such a file.
    """

    def __init__(self, out: Path, make: bool = False):
        self.path = out / NAME
        self._created = [path for path in (self.path, out) if not path.exists()]
        if not self.path.is_file() and not make:
            raise UserError(
                f"{out} has no {NAME}: nothing was graded there. First: python -m instructor grade "
                f"SUBMISSIONS --out {out}"
            )
        with self._errors():
            out.mkdir(0o700, parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
            self.connection = sqlite3.connect(self.path, timeout=0.5, isolation_level=None)
            try:
                # Exclusive from the first transaction until this process ends, however it ends.
                self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self.connection.execute("BEGIN EXCLUSIVE")
                if not self.connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    for statement in TABLES.split(";\n"):
                        self.connection.execute(statement)
                    self.connection.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
                self.connection.execute("COMMIT")
                os.chmod(self.path, 0o600)
                version = self.get("version")
            except BaseException:
                self.connection.close()
                raise
        if version != VERSION:
            self.connection.close()
            raise UserError(
                f"{self.path} has version {version}, but this program writes version {VERSION}. "
                "Nothing was changed: choose another --out, or use that version."
            )

    def __enter__(self):
        return self

    def __exit__(self, kind, *exception):
        """Close the file. If an error ended the first run before it stored its options, there is
        nothing to keep: the file and the folder go, too.
        """
        unused = kind is not None and bool(self._created) and self.get("options") is None
        self.connection.close()
        with contextlib.suppress(OSError):
            for path in self._created if unused else ():
                path.rmdir() if path.is_dir() else path.unlink()

    @contextlib.contextmanager
    def _errors(self):
        """Turn errors of the disk or of locking into UserErrors."""
        try:
            yield
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
        except OSError as error:
            raise UserError(
                f"{self.path.parent} cannot be used: {error.strerror}. Choose another folder with "
                "--out."
            ) from None

    @contextlib.contextmanager
    def transaction(self):
        """Commit all changes of the block, or none of them. Yields a function that executes SQL;
        blocks can be nested.
        """
        if self.connection.in_transaction:
            yield self.connection.execute
            return
        with self._errors():
            self.connection.execute("BEGIN")
        try:
            with self._sqlite_errors():
                yield self.connection.execute
                self.connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # it may have ended already
                self.connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _sqlite_errors(self):
        """Like _errors, but other OS errors pass through."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            with self._errors():
                raise error

    def _rows(self, query, *values):
        with self._errors():
            return self.connection.execute(query, values).fetchall()

    # Settings of the run

    def get(self, key: str) -> str | None:
        """A setting, or None."""
        row = self._rows("SELECT value FROM meta WHERE key = ?", key)
        return row[0][0] if row else None

    def put(self, **settings: str) -> None:
        """Keep settings."""
        with self.transaction() as execute:
            for key, value in settings.items():
                execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # The history

    def log(self, what: str, person: str, item: str, old: str, new: str, why: str) -> None:
        """Add a row to the history."""
        with self.transaction() as execute:
            execute(
                "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (now(), _user(), what, person, item, old, new, why),
            )

    def history(self) -> list[tuple[str, ...]]:
        """The changes, oldest first: when, who, what, person, check or part, before, after, why."""
        return self._rows(
            "SELECT at, who, what, person, item, old, new, why FROM history ORDER BY rowid"
        )


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _user():
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
