"""Grades many submissions, for test_proof.py and benchmarks/grader.py."""

import contextlib
import functools
import importlib
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for entry in (ROOT / "src", ROOT, ROOT / "tests", ROOT / "tests" / "checks"):
    if str(entry) not in sys.path:
        sys.path.insert(0, str(entry))

from autograder import Report, StudentProcess, Verdict, grade, read_manifest  # noqa: E402
from autograder.trial import choose  # noqa: E402
from checks.support.asked import by_reference  # noqa: E402
from checks.support.context import Context  # noqa: E402
from checks.support.session import modules_for  # noqa: E402
from checks.support.staging import RESULTS, stage  # noqa: E402
from instructor.checks.problem1.genuine import answer_alone  # noqa: E402
from instructor.checks.secret import staff_rounds  # noqa: E402
from instructor.checks.solving import all_questions  # noqa: E402
from instructor.mistakes.patches import PLACES, Fill, make  # noqa: E402
from jobs.deliverables import place_of  # noqa: E402

CHECKS = ROOT / "src" / "checks"
HIDDEN = ROOT / "instructor" / "checks"
MANIFEST = read_manifest(CHECKS / "manifest.toml")
ASKED_IN = {"hand_attention.json": "5a", "choices.toml": "6b"}  # questions without a place in code
# seconds: checks with a larger limit train models, and are repeated less often
SLOW = 60

# Least and most that a wrong submission of each kind loses, as a share of its question's coded
# points. The course decides on points, so tests only warn.
SHARES = {"misconception": (0.25, 1.0), "slip": (0.0, 1.0), "edge": (0.0, 0.10)}
SHARES["edge of 1c"] = (0.0, 0.05)  # what the published course leaves open


def collect(package: str, name: str) -> list:
    """Return all entries of the lists called `name` in the modules of a package."""
    return [entry for module in modules(package) for entry in getattr(module, name, [])]


def modules(package: str) -> list:
    """Import the modules of a package and its folders, in the order of their paths."""
    top = Path(importlib.import_module(package).__path__[0])
    paths = [path.relative_to(top).with_suffix("") for path in sorted(top.rglob("[!_]*.py"))]
    return [importlib.import_module(".".join((package, *path.parts))) for path in paths]


@functools.cache
def exceptions() -> set[str]:
    """Wrong submissions that may lose more or less than their kind should, or pass basic checks."""
    return {*collect("instructor.mistakes", "EXCEPTIONS")}


# where submissions are staged: visible in every process
STAGED = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


@contextlib.contextmanager
def open_folder():
    """Create a temporary folder that other users can read, unlike pytest's."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def start_process(level: str | None = None) -> StudentProcess:
    """Create the process that runs probes of submissions that trust each other, at a level."""
    os.chmod(STAGED.name, 0o755)
    return StudentProcess(choose(level), modules_for(), (Path(STAGED.name),))


def grade_folder(
    process: StudentProcess,
    folder: Path,
    names: list[str] = (),
    seed: int | None = None,
    artifacts: bool = False,
    slow: bool = True,
    finished: Callable = lambda outcome: None,
) -> Report:
    """Grade the submission in `folder` with basic and hidden checks; by default all code checks.
    slow: those with a limit over SLOW, too. finished: called with each outcome.
    """
    selected = [check for check in MANIFEST.select([*names]) if check.coded]
    checks = [check for check in selected if artifacts or not check.artifacts]
    checks = [check for check in checks if slow or check.seconds <= SLOW]
    seed = random.randrange(2**62) if seed is None else seed
    with tempfile.TemporaryDirectory(dir=STAGED.name) as staged:
        submission, notices = stage(folder, Path(staged))
        material = process, submission, seed, context_of(Path(staged))
        folders = [CHECKS, HIDDEN]
        report = grade(MANIFEST, checks, folders, *material, True, finished, default=by_reference)
    report.notices = notices
    return report


@functools.cache
def rounds():
    """Staff's rounds of all questions."""
    return staff_rounds(all_questions())


