"""Grading many submissions: what test_proof.py, benchmarks/grader.py and the table in docs/grader-proof.md rest on."""
import importlib
import importlib.util
import os
import pkgutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
for entry in (ROOT / "src", ROOT, ROOT / "tests"):
    if str(entry) not in sys.path:
        sys.path.insert(0, str(entry))

from autograder import Report, StudentProcess, Verdict, draw_seed, grade, read_manifest     # noqa: E402
from autograder.isolation import choose      # noqa: E402
from checks.context import Context          # noqa: E402
from checks.grading import MODULES       # noqa: E402
from checks.stage import RESULTS, stage              # noqa: E402
from variants import REGIONS, Fill, make                   # noqa: E402

CHECKS = ROOT / "src" / "checks"
HIDDEN = ROOT / "instructor" / "checks"
MANIFEST = read_manifest(CHECKS / "manifest.toml")
SLOW = 60           # seconds: a check with a larger limit trains models, and is not repeated as often as the others

# The questions whose checks run code of a file, and of a region where that says more.
RUN_BY = {
    "dataset.py": "1c 1d 1f", "utils.py": "1c 1d 1f 1h 5d 5e 5f 5g",
    "helper.py": "1d 1f 1h", "attention.py": "1d 1f 1h 6c 6d", "model.py": "1d 1f 1h", "trainer.py": "1d 1f 1h",
    "hand_attention.json": "5a",
    "numpy_attention.py": "5b 5c",
    "encoder.py": "5d 5e 5f 5g", "encoder_data.py": "5f 5g",
    "accounting.py": "6a", "choices.toml": "6b", "positions.py": "6c", "fixes.py": "6e", "diagnostics.py": "6f",
    "numpy attention": "5c", "scaling": "5b",
    "copy": "5f", "bag": "5g", "train classifier": "5g", "accuracy": "5g", "entropy": "5g",
    "efficient_attention.py": "6d 6g",
    **dict.fromkeys(("every kth", "headers", "predicted", "attended", "connections", "from dense", "sparse project", "sparse forward",
                     "stream", "append", "cached", "cache bytes"), "6d"),
    **dict.fromkeys(("across", "remember", "ask"), "6g"),
}


def collect(package: str, name: str) -> list:
    """All entries of the lists called `name` (WRONG, RIGHT) in the modules of tests/<package>."""
    entries = []
    for module in pkgutil.iter_modules([str(ROOT / "tests" / package)]):
        entries += getattr(importlib.import_module(f"{package}.{module.name}"), name, [])
    return entries


STAGED = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)        # where submissions are staged: visible in every process


def start_process(rung: str | None = None) -> StudentProcess:
    """The process that runs probes, on a rung of isolation; one serves any number of submissions that trust each other."""
    os.chmod(STAGED.name, 0o755)
    return StudentProcess(choose(rung), MODULES, (Path(STAGED.name),))


def grade_folder(process: StudentProcess, folder: Path, names: list[str] = (), seed: int | None = None, artifacts: bool = False,
                 slow: bool = True) -> Report:
    """Grade the submission in `folder` by basic and hidden checks; by default all those of code. slow: those with a limit over
    SLOW, too."""
    checks = [check for check in MANIFEST.select(list(names))
              if check.coded and (artifacts or not check.artifacts) and (slow or check.seconds <= SLOW)]
    with tempfile.TemporaryDirectory(dir=STAGED.name) as staged:
        submission, notices = stage(folder, Path(staged))
        context = Context(Path(staged) / RESULTS, None, None, ROOT / "instructor" / "gold", MANIFEST.settings["accuracy"])
        report = grade(MANIFEST, checks, [CHECKS, HIDDEN], process, submission, draw_seed() if seed is None else seed, context, hidden=True)
    report.notices = notices
    return report


def grade_changes(process: StudentProcess, changes: tuple, names: list[str] = (), seed: int | None = None, slow: bool = True) -> Report:
    """Grade the reference with changes."""
    with tempfile.TemporaryDirectory() as folder:
        return grade_folder(process, make(changes, Path(folder) / "submission"), names, seed, slow=slow)


def grade_wrong(process: StudentProcess, wrong, all_checks: bool = False) -> Report:
    """Grade a wrong submission by the checks that must catch it; with all_checks by all of their questions, but by slow ones only if
    one of these must catch it."""
    names = sorted({MANIFEST.checks[id].question for id in wrong.caught_by}) if all_checks else list(wrong.caught_by)
    return grade_changes(process, wrong.changes, names, slow=any(MANIFEST.checks[id].seconds > SLOW for id in wrong.caught_by))


def grade_right(process: StudentProcess, right, run: int, all_checks: bool = False) -> Report:
    """Grade a right submission for the run-th time by the questions whose checks run code that differs from the reference's; with all_checks,
    the first time by all of their problems. Slow checks run once, if they run such code."""
    names = questions_of(right.changes)
    slow = any(check.seconds > SLOW for check in MANIFEST.select(names) if check.coded and not check.artifacts)
    if all_checks and not run:
        names = sorted({question[0] for question in names})
    return grade_changes(process, right.changes, names, slow=slow and run == 0)


def questions_of(changes: tuple) -> list[str]:
    """The questions whose checks run code that the changes touch."""
    def questions(change):
        if not isinstance(change, Fill):
            return RUN_BY[change.file]
        return RUN_BY.get(change.region) or RUN_BY[REGIONS[change.region][0]]

    return sorted({question for change in changes for question in questions(change).split()})


def verdicts() -> dict:
    """The test functions of all check files, by the id of their check."""
    found = {}
    for folder in (CHECKS, HIDDEN):
        for path in sorted(folder.glob("q*.py")):
            spec = importlib.util.spec_from_file_location(f"proof_{folder.parent.name}_{path.stem}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            for function in vars(module).values():
                for mark in getattr(function, "pytestmark", []):
                    found[mark.args[0]] = function
    return {id: found[id] for id, check in MANIFEST.checks.items() if check.coded and not check.artifacts}


def lost(report: Report) -> dict[str, float]:
    """The points that each check took, by id.

    Raises:
        AssertionError: a check failed for a fault of the grader.
    """
    for outcome in report.outcomes.values():
        assert outcome.verdict is not Verdict.GRADER_ERROR, f"{outcome.id}: {outcome.details}"
    points = {id: MANIFEST.checks[id].points - outcome.score for id, outcome in report.outcomes.items()}
    return {id: value for id, value in points.items() if value}
