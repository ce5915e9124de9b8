"""Shows the basic checks to pytest and to an editor's test explorer: `pytest src/checks -k ID`."""

import sys
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SRC))

from autograder import Verdict, draw_seed, read_manifest  # noqa: E402
from autograder.manifest import problem_of  # noqa: E402
from checks.support.session import MANIFEST, GradingWorker, Setting, grade_submission  # noqa: E402
from grader import results_beside  # noqa: E402

SUBMISSION = SRC / "submission"
WORKER = pytest.StashKey[GradingWorker]()


def pytest_collect_file(file_path, parent):
    """A problem's part of the manifest stands for its checks."""
    is_part = file_path.name == MANIFEST.name
    return ManifestFile.from_parent(parent, path=file_path) if is_part else None


def pytest_unconfigure(config):
    """End the student's process."""
    if worker := config.stash.get(WORKER, None):
        worker.close()


class ManifestFile(pytest.File):
    """The basic checks of a problem, in the manifest's order."""

    def collect(self):
        """As pytest.Collector.collect."""
        self.manifest = read_manifest(MANIFEST)
        for check in self.manifest.checks.values():
            of_problem = f"problem{problem_of(check.question)}" == self.path.parent.name
            if check.kind == "basic" and of_problem:
                yield CheckItem.from_parent(self, name=check.id)


class CheckItem(pytest.Item):
    """A check; our message is its failure."""

    def runtest(self):
        """As pytest.Item.runtest."""
        setting, stash = Setting(results=results_beside(SUBMISSION)), self.config.stash
        if WORKER not in stash:
            stash[WORKER] = GradingWorker(setting)
        manifest, seed = self.parent.manifest, draw_seed(secret=False)
        grading = [manifest.checks[self.name]], setting, seed, manifest
        report = grade_submission(SUBMISSION, *grading, worker=stash[WORKER])
        outcome = report.outcomes[self.name]
        if outcome.verdict is not Verdict.PASSED:
            says = outcome.details if outcome.verdict is Verdict.GRADER_ERROR else outcome.message
            again = f"python src/grader.py {self.name} --seed {seed}"
            pytest.fail(f"{outcome.verdict.value}: {says}\nAgain: {again}", pytrace=False)

    def reportinfo(self):
        """As pytest.Item.reportinfo."""
        return self.path, None, self.name
