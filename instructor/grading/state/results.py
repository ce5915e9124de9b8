"""The part of the state that grading writes: people, submissions and outcomes.

Outcomes are stored by the hash of the submission and the fingerprint of the check, never points:
those are computed from the manifest.
"""

import json
from dataclasses import asdict, dataclass

from autograder.isolation import strength
from instructor.grading.grades import GRADER_ERROR, Person

from .database import Database


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


class Results(Database):
    """Who handed in what, and how each check ended."""

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

    def left(self) -> set[str]:
        """The ids of people who have left the class."""
        return {row[3] for row in self.history()} - {person.id for person in self.people()} - {""}

    def handed(self) -> list[Handed]:
        """All submissions, in the order in which they were found; those that are gone first."""
        return [
            Handed(*row[:5], None if row[5] is None else bool(row[5]), row[6], bool(row[7]))
            for row in self._rows("SELECT * FROM handed ORDER BY rowid")
        ]

    # Outcomes

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

    def grading(
        self, digest: str, wanted: dict[str, str] | None = None, intake: str = ""
    ) -> tuple[dict, dict[str, dict]] | None:
        """A grading: refused, notices, isolation and reason; and the outcomes by id. None if there
        is neither a refusal nor an outcome.

        Args:
            digest: of the submission's content.
            wanted: leave out what is to be graded again: a refusal with another fingerprint than
                `intake`, outcomes with others than these, and what --again has marked. By default,
                everything that is stored is returned.
            intake: as for missing.
        """
        row = self._rows(
            "SELECT refused, notices, isolation, reason, intake FROM gradings WHERE digest = ?",
            digest,
        )
        if not row:
            return None
        refused, notices, isolation, reason, taken = row[0]
        outcomes = {
            id: json.loads(outcome)
            for id, outcome, fingerprint, why in self._rows(
                "SELECT id, outcome, fingerprint, why FROM outcomes WHERE digest = ?", digest
            )
            if wanted is None or (not why and wanted.get(id) == fingerprint)
        }
        if not (outcomes or (refused and (wanted is None or taken == intake))):
            return None
        return {
            "refused": refused,
            "notices": json.loads(notices),
            "isolation": isolation,
            "isolation_reason": reason,
        }, outcomes


def _ended(check):
    return f"{check['score']:g} of {check['max_score']:g}, {check['verdict']}"


def _share(check):
    return check["verdict"], round(check["score"] / check["max_score"], 6)
