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


def grade_folder(process: StudentProcess, folder: Path, names: list[str] = (), seed: int | None = None, artifacts: bool = False) -> Report:
    """Grade the submission in `folder` by basic and hidden checks; by default all those of code."""
    checks = [check for check in MANIFEST.select(list(names)) if check.coded and (artifacts or not check.artifacts)]
    with tempfile.TemporaryDirectory(dir=STAGED.name) as staged:
        submission, notices = stage(folder, Path(staged))
        context = Context(Path(staged) / RESULTS, None, None, ROOT / "instructor" / "gold", MANIFEST.settings["accuracy"])
        report = grade(MANIFEST, checks, [CHECKS, HIDDEN], process, submission, draw_seed() if seed is None else seed, context, hidden=True)
    report.notices = notices
    return report


def grade_changes(process: StudentProcess, changes: tuple, names: list[str] = (), seed: int | None = None) -> Report:
    """Grade the reference with changes."""
    with tempfile.TemporaryDirectory() as folder:
        return grade_folder(process, make(changes, Path(folder) / "submission"), names, seed)


def questions_of(changes: tuple) -> list[str]:
    """The questions whose checks run code that the changes touch."""
    files = {REGIONS[change.region][0] if isinstance(change, Fill) else change.file for change in changes}
    return ["1c", "1d", "1f"] * (files & {"dataset.py", "utils.py"} != set()) + ["1d", "1f", "1h"] * (files - {"dataset.py"} != set())


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
