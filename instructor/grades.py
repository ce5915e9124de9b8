"""What the grading of a class has found out: the data that pages and gradebooks are made from."""
from dataclasses import dataclass, field
from datetime import datetime

from autograder import Manifest, Verdict

GRADER_ERROR = Verdict.GRADER_ERROR.value


@dataclass(frozen=True)
class Person:
    """A student. id is unique: the roster's, or what the submission's name says of somebody who isn't in it (then enrolled is false).
    The others are what gradebooks know a person by, and may be empty."""
    id: str
    name: str
    email: str = ""
    section: str = ""
    canvas_id: str = ""
    sis_id: str = ""
    sis_login: str = ""
    github: str = ""
    enrolled: bool = True


@dataclass
class Entry:
    """What counts for one person.

    Attributes:
        folder: a name for the person's pages: plain ASCII, unique in the class.
        source: the zip or folder that counts, as it was found; "" if nothing was handed in.
        submitted: when; None if that is not known. days_late counts from the due date, penalty is the fraction of the automatic
            points that it costs.
        report: autograder.report.as_dict of the grading; None if nothing was graded.
        refused: why nothing was graded, for the student; "" if something was.
        remarks: for the staff and the student: other submissions of the same person, and the like.
        written: points that a person gave, by check id; and comments on them.
    """
    person: Person
    folder: str
    source: str = ""
    submitted: datetime | None = None
    days_late: int = 0
    penalty: float = 0.0
    report: dict | None = None
    refused: str = ""
    remarks: list[str] = field(default_factory=list)
    written: dict[str, float] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)

    @property
    def checks(self) -> list[dict]:
        """The automatic checks of the report; [] without one."""
        return self.report["checks"] if self.report else []

    @property
    def automatic(self) -> float:
        """The points of the automatic checks, less the penalty."""
        return round((1 - self.penalty) * sum(check["score"] for check in self.checks), 4)

    @property
    def total(self) -> float:
        """All points: automatic ones, and the written ones that are there yet."""
        return round(self.automatic + sum(self.written.values()), 4)

    @property
    def grader_errors(self) -> list[dict]:
        """The checks that failed for a fault of the grader: with one of these, the points are no grade."""
        return [check for check in self.checks if check["verdict"] == GRADER_ERROR]


@dataclass
class Class:
    """All that is known of a class; title is the assignment's, due its due date, if one was given."""
    manifest: Manifest
    title: str
    entries: list[Entry]
    due: datetime | None = None

    @property
    def automatic_points(self) -> float:
        """The most that automatic checks give."""
        return sum(check.points for check in self.manifest.checks.values() if check.coded)

    @property
    def regular_points(self) -> float:
        """The most without extra credit, written parts included."""
        return sum(question.points for question in self.manifest.questions.values() if not question.extra_credit)
