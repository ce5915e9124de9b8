"""The results of grading a class: the data behind pages and gradebooks."""

import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from autograder import Manifest, Verdict

from .decisions import Decisions

GRADER_ERROR = Verdict.GRADER_ERROR.value


@dataclass(frozen=True)
class Person:
    """A student. id is unique: the roster's, or from the submission's name for someone who isn't in
    it (then enrolled is false). The other fields identify a person in gradebooks and may be empty;
    excused: the gradebook itself excuses the person.
    """

    id: str
    name: str
    email: str = ""
    section: str = ""
    canvas_id: str = ""
    sis_id: str = ""
    sis_login: str = ""
    github: str = ""
    enrolled: bool = True
    excused: bool = False


@dataclass(frozen=True)
class Submission:
    """A submission as the last run found it.

    Attributes:
        label: its path in the folder of submissions, for messages.
        person: the id of whose it is.
        source: its path, in bytes because names may not be valid text.
        digest: of its content; "" if it cannot be graded, and the remark says why.
        submitted: when, as text; None if unknown.
        late: what an export says; None if it doesn't.
        entry: the name that it had in the download.
        system: where the download is from: "canvas", "moodle", "gradescope" or "".
    """

    label: str
    person: str
    source: bytes
    digest: str
    submitted: str | None = None
    late: bool | None = None
    remark: str = ""
    entry: bytes = b""
    system: str = ""

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(os.fsdecode(self.source))


@dataclass
class Entry:
    """The result of one person.

    Attributes:
        folder: a name for the person's pages: plain ASCII, unique in the class.
        source: the zip or folder that counts, as it was found; "" if nothing was handed in.
        submitted: when; None if unknown.
        days_late: counted from the due date, extensions included.
        extension: extra days of this person.
        penalty: the fraction of the automatic points that lateness costs.
        report: autograder.report.as_dict of the grading; None if nothing was graded.
        refused: why nothing was graded, for the student; "" if something was.
        pending: ids of the automatic checks of today's manifest that are still to be graded.
        remarks: for the staff and the student: other submissions of the same person, and the like.
        for_staff: remarks on what is no business of the student: git is missing, or two people of
            the roster have one name.
        excused: why the person is excused from the assignment; "" if they are not.
        manual: what staff decided: points by the id of an automatic check, in place of the check's
            own, or by "" for points added to the total.
        reasons: for the student: a sentence for every extension, excuse and manual points.
        written: points that a person gave, by check id; and comments on them.
    """

    person: Person
    folder: str
    source: str = ""
    submitted: datetime | None = None
    days_late: int = 0
    extension: int = 0
    penalty: float = 0.0
    report: dict | None = None
    refused: str = ""
    pending: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    for_staff: list[str] = field(default_factory=list)
    excused: str = ""
    manual: dict[str, float] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    written: dict[str, float] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)

    @property
    def checks(self) -> list[dict]:
        """The automatic checks of the report; [] without one."""
        return self.report["checks"] if self.report else []

    @property
    def scores(self) -> dict[str, float]:
        """The points of automatic checks by id, before any penalty; manual ones replace them."""
        graded = {check["id"]: check["score"] for check in self.checks if check["verdict"]}
        return graded | {id: points for id, points in self.manual.items() if id}

    @property
    def automatic(self) -> float:
        """The points of the automatic checks, less the penalty, with what staff added."""
        return round((1 - self.penalty) * sum(self.scores.values()) + self.manual.get("", 0.0), 4)

    @property
    def total(self) -> float:
        """All points so far, at least 0: automatic and written ones."""
        return max(0.0, round(self.automatic + sum(self.written.values()), 4))

    @property
    def grader_errors(self) -> list[dict]:
        """The checks with grader errors, unless staff gave points for them."""
        return [
            check
            for check in self.checks
            if check["verdict"] == GRADER_ERROR and check["id"] not in self.manual
        ]

    @property
    def final(self) -> bool:
        """Whether the automatic points are a grade: nothing is pending, and the grader did not
        fail.
        """
        return not self.pending and not self.grader_errors


@dataclass
class GradedClass:
    """The grading of a whole class.

    Attributes:
        title: of the assignment. column: its column in Canvas, if named differently.
        due: the due date, if one was given.
        handout: the address of handout.html; "" if it is not known.
        decisions: of the staff. submissions: the one that counts for each person, by id.
        marked_twice: (id of a written part, one marker's points, another's) where two marked it.
        conflicts: sentences for the staff: where two markers gave different points.
        history: the changes, as in State.history.
        codes: each person's code for anonymous marking, by id.
    """

    manifest: Manifest
    title: str
    entries: list[Entry]
    due: datetime | None = None
    column: str = ""
    handout: str = ""
    decisions: Decisions = field(default_factory=Decisions)
    submissions: dict[str, Submission] = field(default_factory=dict)
    marked_twice: list[tuple[str, float, float]] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    history: list[tuple[str, ...]] = field(default_factory=list)
    codes: dict[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, Path]:
        """The path of the submission that counts for each person, by id; only graded ones."""
        graded = {entry.person.id for entry in self.entries if entry.report}
        return {id: item.path for id, item in self.submissions.items() if id in graded}

    @property
    def regular_points(self) -> float:
        """The maximum without extra credit, written parts included."""
        return sum(
            question.points
            for question in self.manifest.questions.values()
            if not question.extra_credit
        )
