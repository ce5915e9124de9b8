"""The nine verdicts, and what a check raises to give one."""

from dataclasses import dataclass, field
from enum import Enum

# what a student sees for a grader error
GRADER_FAILED = "The grader failed here, not your code. Please tell the staff."


class Verdict(str, Enum):
    """How a check ended. A grader error is never the student's fault."""

    PASSED = "passed"
    WRONG_ANSWER = "wrong answer"
    NOT_IMPLEMENTED = "not implemented"
    EXCEPTION = "exception"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out of memory"
    CRASHED = "crashed"
    BLOCKED = "blocked by the sandbox"
    GRADER_ERROR = "grader error"


class Failed(Exception):
    """Ends a check with a verdict other than passed.

    Args:
        verdict: which.
        message: what happened, where, and what to do next, for the student. Its first line is
            shown in the table.
        fraction: the part of the points that is earned anyway, 0 to 1; it counts only for a check
            that the manifest marks `partial`.

    Attributes:
        error: the explain.RemoteError behind it, if there is one.
    """

    error = None

    def __init__(self, verdict: Verdict, message: str, fraction: float = 0.0):
        super().__init__(message)
        self.verdict = verdict
        self.message = message
        self.fraction = fraction

    def __str__(self):
        return self.message


class WrongAnswer(Failed):
    """The submission ran, and its result is wrong.

    Args:
        compared: the numbers around the first wrong one, as `compare.excerpt` makes them.
    """

    def __init__(self, message: str, fraction: float = 0.0, compared: dict | None = None):
        super().__init__(Verdict.WRONG_ANSWER, message, fraction)
        self.compared = compared


class NotImplementedYet(Failed):
    """The part of the submission that the check tests is missing."""

    def __init__(self, message: str):
        super().__init__(Verdict.NOT_IMPLEMENTED, message)


@dataclass
class Outcome:
    """How one check of one submission ended.

    verdict is None for a check that was not meant to run here: a hidden one in a student's copy, or
    a written part. `message` is for the student (for a hidden check only its title), `details` for
    the instructor; for a basic check they are the same. `hints` are remarks that cost no points,
    `facts` numbers that the check measured (e.g. an accuracy). `compared` is what a basic check
    compared, for a picture (see `compare.excerpt`); a hidden one keeps it to itself. `seconds` is
    wall time, including the judge's; `cpu_seconds` is the CPU time of the student's processes.
    `busy` marks a timeout on a machine that was so busy that it proves little.
    """

    id: str
    verdict: Verdict | None = None
    score: float = 0.0
    message: str = ""
    details: str = ""
    hints: list[str] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)
    compared: dict | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    busy: bool = False
