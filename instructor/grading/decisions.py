"""What people decided about a class: overrides, marks of written parts, and answers to requests."""

from collections import defaultdict
from dataclasses import dataclass

DECIDED = "decided"  # the marker whose marks settle where others differ
EXTENSION, EXCUSED, POINTS = "extension", "excused", "override"


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
    def text(self) -> str:
        """The decision in words."""
        if self.kind == EXTENSION:
            return f"{self.value:g} day{'s' * (self.value != 1)} more"
        if self.kind == EXCUSED:
            return "excused"
        given = f"{abs(self.value):g} point{'s' * (abs(self.value) != 1)}"
        return given if self.item else f"{given} {'more' if self.value >= 0 else 'less'}"


@dataclass(frozen=True)
class Request:
    """A question about a grade: the person, the check, what they say, and the staff's answer; ""
    for one that is open.
    """

    person: str
    check: str
    text: str
    answer: str


@dataclass(frozen=True)
class Mark:
    """What a marker gave a person for a written part; points is None for a comment alone."""

    person: str
    rubric: str
    marker: str
    points: float | None
    comment: str


@dataclass(frozen=True)
class Part:
    """The marks of one written part of one person.

    Attributes:
        points: what counts; None while markers differ and nobody has decided.
        comment: of whoever decided, else of the first marker who wrote one and whose points count.
        marks: all marks with points, by marker; DECIDED is not among them.
    """

    points: float | None
    comment: str
    marks: dict[str, float]


@dataclass(frozen=True)
class Decisions:
    """All decisions about a class.

    Attributes:
        skipped: sentences about lines of people who have left the class.
    """

    overrides: tuple[Override, ...] = ()
    requests: tuple[Request, ...] = ()
    marks: tuple[Mark, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def extensions(self) -> dict[str, float]:
        """The days that people have more, by id."""
        return {item.person: item.value for item in self.overrides if item.kind == EXTENSION}

    def parts(self) -> dict[tuple[str, str], Part]:
        """The marks by (person, id of the written part)."""
        by_part = defaultdict(list)
        for mark in sorted(self.marks, key=lambda mark: (mark.marker != DECIDED, mark.marker)):
            by_part[mark.person, mark.rubric].append(mark)
        return {part: _settle(marks) for part, marks in by_part.items()}


def _settle(marks):
    """The Part of marks, that of DECIDED first."""
    given = {mark.marker: mark.points for mark in marks if mark.points is not None}
    decided = given.pop(DECIDED, None)
    agreed = next(iter(given.values())) if len({*given.values()}) == 1 else None
    points = agreed if decided is None else decided
    # not that of somebody whose points don't count
    comments = [mark.comment for mark in marks if mark.points in (None, points) and mark.comment]
    return Part(points, comments[0] if comments else "", given)
