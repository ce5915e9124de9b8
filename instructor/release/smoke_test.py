"""Tests a release: runs its README's commands as a student would, and grades the starter and the
reference.
"""

import contextlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

from autograder import Manifest, Report, Verdict, draw_seed
from checks.support.session import Setting, grade_submission
from common.cores import cores
from common.files import UserError, read_text
from instructor.datasets.worlds.exercises import as_json, solve
from jobs.deliverables import ANSWERS, STUDENT_FILES, lent
from jobs.presets import PRESETS
from jobs.targets import targets_of

from .starter import KEPT_RESULTS, SOLUTION

PRESET = PRESETS["laptop"]  # of the saved or newly made results


class Failed(Exception):
    """A step of the smoke test failed; the message is its output."""


class Command(NamedTuple):
    """A command of the README, what a student types, and what the starter should give: an exit code
    and an output.
    """

    readme: str
    typed: str
    code: int
    prints: str


def commands(manifest: Manifest) -> list[Command]:
    """The README's commands that take seconds. The others come later, with the reference filled
    in.
    """
    basic = next(check.id for check in manifest.checks.values() if check.kind == "basic")
    targets = targets_of(manifest.problems)
    found = []
    if "1" in manifest.problems:
        data = "python dataset.py namedata"
        found.append(Command(data, f"cd src/submission && {data}", 0, "Where was"))
    for name in [*targets][:1]:
        found.append(Command("./run.sh TARGET", f"./run.sh {name}", 3, "Not implemented yet: "))
    results = [f"./run.sh {target.target}" for target in targets.values() if target.handed_in]
    code, prints = (2, results[0]) if results else (0, "not filled in")
    grade = "./run.sh python src/grader.py"
    return [
        *found,
        Command("./run.sh help", "./run.sh help", 0, next(iter(targets), "help")),
        Command(f"{grade} --next", f"{grade} --next", 0, "  write  "),
        Command(f"{grade} ID", f"{grade} {basic}", 1, "  all  0 of "),
        Command(f"{grade} ID", grade, 1, "  all  0 of "),  # without ID, everything
        Command("--list", f"{grade} --list", 0, "hidden"),
        Command("./collect_submission.sh", "./collect_submission.sh", code, prints),
    ]


def prove(archive: Path, manifest: Manifest, gold: Path | None = None) -> None:
    """Test a release step by step, printing a line for each step.

    Args:
        archive: the zip of the release.
        manifest: what it is graded by.
        gold: the test answers, for a new cohort's data.

    Raises:
        Failed: a step did not give the expected result.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        tree = unpack(archive, Path(folder) / "release")
        submission = tree / "src" / "submission"
        readme = read_text(tree / "README.md")
        for command in commands(manifest):
            # in backticks or on a line of a listing
            if not re.search(rf"(?m)(^|`){re.escape(command.readme)}($|`|\s+#)", readme):
                raise Failed(f"The release's README does not have the command: {command.readme}")
            _run(tree, command.typed, command.code, command.prints)
        with _step("the starter scores 0 by basic and hidden checks"):
            report = grade(submission, tree, gold, manifest)
            coded = [id for id, check in manifest.checks.items() if check.coded]
            verdicts = {report.outcomes[id].verdict for id in coded}
            if report.score or {None, Verdict.GRADER_ERROR} & verdicts:
                raise Failed(f"The starter scores {report.score}:\n{_lines(report)}")

        for name in (*STUDENT_FILES, *ANSWERS):
            target = submission / name
            if target.is_file() and name not in lent(manifest.problems):
                shutil.copyfile(SOLUTION / name, target)
        for hand in tree.glob("data/hand_attention.json"):
            solved = as_json(solve(json.loads(read_text(hand))))
            (submission / "problem5" / hand.name).write_text(solved, encoding="utf-8")
        _run(tree, "python src/grader.py --no-artifacts", 0, "  all  ")
        targets = targets_of(manifest.problems)
        if gold:
            print("  The jobs on the new people take five minutes on an idle machine", flush=True)
            if "1" in manifest.problems:
                _run(tree, f"./run.sh all --preset {PRESET.name}", show=True)
            if "encoder_report" in targets:
                _run(tree, "./run.sh encoder_report", show=True)
            collecting = "./collect_submission.sh"
        else:
            for target in targets.values():
                if target.handed_in and (KEPT_RESULTS / target.writes).is_file():
                    shutil.copyfile(KEPT_RESULTS / target.writes, submission / target.writes)
            # large pretrained weights are not kept
            collecting = "./collect_submission.sh --allow-missing"
        _run(tree, collecting, 0, "submission.zip")
        with _step("the reference gets full points, from submission.zip, results included"):
            require_full(grade(tree / "submission.zip", tree, gold, manifest))


def unpack(archive: Path, into: Path) -> Path:
    """Unpack a release with its permissions, as `unzip` does; returns its top folder."""
    with zipfile.ZipFile(archive) as file:
        for entry in file.infolist():
            os.chmod(file.extract(entry, into), stat.S_IMODE(entry.external_attr >> 16))
    return next(into.iterdir())


def _run(tree: Path, line: str, code: int = 0, prints: str = "", show: bool = False) -> None:
    """Run a command as a student would: without this shell's variables, and with a home beside the
    release. Raises Failed if exit code or output are not as expected; of a command that is shown
    while it runs, progress bars included, the exit code.
    """
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {"PATH": path, "HOME": str(tree.parent), "LANG": "C.UTF-8"}
    if threads := os.environ.get("OMP_NUM_THREADS"):  # for a shared machine
        environment["OMP_NUM_THREADS"] = threads
    with _step(line):
        process = subprocess.run(
            ["bash", "-c", line],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=None if show else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        output = process.stdout or ""
        if process.returncode != code or prints not in output:
            raise Failed(
                f"{output[-4000:]}\n$ {line}\nended with exit code {process.returncode}; "
                f"expected: exit code {code}, and in its output, which is above: '{prints}'"
            )


def grade(submission: Path, tree: Path, gold: Path | None, manifest: Manifest) -> Report:
    """Grade as staff does, with the release's data."""
    # The code is ours, so it may be graded without isolation.
    setting = Setting(
        hidden=True,
        gold=gold,
        preset=PRESET.name,
        data=tree / "data" / PRESET.data if "1" in manifest.problems else None,
        weak=True,
        workers=cores(),
    )
    try:
        checks = [*manifest.checks.values()]
        return grade_submission(submission, checks, setting, draw_seed(), manifest)
    except UserError as error:
        raise Failed(str(error)) from None


def require_full(report: Report) -> None:
    """Raise Failed if a report has less than all points."""
    if report.score != report.max_score or not report.passed:
        raise Failed(
            f"It scores {report.score:g} of {report.max_score:g}, with seed {report.seed}:\n"
            f"{_lines(report)}"
        )


def _lines(report: Report) -> str:
    """A line for each check: its verdict, points and details."""
    return "\n".join(
        f"  {id}: {outcome.verdict.value if outcome.verdict else 'did not run'}, {outcome.score:g} "
        f"of {report.manifest.checks[id].points:g}. {outcome.details or outcome.message}"
        for id, outcome in report.outcomes.items()
    )


@contextlib.contextmanager
def _step(name: str):
    """Time the block, and print a line with its result."""
    started = time.monotonic()
    result = "failed"
    try:
        yield
        result = "ok"
    finally:
        print(f"  {result:<6} {time.monotonic() - started:6.1f} s  {name}", flush=True)
