"""Grade one submission: run the manifest's checks with pytest, and sum over the manifest."""

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .allowance import Allowance
from .board import Board
from .manifest import Check, Manifest
from .plugin import Judge
from .student import Submission
from .verdicts import GRADER_FAILED, Outcome, Verdict

SETTINGS = Path(__file__).with_name("verdicts.ini")
# unraisableexception and threadexception collect garbage five times at the end
PYTEST_OPTIONS = """
--import-mode=importlib --noconftest --assert=plain --capture=no --continue-on-collection-errors
-p no:cacheprovider -p no:terminal -p no:logging -p no:warnings -p no:debugging
-p no:unraisableexception -p no:threadexception
""".split()


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
    board: Board | None = None,
) -> Report:
    """Grade a submission.

    Args:
        manifest: the whole manifest.
        checks: which of its checks to report on.
        folders: where the check files (q*.py) are, at any depth.
        process: a StudentProcess or SameProcess, ready for use; it is left running.
        submission: what to grade.
        seed: of everything that the checks draw.
        context: anything else that this course's checks need.
        hidden: whether the hidden checks are in this copy. If not, they are listed but not run.
        finished: called with each Outcome as it arrives.
        whole: the time for all checks together; checks that are unfinished by then time out. No
            limit by default.
        board: shares the checks with other judges; by default this one runs all.

    Returns:
        A Report with an Outcome for each of `checks`: one that should have run and didn't is a
        grader error worth 0, unless the board's leader sees to it.
    """
    started = time.perf_counter()
    to_run = {
        check.id: check
        for check in checks
        if check.kind == "basic" or (check.kind == "hidden" and hidden)
    }
    whole = whole or Allowance()
    judge = Judge(to_run, process, submission, seed, context, finished, whole, board)
    if to_run:
        root = Path(os.path.commonpath([folder.resolve() for folder in folders]))
        arguments = ["-c", str(SETTINGS), "--rootdir", str(root), *PYTEST_OPTIONS]
        # Relative paths: pytest gives brackets in its arguments a special meaning.
        arguments += [os.path.relpath(path, root) for path in _files(folders, to_run)]
        process.begin()
        with _own_pytest(root, tuple(f"{folder.resolve()}{os.sep}" for folder in folders)):
            code = pytest.main(arguments, plugins=[judge])
        if code == pytest.ExitCode.INTERRUPTED and not judge.errors:
            raise KeyboardInterrupt
    return Report(
        manifest,
        _complete(checks, judge),
        seed,
        (process.isolation.name, process.isolation.reason),
        seconds=time.perf_counter() - started,
    )


def _files(folders, ids):
    """The check files that contain these ids. If an id is in none of them, the folders, i.e. all
    files: one of them may fail to import, and that is reported.
    """
    texts = {
        path: path.read_text(encoding="utf-8", errors="replace")
        for folder in folders
        for path in sorted(folder.rglob("q*.py"))
    }
    found = {path: {id for id in ids if id in text} for path, text in texts.items()}
    return (
        [path for path in found if found[path]]
        if set().union(*found.values()) == set(ids)
        else folders
    )


@contextlib.contextmanager
def _own_pytest(root, folders):
    """Keep the plugins and options of the user's own pytest out of the judge, re-import the check
    files, and use `root` as the working directory.
    """
    cwd = os.getcwd()
    before = {
        name: os.environ.pop(name, None)
        for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    }
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        os.chdir(root)
        yield
    finally:
        # the next grading would reuse a file that failed to import, or one of the same name
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None) or ""
            if file.startswith(folders) and Path(file).match("q*.py"):
                del sys.modules[name]
        os.chdir(cwd)
        del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        os.environ.update({name: value for name, value in before.items() if value is not None})


def _complete(checks, judge):
    """An Outcome for every check: fail closed."""
    outcomes = {}
    for check in checks:
        outcomes[check.id] = judge.outcomes.get(check.id) or Outcome(check.id)
        if check.id in judge.checks and check.id not in judge.outcomes and not judge.helps:
            details = "\n".join(["This check did not run.", *judge.errors])
            outcomes[check.id] = Outcome(
                check.id, Verdict.GRADER_ERROR, details=details, message=GRADER_FAILED
            )
    return outcomes
