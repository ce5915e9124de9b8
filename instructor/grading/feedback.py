"""What a student may read of a graded submission; whatever shows results to students shows this."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from autograder.manifest import Check, Manifest
from autograder.verdicts import Verdict


@dataclass(frozen=True)
class Feedback:
    """What a student may read of one automatic check.

    Of a hidden check, these are its title, its verdict, its points and a message that repeats the
    title. Everything else that it found stays with the staff.

    Attributes:
        verdict: None if it did not run.
        score: its points; None if there are none yet.
        hints, facts, compared: see Outcome.
    """

    check: Check
    verdict: str | None
    score: float | None
    message: str
    hints: list[str] = field(default_factory=list)
    facts: dict[str, float] = field(default_factory=dict)
    compared: dict | None = None

    @property
    def passed(self) -> bool:
        """Whether it passed."""
        return self.verdict == Verdict.PASSED

    @property
    def failed(self) -> bool:
        """Whether it ran and found a fault of the submission."""
        return self.verdict not in (None, Verdict.PASSED, Verdict.GRADER_ERROR)


def feedback_on(
    manifest: Manifest, outcomes: Iterable[dict], scores: Mapping[str, float] | None = None
) -> list[Feedback]:
    """What a student may read of each check of a report.

    Args:
        outcomes: the report's checks, as `autograder.report.as_dict` makes them.
        scores: points by id, if not those of the report: staff may have given others.
    """
    found = []
    for outcome in outcomes:
        check, more = manifest.checks[outcome["id"]], {}
        score = outcome["score"] if scores is None else scores.get(check.id)
        if check.kind == "basic":
            more = {name: outcome.get(name) for name in ("hints", "facts", "compared")}
        found.append(Feedback(check, outcome["verdict"], score, outcome["message"], **more))
    return found
