"""Grade one submission: run the manifest's checks, and sum over the manifest."""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .allowance import Allowance
from .judge import Judge, verdicts_in
from .manifest import Check, Manifest
from .student import Submission
from .verdicts import GRADER_FAILED, Outcome, Verdict


@dataclass
class Report:
    """The result of a grading: an Outcome for every requested check, in the manifest's order.

    seed repeats it; isolation is the isolation level and the reason for not using a stronger one;
    notices are remarks on the submission as a whole.
    """

    manifest: Manifest
    outcomes: dict[str, Outcome]
    seed: int
    isolation: tuple[str, str]
    notices: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def checks(self) -> list[Check]:
        """The requested checks."""
        return [self.manifest.checks[id] for id in self.outcomes]

    @property
    def score(self) -> float:
        """The points earned."""
        return round(sum(outcome.score for outcome in self.outcomes.values()), 6)

    @property
    def max_score(self) -> float:
        """The points of all requested automatic checks, whether they are in this copy or not."""
        return round(sum(check.points for check in self.checks if check.coded), 6)

    @property
    def max_score_here(self) -> float:
        """The points of the checks that ran."""
        ran = [check for check in self.checks if self.outcomes[check.id].verdict is not None]
        return round(sum(check.points for check in ran), 6)

    @property
    def hidden(self) -> bool:
        """Whether a hidden check ran."""
        ran = (id for id, outcome in self.outcomes.items() if outcome.verdict is not None)
        return any(self.manifest.checks[id].kind == "hidden" for id in ran)

    @property
    def passed(self) -> bool:
        """Whether at least one check ran and all that ran passed."""
        ran = [outcome.verdict for outcome in self.outcomes.values() if outcome.verdict is not None]
        return bool(ran) and all(verdict is Verdict.PASSED for verdict in ran)

    @property
    def passed_so_far(self) -> bool:
        """Whether all that is written passed: no check failed but for what is not written yet."""
        fine = (None, Verdict.PASSED, Verdict.NOT_IMPLEMENTED)
        return all(outcome.verdict in fine for outcome in self.outcomes.values())


def draw_seed(secret: bool = True) -> int:
    """A seed that nobody can guess; if nothing is hidden by it, one of 6 to 8 digits, which is
    easier to type.
    """
    return secrets.randbelow(2**62) if secret else 10**5 + secrets.randbelow(10**8 - 10**5)


def grade(
    manifest: Manifest,
    checks: list[Check],
    folders: list[Path],
    process,
    submission: Submission,
    seed: int,
    context=None,
    hidden: bool = False,
    finished: Callable[[Outcome], None] = lambda outcome: None,
    whole: Allowance | None = None,
    helpers: Sequence = (),
    default: Callable | None = None,
) -> Report:
    """Grade a submission.

    Args:
        manifest: the whole manifest.
        checks: which of its checks to report on.
        folders: where the check files (q*.py) are, at any depth.
        process: a StudentProcess or SameProcess; it is left running.
        submission: what to grade.
        seed: of everything that the checks draw.
        context: anything else that this course's checks need.
        hidden: whether the hidden checks are in this copy. If not, they are listed but not run.
        finished: called with each Outcome as it arrives.
        whole: the time for all checks together; checks that are unfinished by then time out. No
            limit by default.
        helpers: more StudentProcesses; each runs a check at the same time.
        default: the verdict of checks that no function is marked as.

    Returns:
        A Report with an Outcome for each of `checks`: one that should have run and didn't is a
        grader error worth 0.
    """
    started = time.perf_counter()
    to_run = [check for check in checks if check.runs(hidden)]
    ids = [check.id for check in to_run]
    verdicts, errors = verdicts_in(folders, ids, default)
    judge = Judge(verdicts, submission, seed, context, finished, whole or Allowance())
    if verdicts:
        judge.run([check for check in to_run if check.id in verdicts], [process, *helpers])
    for id in set(ids) - judge.outcomes.keys():
        details = "\n".join(["This check did not run.", *errors])
        judge.outcomes[id] = Outcome(
            id, Verdict.GRADER_ERROR, details=details, message=GRADER_FAILED
        )
    return Report(
        manifest,
        {check.id: judge.outcomes.get(check.id) or Outcome(check.id) for check in checks},
        seed,
        (process.isolation.name, process.isolation.reason),
        seconds=time.perf_counter() - started,
    )
