"""Grading a submission of this assignment: take it in, put walls around it, run the checks.
grader.py and all that the staff runs call this.
"""

import contextlib
import functools
import importlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder import (
    Allowance,
    Check,
    Manifest,
    Outcome,
    Report,
    SameProcess,
    StudentProcess,
    Verdict,
    grade,
    read_manifest,
)
from autograder.isolation import choose
from checks.support.cases import Released
from checks.support.context import Context
from checks.support.once import grade_once
from checks.support.staging import RESULTS, stage, unwritten
from common.files import UserError

CHECKS = Path(__file__).resolve().parents[1]
MANIFEST = CHECKS / "manifest.toml"
# imported once, before any check; an optimizer's first step imports _dynamo
MODULES = ("torch", "torch._dynamo", "tqdm")

SUSPICIOUS = {
    Verdict.TIMEOUT,
    Verdict.OUT_OF_MEMORY,
    Verdict.CRASHED,
    Verdict.BLOCKED,
    Verdict.GRADER_ERROR,
}
RENEWED = 25  # submissions at most that one process serves


@dataclass(frozen=True)
class Setting:
    """What a submission is graded with.

    Attributes:
        hidden: the folder of the hidden checks, or None: then these are listed and not run.
        gold: the folder of the answers of the test questions.
        results: where weights and predictions are, if not in the submission.
        preset, data: which preset the results are of, and the corpus and questions; None to find
            out.
        weak: grade with hidden checks even where nothing keeps the code apart from them.
        debug: run the code in this process.
        seconds: of its own time that a submission has for all checks together (see
            autograder.Allowance); what is left when they are over is a timeout. None for no such
            limit.
        staff: the folder of the staff's checks, whose makers draw the cases of basic checks anew;
            by default `hidden`. Without either, the cases are those that students have.
        wall: as seconds, by the clock, however busy the machine is: where something else would end
            the grading then.
        again: run a check that timed out while the machine was busy once more, after all others,
            and let that count. (Who grades a class does so when nothing else of it runs.)
    """

    hidden: Path | None = None
    gold: Path | None = None
    results: Path | None = None
    preset: str | None = None
    data: Path | None = None
    weak: bool = False
    debug: bool = False
    seconds: float | None = None
    staff: Path | None = None
    wall: float | None = None
    again: bool = False

    def isolation(self):
        """The strongest isolation level that works here.

        Raises:
            UserError: it is too weak for hidden checks.
        """
        isolation = choose()
        if self.hidden and not (isolation.strong or self.weak or self.debug):
            raise UserError(
                "Hidden checks are here, and nothing that works on this machine would keep the "
                "code away from them and from your files:\n  "
                + isolation.reason.replace("; ", "\n  ")
                + "\nMend that, or trust the code and add --allow-weak-isolation."
            )
        return isolation

    @property
    def reference(self) -> Path | None:
        """The folder of the solution, beside the hidden checks, or None where it is not at hand."""
        folder = self.hidden and self.hidden.parent / "solution"
        return folder if folder and folder.is_dir() else None

    @property
    def cases(self):
        """Where basic checks get their cases from."""
        return _fresh(self.staff or self.hidden) if self.staff or self.hidden else Released()

    def require_hidden(self, shown: list[Path]) -> None:
        """Raise UserError if the submission could read hidden checks or answers, given the folders
        that it is shown.
        """
        isolation = self.isolation()
        for secret in filter(
            None,
            (self.hidden, self.gold, self.reference) if self.hidden and isolation.strong else (),
        ):
            if folder := isolation.shows(secret, shown):
                raise UserError(
                    f"{secret} lies in {folder}, which the code that is graded can read. Move this "
                    "repository out of there."
                )


