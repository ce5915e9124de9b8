"""Grades a submission of this assignment: stages it, isolates it, runs the checks. Used by
grader.py and by all staff tools.
"""

import contextlib
import functools
import importlib
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder import (
    Allowance,
    Check,
    Manifest,
    Outcome,
    Question,
    Report,
    SameProcess,
    StudentProcess,
    Verdict,
    grade,
    read_manifest,
)
from autograder.trial import choose
from checks.support.asked import by_reference
from checks.support.context import Context
from checks.support.regrade import grade_once
from checks.support.rounds import Rounds
from checks.support.staging import RESULTS, stage
from common.files import UserError

CHECKS = Path(__file__).resolve().parents[1]
STAFF = CHECKS.parents[1] / "instructor"  # hidden checks, answers, the solution; students lack it
MANIFEST = CHECKS / "manifest.toml"
MODULES = ("torch", "numpy.random", "tqdm")  # of every question
MANY = 40  # checks: with fewer, another process would start too late to help
RENEWED = 25  # most submissions that one process serves
SUSPICIOUS = {
    Verdict.TIMEOUT,
    Verdict.OUT_OF_MEMORY,
    Verdict.CRASHED,
    Verdict.BLOCKED,
    Verdict.GRADER_ERROR,
}


@dataclass(frozen=True)
class Setting:
    """Settings for grading a submission.

    Attributes:
        hidden: whether the hidden checks run; if not, they are listed.
        gold: the folder of the answers to the test questions; by default STAFF's, with `hidden`.
        results: where weights and predictions are, if not in the submission.
        preset, data: the results' preset, and the corpus and questions; None to infer them.
        weak: grade with hidden checks even if the code isn't isolated from them.
        debug: run the code in this process.
        seconds: the submission's time limit for all checks together (see autograder.Allowance);
            checks left after that are timeouts.
        staff: whether the staff's rounds are used although `hidden` is false; else the released
            ones are.
        clock: like seconds, but by the clock: for when something else would end the grading then.
        again: rerun a check that timed out on a busy machine, after all others, and count that
            result. (When grading a class, this happens while nothing else of the class runs.)
        workers: how many checks run at a time, in a student's process each, if there are many.
        problems: those that the course grades; () for all.
    """

    hidden: bool = False
    gold: Path | None = None
    results: Path | None = None
    preset: str | None = None
    data: Path | None = None
    weak: bool = False
    debug: bool = False
    seconds: float = math.inf
    staff: bool = False
    clock: float = math.inf
    again: bool = False
    workers: int = 1
    problems: tuple[str, ...] = ()

    def isolation(self):
        """The strongest isolation level that works here.

        Raises:
            UserError: it is too weak for hidden checks.
        """
        isolation = choose()
        if self.hidden and not (isolation.strong or self.weak or self.debug):
            raise UserError(
                "Hidden checks need isolation, and no level that works on this machine protects "
                "them and your files from the graded code:\n"
                "  "
                + isolation.reason.replace("; ", "\n  ")
                + "\nFix that, or trust the code and add --allow-weak-isolation."
            )
        return isolation

    def require_hidden(self, shown: list[Path]) -> None:
        """Raise UserError if the submission could read hidden checks or answers in the folders
        shown to it.
        """
        isolation = choose()
        if not (self.hidden and isolation.strong):
            return
        for secret in filter(None, (STAFF, self.answers)):
            if folder := isolation.shows(secret, shown):
                raise UserError(
                    f"{secret} is in {folder}, which the graded code can read. Move this "
                    "repository out of there."
                )

    @property
    def checks(self) -> list[Path]:
        """The folders of the checks that run."""
        return [CHECKS, STAFF / "checks"] if self.hidden else [CHECKS]

    @property
    def answers(self) -> Path | None:
        """The folder of the answers to the test questions, or None if there is none."""
        if self.gold or not self.hidden:
            return self.gold
        return STAFF / "gold" if (STAFF / "gold").is_dir() else None

    @property
    def reference(self) -> Path | None:
        """The folder of the solution, or None if there is none."""
        folder = STAFF / "solution"
        return folder if self.hidden and folder.is_dir() else None

    @property
    def answer_alone(self):
        """The staff's probe that asks weights; None where students grade themselves."""
        return _secret().answer_alone if self.staff or self.hidden else None

    def rounds(self, questions: Iterable[str]) -> Rounds:
        """The rounds that checks of these questions draw from: staff's, or the released ones.

        Raises:
            UserError: they are damaged, or cannot be made.
        """
        if self.staff or self.hidden:
            return _staff_rounds(frozenset(questions))
        released = Rounds()
        released.require(questions)
        return released


@functools.cache  # whether rounds are up to date is asked once, not for each submission
def _staff_rounds(questions):
    return _secret().staff_rounds(questions)


