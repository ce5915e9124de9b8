"""The state of a class's grading: one SQLite file, which is right whenever the program or the machine stops."""
import contextlib
import json
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path

from files import UserError
from instructor.grades import GRADER_ERROR, Person

VERSION = "1"
NAME = "grades.sqlite"
TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
-- What the last run found: everybody, and every submission with its content's hash.
CREATE TABLE people (id TEXT PRIMARY KEY, person TEXT NOT NULL);
CREATE TABLE handed (label TEXT NOT NULL, person TEXT NOT NULL, source BLOB NOT NULL, digest TEXT NOT NULL, submitted TEXT, late INTEGER,
                     remark TEXT NOT NULL, PRIMARY KEY (label, person));
-- What grading gave, by content: never removed, so that nothing is graded twice.
CREATE TABLE gradings (digest TEXT PRIMARY KEY, intake TEXT NOT NULL, refused TEXT NOT NULL, notices TEXT NOT NULL, isolation TEXT NOT NULL,
                       reason TEXT NOT NULL);
CREATE TABLE outcomes (digest TEXT NOT NULL, id TEXT NOT NULL, fingerprint TEXT NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY (digest, id));
"""


@dataclass(frozen=True)
class Handed:
    """A submission as a run found it. source is its path (as bytes: names may be no text). digest is "" where it could not be read; then
    the remark says why. late is the export's own word, or None."""
    label: str
    person: str
    source: bytes
    digest: str
    submitted: str | None
    late: bool | None
    remark: str = ""


class State:
    """The file grades.sqlite of a folder, which is this process's alone while it is open.

    Args:
        out: the folder of a class's grading.
        make: whether to make what isn't there yet.

    Raises:
        UserError: another run has it open, there is none, or it is of another version or no such file.
    """

    def __init__(self, out: Path, make: bool = False):
        self.path = out / NAME
        if not self.path.is_file() and not make:
            raise UserError(f"{out} has no {NAME}: nothing was graded there. First: python -m instructor grade SUBMISSIONS --out {out}")
        with self._errors():
            out.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(self.path, timeout=0.5, isolation_level=None)
            try:
                # Exclusive from the first transaction on until the end of this process, however it ends.
                self.connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self.connection.execute("BEGIN EXCLUSIVE")
                if not self.connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                    for statement in TABLES.split(";\n"):
                        self.connection.execute(statement)
                    self.connection.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
                self.connection.execute("COMMIT")
                version = self.get("version")
            except BaseException:
                self.connection.close()
                raise
        if version != VERSION:
            self.connection.close()
            raise UserError(f"{self.path} is of version {version} of this program, which writes version {VERSION}. Nothing was changed: take "
                            "another folder for --out, or that version.")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.connection.close()

    @contextlib.contextmanager
    def _errors(self):
        """Sentences for what a disk, or another process, does."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise UserError(f"Another run works on {self.path.parent}. Wait for its end, or stop it; then try again.") from None
            raise UserError(f"{self.path} cannot be written: {error}. What was graded before is safe; mend that, and run it again.") from None
        except sqlite3.DatabaseError as error:
            raise UserError(f"{self.path} is no state of a grading, or damaged: {error}. Put a sound copy there, or remove it to grade "
                            "anew.") from None
        except OSError as error:
            raise UserError(f"{self.path.parent} cannot be used: {error.strerror}. Choose another folder with --out.") from None

    @contextlib.contextmanager
    def _transaction(self):
        with self._errors():
            self.connection.execute("BEGIN")
            try:
                yield self.connection.execute
            except BaseException:
                with contextlib.suppress(sqlite3.Error):        # which may have ended it already
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

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
        with self._transaction() as execute:
            for key, value in settings.items():
                execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # What was found

    def put_found(self, people: list[Person], handed: list[Handed]) -> None:
        """Replace what the run before found."""
        with self._transaction() as execute:
            execute("DELETE FROM people")
            execute("DELETE FROM handed")
            for person in people:
                execute("INSERT INTO people VALUES (?, ?)", (person.id, json.dumps(asdict(person))))
            for one in handed:
                execute("INSERT INTO handed VALUES (?, ?, ?, ?, ?, ?, ?)", tuple(asdict(one).values()))

    def people(self) -> list[Person]:
        """Everybody, sorted by name."""
        people = [Person(**json.loads(row[0])) for row in self._rows("SELECT person FROM people")]
        return sorted(people, key=lambda person: (person.name.casefold(), person.id))

    def handed(self) -> list[Handed]:
        """All submissions, in the order in which they were found."""
        return [Handed(*row[:5], None if row[5] is None else bool(row[5]), row[6]) for row in self._rows("SELECT * FROM handed ORDER BY rowid")]

    # What grading gave

    def missing(self, digest: str, wanted: dict[str, str], intake: str) -> list[str]:
        """The ids of checks that are to run on a submission.

        Args:
            digest: of its content.
            wanted: the fingerprint of each check.
            intake: that of taking submissions in.
        """
        grading = self._rows("SELECT intake, refused FROM gradings WHERE digest = ?", digest)
        if grading and grading[0][0] == intake and grading[0][1]:
            return []
        there = {id: fingerprint for id, fingerprint, outcome in self._rows("SELECT id, fingerprint, outcome FROM outcomes WHERE digest = ?", digest)
                 if json.loads(outcome)["verdict"] != GRADER_ERROR}        # which deserves another try
        return [id for id, fingerprint in wanted.items() if there.get(id) != fingerprint]

    def put_report(self, digest: str, intake: str, wanted: dict[str, str], report: dict) -> None:
        """Keep a grading, whole or not at all: the outcomes of the checks that ran."""
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO gradings VALUES (?, ?, '', ?, ?, ?)",
                    (digest, intake, json.dumps(report["notices"]), report["isolation"], report["isolation_reason"]))
            for check in report["checks"]:
                execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?)", (digest, check["id"], wanted[check["id"]], json.dumps(check)))

    def put_refused(self, digest: str, intake: str, reason: str) -> None:
        """Keep that a submission was refused."""
        with self._transaction() as execute:
            execute("INSERT OR REPLACE INTO gradings VALUES (?, ?, ?, '[]', '', '')", (digest, intake, reason))

    def grading(self, digest: str) -> tuple[dict, dict[str, dict]] | None:
        """A grading: refused, notices, isolation and reason; and the outcomes by id. None if there is none."""
        row = self._rows("SELECT refused, notices, isolation, reason FROM gradings WHERE digest = ?", digest)
        if not row:
            return None
        refused, notices, isolation, reason = row[0]
        outcomes = {id: json.loads(outcome) for id, outcome in self._rows("SELECT id, outcome FROM outcomes WHERE digest = ?", digest)}
        return {"refused": refused, "notices": json.loads(notices), "isolation": isolation, "isolation_reason": reason}, outcomes