@functools.cache
def _fresh(staff):
    """The staff's makers of cases. They are no part of a release, so they are imported by their
    place.

    Raises:
        UserError: the folder has hidden checks of another copy, or no makers.
    """
    makers = staff / "makers.py"
    module = (
        importlib.import_module(f"{staff.parent.name}.{staff.name}.makers")
        if makers.is_file()
        else None
    )
    if module is None or Path(module.__file__).resolve() != makers.resolve():
        raise UserError(
            f"{staff} is not the folder of hidden checks that belongs to this copy: makers.py is "
            "another's, or missing."
        )
    return module.Fresh()


class GradingWorker:
    """Where submissions are run: a student's process with torch imported, and the folder that it
    may read. A context manager.

    It serves one submission after the other. Each probe runs in a fork of its own, of which nothing
    is left; all the same, after a submission that met with a limit or a wall, the process is a new
    one.

    Args:
        setting: what is graded with.
    """

    def __init__(self, setting: Setting):
        self.setting = setting
        self.served = 0
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.folder.chmod(0o755)  # the code may run as another user
        self.setting.require_hidden([self.folder])
        self.process = (
            SameProcess()
            if setting.debug
            else StudentProcess(setting.isolation(), MODULES, (self.folder,))
        )

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self) -> None:
        """End the process, and remove the folder."""
        self.process.__exit__(None, None, None)
        self._folder.cleanup()

    def after(self, verdicts: set[Verdict]) -> None:
        """End the process after a submission that nobody should be served behind, given how all its
        checks ended; it starts anew when it is needed.
        """
        self.served += 1
        if self.served % RENEWED == 0 or verdicts & SUSPICIOUS:
            self.process.__exit__(None, None, None)


def grade_submission(
    source: Path,
    checks: list[Check],
    setting: Setting,
    seed: int,
    manifest: Manifest | None = None,
    finished: Callable[[Outcome], None] = lambda outcome: None,
    worker: GradingWorker | None = None,
) -> Report:
    """Grade what was handed in.

    Args:
        source: a folder or a zip file.
        checks: of the manifest; written ones are passed over.
        seed: of everything that the checks draw.
        manifest: the assignment's, where it has been read already.
        finished: called with each Outcome as it comes, and again with those of a second
            grading that count.
        worker: where to run it; by default one of its own.

    Raises:
        UserError: the submission is refused (then NotTaken), or the isolation is too weak; nothing
            was graded.
    """
    manifest = manifest or read_manifest(MANIFEST)
    folders = [CHECKS] + ([setting.hidden] if setting.hidden else [])
    cases = setting.cases
    if isinstance(cases, Released):
        cases.require({check.question for check in checks})
    with contextlib.ExitStack() as stack:
        worker = worker or stack.enter_context(GradingWorker(setting))
        staged = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(dir=worker.folder, ignore_cleanup_errors=True)
            )
        )
        submission, notices = stage(source, staged, setting.results)
        context = Context(
            staged / RESULTS,
            setting.preset,
            setting.data,
            setting.gold,
            manifest.settings["accuracy"],
            cases,
        )
        started, verdicts = time.monotonic(), set()
        whole = Allowance(setting.seconds, setting.wall)

        def run(checks, submission, finished=lambda outcome: None):
            report = grade(
                manifest,
                checks,
                folders,
                worker.process,
                submission,
                seed,
                context,
                bool(setting.hidden),
                finished,
                whole,
            )
            verdicts.update(outcome.verdict for outcome in report.outcomes.values())
            return report

        report = run(checks, submission, finished)
        busy = [check for check in checks if report.outcomes[check.id].busy]
        if busy and setting.again and not whole.over:
            report.outcomes |= run(busy, submission, finished).outcomes
        if setting.reference:
            again = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(dir=worker.folder, ignore_cleanup_errors=True)
                )
            )
            again.chmod(0o755)
            for outcome in grade_once(report, checks, submission, again, setting.reference, run):
                finished(outcome)
        report.seconds = time.monotonic() - started
        worker.after(verdicts)
        notices += unwritten(
            submission.root, list(dict.fromkeys(check.question for check in checks))
        )
    report.notices = notices
    return report
