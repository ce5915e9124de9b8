"""The part of the state that people decide: marks and overrides. Their CSV files are only forms and
can be lost.
"""

from instructor.grading.marks import Given, keep_new
from instructor.grading.overrides import Override

from .database import Database, now


class Decisions(Database):
    """Marks and overrides, with the history of who changed what."""

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
                        now(),
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

    def decided(self) -> set[str]:
        """The ids of people who have marks or decisions."""
        return {
            row[0]
            for row in self._rows("SELECT person FROM marks UNION SELECT person FROM overrides")
        }