@functools.cache  # the upload autograder locks the folder before it grades
def _secret():
    """Import secret.py of the staff's checks by its name, since a release doesn't have it.

    Raises:
        UserError: it is another copy's.
    """
    sys.path.insert(0, str(STAFF.parent))  # first: others have packages of this name, too
    module = importlib.import_module(f"{STAFF.name}.checks.secret")
    if not Path(module.__file__).resolve().is_relative_to(STAFF.resolve()):
        raise UserError(
            f"The hidden checks that Python imports are in {module.__file__}. Remove that folder "
            "from PYTHONPATH."
        )
    return module


def modules_for(questions: Iterable[Question] | None = None) -> tuple[str, ...]:
    """What the student's process imports once, before the checks of these questions; by default of
    all.
    """
    questions = questions or read_manifest(MANIFEST).questions.values()
    return tuple(dict.fromkeys([*MODULES, *(name for one in questions for name in one.imports)]))


class GradingWorker:
    """Runs submissions: student's processes with torch imported, and the folder that they may read.
    A context manager.

    It serves one submission after another. Each probe runs in its own fork, which leaves nothing
    behind; still, after a submission that hit a limit or was blocked, the processes are replaced.

    Args:
        setting: the settings for grading.
        questions: those that will be graded, by default all; only what they need is imported.
        processes: how many checks run at a time.
    """

    def __init__(
        self, setting: Setting, questions: Iterable[Question] | None = None, processes: int = 1
    ):
        self.setting = setting
        self.served = 0
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.folder.chmod(0o755)  # the code may run as another user
        self.setting.require_hidden([self.folder])
        if setting.debug:
            self.processes = [SameProcess()]
        else:
            arguments = setting.isolation(), modules_for(questions), (self.folder,)
            self.processes = [StudentProcess(*arguments) for _ in range(processes)]
        for process in self.processes:
            process.begin()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self) -> None:
        """End the processes, and remove the folder."""
        self._end()
        self._folder.cleanup()

    def after(self, verdicts: set[Verdict]) -> None:
        """End the processes after a submission, given its checks' verdicts, if they should not
        serve another one; they restart when needed.
        """
        self.served += 1
        if self.served % RENEWED == 0 or verdicts & SUSPICIOUS:
            self._end()

    def _end(self):
        for process in self.processes:
            process.__exit__(None, None, None)


def grade_submission(
    source: Path,
    checks: list[Check],
    setting: Setting,
    seed: int,
    manifest: Manifest | None = None,
    finished: Callable[[Outcome], None] = lambda outcome: None,
    worker: GradingWorker | None = None,
) -> Report:
    """Grade a submission.

    Args:
        source: a folder or a zip file.
        checks: from the manifest; written ones are skipped.
        seed: for everything that the checks draw.
        manifest: the assignment's, if already read.
        finished: called with each Outcome as it arrives, and again with those of a second grading
            that count.
        worker: runs the submission; by default a new one, with `setting.workers` processes if there
            are many checks.

    Raises:
        UserError: the submission is rejected (then NotTaken), or the isolation is too weak; nothing
            was graded.
    """
    manifest = manifest or read_manifest(MANIFEST).only(setting.problems)
    rounds = setting.rounds({check.question for check in checks})
    with contextlib.ExitStack() as stack:
        if worker is None:
            # With Landlock, all write to one /dev/shm, so checks that run at the same time could
            # get a hidden check's inputs into a message.
            alone = len(checks) <= MANY or setting.debug or choose().name == "landlock"
            questions = {manifest.questions[check.question] for check in checks}
            worker = GradingWorker(setting, questions, 1 if alone else setting.workers)
            stack.enter_context(worker)

        def new_folder():
            folder = tempfile.TemporaryDirectory(dir=worker.folder, ignore_cleanup_errors=True)
            return Path(stack.enter_context(folder))

        staged = new_folder()
        submission, notices = stage(
            source, staged, setting.results, manifest.problems, setting.reference
        )
        context = Context(
            staged / RESULTS,
            setting.preset,
            setting.data,
            setting.answers,
            manifest.settings.get("accuracy", {}),
            rounds,
            setting.answer_alone,
        )
        started, verdicts = time.monotonic(), set()
        whole = Allowance(setting.seconds, setting.clock)

        def run(checks, submission, finished=lambda outcome: None):
            first, *others = worker.processes
            material = submission, seed, context, setting.hidden, finished, whole, others
            report = grade(manifest, checks, setting.checks, first, *material, default=by_reference)
            verdicts.update(outcome.verdict for outcome in report.outcomes.values())
            return report

        report = run(checks, submission, finished)
        busy = [check for check in checks if report.outcomes[check.id].busy]
        if busy and setting.again and whole.rest:
            report.outcomes |= run(busy, submission, finished).outcomes
        if setting.reference:
            folder = new_folder()
            folder.chmod(0o755)
            for outcome in grade_once(report, checks, submission, folder, setting.reference, run):
                finished(outcome)
        report.seconds = time.monotonic() - started
        worker.after(verdicts)
    report.notices = notices
    return report
