"""The state of a class's grading: one SQLite file, consistent whenever the program or the machine
stops, even by `kill -9`.

It stores outcomes by the hash of the submission and the fingerprint of the check, never points:
those are computed from the manifest. It also has what people decided (options, roster, marks,
overrides); their CSV files are only forms and can be lost.
"""

import contextlib
import getpass
import json
import os
import sqlite3
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.isolation import strength
from common.files import UserError
from instructor.grading.grades import GRADER_ERROR, Person

from .marks import Given, keep_new
from .overrides import Override

VERSION = "2"
NAME = "grades.sqlite"
FIRST_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
-- Everybody, and every submission with its content's hash.
CREATE TABLE people (id TEXT PRIMARY KEY, person TEXT NOT NULL);
CREATE TABLE handed (
    label TEXT NOT NULL, person TEXT NOT NULL, source BLOB NOT NULL, digest TEXT NOT NULL,
    submitted TEXT, late INTEGER, remark TEXT NOT NULL, PRIMARY KEY (label, person));
-- Grading results, by content: never removed, so that nothing is graded twice.
CREATE TABLE gradings (
    digest TEXT PRIMARY KEY, intake TEXT NOT NULL, refused TEXT NOT NULL, notices TEXT NOT NULL,
    isolation TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE outcomes (
    digest TEXT NOT NULL, id TEXT NOT NULL, fingerprint TEXT NOT NULL, outcome TEXT NOT NULL,
    PRIMARY KEY (digest, id))"""
# Added in version 2, to which older files are upgraded. Rows of marks and history are never
# changed.
SECOND_TABLES = """
ALTER TABLE handed ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outcomes ADD COLUMN level TEXT NOT NULL DEFAULT '';
-- Why a check is to run again; '' if its outcome stands.
ALTER TABLE outcomes ADD COLUMN why TEXT NOT NULL DEFAULT '';
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


@dataclass(frozen=True)
class Handed:
    """A submission as a run found it. source is its path, in bytes because names may not be valid
    text. digest is "" if it could not be read; the remark says why. late is what the export says,
    or None. gone: the last run no longer found it.
    """

    label: str
    person: str
    source: bytes
    digest: str
    submitted: str | None
    late: bool | None
    remark: str = ""
    gone: bool = False


class State:
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
        if not self.path.is_file() and not make:
            raise UserError(
                f"{out} has no {NAME}: nothing was graded there. First: python -m instructor grade "
                f"SUBMISSIONS --out {out}"
            )
        with self._errors():
            out.mkdir(parents=True, exist_ok=True)
            os.chmod(out, 0o700)
            self.path.touch(mode=0o600)
            self.connection = sqlite3.connect(self.path, timeout=0.5, isolation_level=None)
            try:
                # Exclusive from the first transaction until this process ends, however it ends.
                self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self.connection.execute("BEGIN EXCLUSIVE")
                if not self.connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    self._execute_all(FIRST_TABLES)
                    self.connection.execute("INSERT INTO meta VALUES ('version', '1')")
                if self.get("version") == "1":
                    self._execute_all(SECOND_TABLES)
                    self._remember()
                    self.connection.execute(
                        "UPDATE meta SET value = ? WHERE key = 'version'", (VERSION,)
                    )
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

    def __exit__(self, *exception):
        self.connection.close()

    def _execute_all(self, statements):
        for statement in statements.split(";\n"):
            self.connection.execute(statement)

    def _remember(self):
        """Keep the late-work rules from the options of a version 1 file."""
        if text := self.get("options"):
            options = json.loads(text) | {"canvas_late_days": 1, "column": ""}
            rules = (
                "due",
                "grace",
                "late_percent",
                "late_cap",
                "free_days",
                "canvas_late_days",
                "keep",
            )
            self.put(
                options=json.dumps(options),
                remembered=json.dumps({name: options[name] for name in rules}),
            )

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

    # What was found

    def put_found(self, people: list[Person], handed: list[Handed]) -> None:
        """Replace the people and their submissions."""
        with self.transaction() as execute:
            for id in sorted(
                {person.id for person in self.people()} - {person.id for person in people}
            ):
                self.log(
                    "removed",
                    id,
                    "",
                    "in the class",
                    "",
                    "neither in the roster nor among the submissions",
                )
            execute("DELETE FROM people")
            execute("DELETE FROM handed")
            for person in people:
                execute("INSERT INTO people VALUES (?, ?)", (person.id, json.dumps(asdict(person))))
            for one in handed:
                execute(
                    "INSERT INTO handed VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    tuple(asdict(one).values()),
                )

    def people(self) -> list[Person]:
        """Everybody, sorted by name."""
        people = [Person(**json.loads(row[0])) for row in self._rows("SELECT person FROM people")]
        return sorted(people, key=lambda person: (person.name.casefold(), person.id))

    def handed(self) -> list[Handed]:
        """All submissions, in the order in which they were found; those that are gone first."""
        return [
            Handed(*row[:5], None if row[5] is None else bool(row[5]), row[6], bool(row[7]))
            for row in self._rows("SELECT * FROM handed ORDER BY rowid")
        ]

    # What grading gave

    def missing(
        self, digest: str, wanted: dict[str, str], intake: str, level: str = ""
    ) -> list[str]:
        """The ids of the checks to run on a submission.

        Args:
            digest: of its content.
            wanted: the fingerprint of each check.
            intake: the fingerprint of taking submissions in.
            level: the isolation level now (Isolation.level); what ran at a weaker one runs again.
        """
        grading = self._rows("SELECT intake, refused FROM gradings WHERE digest = ?", digest)
        if grading and grading[0][0] == intake and grading[0][1]:
            return []
        rows = self._rows(
            "SELECT id, fingerprint, level, why, outcome FROM outcomes WHERE digest = ?", digest
        )
        there = {
            id: fingerprint
            for id, fingerprint, behind, why, outcome in rows
            if not why
            and strength(behind) >= strength(level)
            and json.loads(outcome)["verdict"] != GRADER_ERROR
        }  # a grader error gets another try
        return [id for id, fingerprint in wanted.items() if there.get(id) != fingerprint]

    def grade_again(self, digests: set[str], ids: set[str], why: str) -> None:
        """Mark checks of submissions to run again; refused submissions are looked at again."""
        with self.transaction() as execute:
            for digest in digests:
                execute(
                    "UPDATE gradings SET intake = '' WHERE digest = ? AND refused != ''", (digest,)
                )
                for id in ids:
                    execute(
                        "UPDATE outcomes SET why = ? WHERE digest = ? AND id = ?", (why, digest, id)
                    )

    def put_report(
        self, digest: str, intake: str, wanted: dict[str, str], report: dict, level: str = ""
    ) -> None:
        """Store a grading, all of it or nothing: the outcomes of the checks that ran. Changes go
        into the history.

        Args:
            level: the isolation level that they ran at.
        """
        with self.transaction() as execute:
            rows = self._rows("SELECT id, outcome, why FROM outcomes WHERE digest = ?", digest)
            before = {id: (json.loads(outcome), why) for id, outcome, why in rows}
            people = [
                row[0]
                for row in self._rows(
                    "SELECT DISTINCT person FROM handed WHERE digest = ? ORDER BY person", digest
                )
            ]
            kept = self._rows(
                "SELECT notices FROM gradings WHERE digest = ? AND intake = ? AND refused = ''",
                digest,
                intake,
            )
            # A run of some checks has notices for their questions only.
            partial = kept and len(report["checks"]) < len(wanted)
            execute(
                "INSERT OR REPLACE INTO gradings VALUES (?, ?, '', ?, ?, ?)",
                (
                    digest,
                    intake,
                    kept[0][0] if partial else json.dumps(report["notices"]),
                    report["isolation"],
                    report["isolation_reason"],
                ),
            )
            for check in report["checks"]:
                execute(
                    "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, '')",
                    (digest, check["id"], wanted[check["id"]], json.dumps(check), level),
                )
                old, why = before.get(check["id"], (check, ""))
                if _share(old) != _share(check):
                    mended = (
                        "the grader had failed"
                        if old["verdict"] == GRADER_ERROR
                        else "what it depends on has changed"
                    )
                    for person in people:
                        self.log(
                            "graded again",
                            person,
                            check["id"],
                            _ended(old),
                            _ended(check),
                            why or mended,
                        )

    def put_refused(self, digest: str, intake: str, reason: str) -> None:
        """Record that a submission was refused."""
        with self.transaction() as execute:
            execute(
                "INSERT OR REPLACE INTO gradings VALUES (?, ?, ?, '[]', '', '')",
                (digest, intake, reason),
            )

    def grading(self, digest: str) -> tuple[dict, dict[str, dict]] | None:
        """A grading: refused, notices, isolation and reason; and the outcomes by id. None if there
        is none.
        """
        row = self._rows(
            "SELECT refused, notices, isolation, reason FROM gradings WHERE digest = ?", digest
        )
        if not row:
            return None
        refused, notices, isolation, reason = row[0]
        outcomes = {
            id: json.loads(outcome)
            for id, outcome in self._rows(
                "SELECT id, outcome FROM outcomes WHERE digest = ?", digest
            )
        }
        return {
            "refused": refused,
            "notices": json.loads(notices),
            "isolation": isolation,
            "isolation_reason": reason,
        }, outcomes

    # What people decided

    def marks(self) -> list[Given]:
        """The marks of written parts that anybody gave, the oldest first."""
        rows = self._rows(
            "SELECT person, rubric, marker, points, comment, decides, most FROM marks ORDER BY "
            "rowid"
        )
        return [Given(*row[:5], bool(row[5]), row[6]) for row in rows]

    def sources(self, marker: str) -> set[str]:
        """The files that marks of a marker came from."""
        return {
            row[0]
            for row in self._rows("SELECT DISTINCT source FROM marks WHERE marker = ?", marker)
        }

    def put_marks(self, given: list[Given], source: str) -> list[Given]:
        """Store marks in addition to earlier ones. Returns those that say something new.

        Args:
            source: the file that they come from.
        """
        before = self.marks()
        new = keep_new(before, given)
        points = {(one.person, one.rubric, one.marker): one.points for one in before}
        with self.transaction() as execute:
            for one in new:
                execute(
                    "INSERT INTO marks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        one.person,
                        one.rubric,
                        one.marker,
                        one.points,
                        one.comment,
                        one.decides,
                        one.most,
                        source,
                        _now(),
                    ),
                )
                old = points.get((one.person, one.rubric, one.marker))
                said = ["" if value is None else f"{value:g}" for value in (old, one.points)]
                self.log(
                    "decided" if one.decides else "marked",
                    one.person,
                    one.rubric,
                    *said,
                    f"{one.marker}, {source}",
                )
        return new

    def overrides(self) -> list[Override]:
        """What staff decided for single people."""
        return [
            Override(*row)
            for row in self._rows(
                "SELECT person, kind, item, value, reason FROM overrides ORDER BY person, kind, "
                "item"
            )
        ]

    def put_overrides(self, overrides: list[Override]) -> list[str]:
        """Replace all overrides. Changes go into the history and are returned as sentences."""
        before = {one.key: one for one in self.overrides()}
        after = {one.key: one for one in overrides}
        said = []
        with self.transaction() as execute:
            execute("DELETE FROM overrides")
            for one in overrides:
                execute(
                    "INSERT INTO overrides VALUES (?, ?, ?, ?, ?)",
                    (one.person, one.kind, one.item, one.value, one.reason),
                )
            for key in sorted(before.keys() | after.keys()):
                old, new = before.get(key), after.get(key)
                if old != new:
                    person, kind, item = key
                    told = [one.told if one else "" for one in (old, new)]
                    reason = new.reason if new else "withdrawn"
                    self.log(kind, person, item, *told, reason)
                    said.append(
                        f"Decided for {person!r}: {f'{item}, ' * bool(item)}{told[1] or told[0]} "
                        f"({reason})."
                    )
        return said

    def rename(self, names: dict[str, str]) -> None:
        """Move marks and decisions of people from their old ids to their new ones."""
        with self.transaction() as execute:
            for old, new in names.items():
                execute("UPDATE marks SET person = ? WHERE person = ?", (new, old))
                execute("UPDATE OR REPLACE overrides SET person = ? WHERE person = ?", (new, old))
                self.log("renamed", new, "", old, new, "the same person in another roster")

    def renamed(self) -> dict[str, str]:
        """People's current ids, by their earlier ids."""
        names: dict[str, str] = {}
        for _, _, what, _, _, old, new, _ in self.history():
            if what == "renamed":
                names = {before: new if now == old else now for before, now in names.items()} | {
                    old: new
                }
        return names

    def left(self) -> set[str]:
        """The ids of people who have left the class."""
        return {row[3] for row in self.history()} - {person.id for person in self.people()} - {""}

    def decided(self) -> set[str]:
        """The ids of people who have marks or decisions."""
        return {
            row[0]
            for row in self._rows("SELECT person FROM marks UNION SELECT person FROM overrides")
        }

    def log(self, what: str, person: str, item: str, old: str, new: str, why: str) -> None:
        """Add a row to the history."""
        with self.transaction() as execute:
            execute(
                "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (_now(), _user(), what, person, item, old, new, why),
            )

    def history(self) -> list[tuple[str, ...]]:
        """The changes, oldest first: when, who, what, person, check or part, before, after, why."""
        return self._rows(
            "SELECT at, who, what, person, item, old, new, why FROM history ORDER BY rowid"
        )


def _ended(check):
    return f"{check['score']:g} of {check['max_score']:g}, {check['verdict']}"


def _share(check):
    return check["verdict"], round(check["score"] / check["max_score"], 6)


def _now():
    return datetime.now(UTC).isoformat(timespec="seconds")


def _user():
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return str(os.getuid())
