"""Grading a submission of this assignment: take it in, put walls around it, run the checks. grader.py and all that the staff runs call this."""
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from autograder import Check, Manifest, Outcome, Report, SameProcess, StudentProcess, grade, read_manifest
from autograder.isolation import choose
from checks.context import Context
from checks.stage import RESULTS, stage
from files import UserError

CHECKS = Path(__file__).resolve().parent
MANIFEST = CHECKS / "manifest.toml"
MODULES = ("torch", "torch._dynamo", "tqdm")    # imported once, before any check; an optimizer's first step imports _dynamo


@dataclass(frozen=True)
class Setting:
    """What a submission is graded with.

    Attributes:
        hidden: the folder of the hidden checks, or None: then these are listed and not run.
        gold: the folder of the answers of the test questions.
        results: where weights and predictions are, if not in the submission.
        preset, data: which preset the results are of, and the corpus and questions; None to find out.
        weak: grade with hidden checks even where nothing keeps the code apart from them.
        debug: run the code in this process.
        seconds: for all checks together; what is left when they are over is a timeout. None for no such limit.
    """
    hidden: Path | None = None
    gold: Path | None = None
    results: Path | None = None
    preset: str | None = None
    data: Path | None = None
    weak: bool = False
    debug: bool = False
    seconds: float | None = None

    def isolation(self):
        """The strongest rung of isolation that works here.

        Raises:
            UserError: it is too weak for hidden checks.
        """
        isolation = choose()
        if self.hidden and not (isolation.strong or self.weak or self.debug):
            raise UserError(f"Hidden checks are here, and nothing that works on this machine would keep the code away from them and from "
                            f"your files:\n  " + isolation.reason.replace("; ", "\n  ") +
                            "\nMend that, or trust the code and add --allow-weak-isolation.")
        return isolation

    def require_hidden(self, shown: list[Path]) -> None:
        """Raise UserError if the submission could read hidden checks or answers, given the folders that it is shown."""
        isolation = self.isolation()
        for secret in filter(None, (self.hidden, self.gold) if self.hidden and isolation.strong else ()):
            if folder := isolation.shows(secret, shown):
                raise UserError(f"{secret} lies in {folder}, which the code that is graded can read. Move this repository out of there.")


def grade_submission(source: Path, checks: list[Check], setting: Setting, seed: int, manifest: Manifest | None = None,
                     finished: Callable[[Outcome], None] = lambda outcome: None) -> Report:
    """Grade what was handed in, in a student's process of its own.

    Args:
        source: a folder or a zip file.
        checks: of the manifest; written ones are passed over.
        seed: of everything that the checks draw.
        manifest: the assignment's, where it has been read already.
        finished: called with each Outcome as it comes.

    Raises:
        UserError: the submission is refused, or the isolation is too weak; nothing was graded.
    """
    manifest = manifest or read_manifest(MANIFEST)
    folders = [CHECKS] + ([setting.hidden] if setting.hidden else [])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        staged, notices = stage(source, Path(folder), setting.results)
        context = Context(Path(folder) / RESULTS, setting.preset, setting.data, setting.gold, manifest.settings["accuracy"])
        setting.require_hidden([Path(folder)])
        process = SameProcess() if setting.debug else StudentProcess(setting.isolation(), MODULES, (Path(folder),))
        with process:
            report = grade(manifest, checks, folders, process, staged, seed, context, bool(setting.hidden), finished, setting.seconds)
    report.notices = notices
    return report