def context_of(staged: Path) -> Context:
    """What the checks of a staged submission need: the results in it, answers, and rounds."""
    gold, accuracy = ROOT / "instructor" / "gold", MANIFEST.settings["accuracy"]
    return Context(staged / RESULTS, None, None, gold, accuracy, rounds(), answer_alone)


def grade_changes(process: StudentProcess, changes: tuple, names: list[str], **options) -> Report:
    """Grade the reference with changes; options as in `grade_folder`."""
    with tempfile.TemporaryDirectory() as folder:
        return grade_folder(process, make(changes, Path(folder) / "submission"), names, **options)


def points_of_wrong(process: StudentProcess, wrong) -> dict[str, float]:
    """Grade a wrong submission with as few checks as it takes to judge it: all of its question for
    an edge, and where those that must catch it are not enough. Returns the points lost, by check.
    """
    taken = lost(grade_changes(process, wrong.changes, list(wrong.caught_by)))
    if wrong.kind == "edge" or faults(wrong, taken) or out_of_proportion(wrong, taken):
        caught = [MANIFEST.checks[id] for id in wrong.caught_by]
        slow = any(check.seconds > SLOW for check in caught)
        questions = [check.question for check in caught]
        taken |= lost(grade_changes(process, wrong.changes, questions, slow=slow))
    return taken


def questions_of(changes: tuple) -> list[str]:
    """Return the questions whose checks run code that the changes touch."""
    touched = {*touched_by(changes)}
    return sorted(id for id in MANIFEST.questions if touched & {id, *MANIFEST.bases(id)})


def touched_by(changes: tuple) -> list[str]:
    """Return the questions that ask for code that the changes touch."""
    touched = set()
    for change in changes:
        if isinstance(change, Fill):
            touched.add(PLACES[change.place].question)
        elif change.file in ASKED_IN:
            touched.add(ASKED_IN[change.file])
        else:  # the files of problem 1, which are in no folder, import each other
            file, places = place_of(change.file), PLACES.values()
            near = [each for each in places if each.file == file or "/" not in each.file + file]
            touched |= {place.question for place in near}
    return sorted(touched)


def faults(wrong, taken: dict[str, float]) -> list[str]:
    """Which checks missed a wrong submission, and whether only hidden ones detected it."""
    missed = [id for id in wrong.caught_by if id not in taken]
    found = [f"missed by {', '.join(missed)}"] if missed else []
    if wrong.name not in exceptions() and taken and not any(id.endswith("basic") for id in taken):
        found.append("detected by no basic check")
    return found


def out_of_proportion(wrong, taken: dict[str, float]) -> str:
    """Say that a wrong submission lost a share of its question's coded points that is out of
    proportion to its kind, or "". Its question is that of most checks that must catch it.
    """
    questions = [MANIFEST.checks[id].question for id in wrong.caught_by]
    question = max(questions, key=questions.count)
    checks = [each for each in MANIFEST.checks.values() if each.question == question and each.coded]
    share = sum(taken.get(each.id, 0) for each in checks) / sum(each.points for each in checks)
    least, most = SHARES["edge of 1c" if (wrong.kind, question) == ("edge", "1c") else wrong.kind]
    if wrong.name in exceptions() or least - 1e-9 <= share <= most + 1e-9:
        return ""
    return f"out of proportion: a {wrong.kind} loses {share:.0%}, not {least:.0%} to {most:.0%}"


def lost(report: Report) -> dict[str, float]:
    """Return the points that each check deducted, by id; none may fail by the grader's fault."""
    for outcome in report.outcomes.values():
        assert outcome.verdict is not Verdict.GRADER_ERROR, f"{outcome.id}: {outcome.details}"
    scores = {id: outcome.score for id, outcome in report.outcomes.items()}
    points = {id: MANIFEST.checks[id].points - score for id, score in scores.items()}
    return {id: value for id, value in points.items() if value}
