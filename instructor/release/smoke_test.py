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
from dataclasses import dataclass
from pathlib import Path

from autograder import Manifest, Report, Verdict, draw_seed
from checks.support.session import Setting, grade_submission
from common.cores import cores
from common.files import UserError
from instructor.datasets.worlds.exercises import as_json, solve
from jobs.presets import PRESETS
from jobs.targets import targets_of

from .starter import KEPT_RESULTS, SOLUTION, START

PRESET = PRESETS["laptop"]  # of the saved or newly made results


class Failed(Exception):
    """A step of the smoke test failed; the message is its output."""


@dataclass(frozen=True)
class Command:
    """A command of the README, the exit code and output that the starter should give, the folder to
    run it in, and what is typed for the README's TARGET or ID.
    """

    readme: str
    code: int
    prints: str
    folder: str = "."
    example: str = ""

    @property
    def line(self) -> str:
        """The command as it is typed."""
        return re.sub(r"\b(TARGET|ID)\b", self.example, self.readme)

    def run(self, tree: Path, show: bool = False) -> None:
        """Run it as a student would: without this shell's variables, and with a home beside the
        release.

        Args:
            tree: the unpacked release.
            show: show its output while it runs, progress bars included.

        Raises:
            Failed: the result is not the expected one.
        """
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {"PATH": path, "HOME": str(tree.parent), "LANG": "C.UTF-8"}
        if threads := os.environ.get("OMP_NUM_THREADS"):  # for a shared machine
            environment["OMP_NUM_THREADS"] = threads
        process = subprocess.run(
            ["bash", "-c", self.line],
            cwd=tree / self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=None if show else subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output = (process.stdout or b"").decode("utf-8", errors="replace")
        if process.returncode != self.code or self.prints not in output:
            expected = f"exit code {self.code}"
            expected += f" and to print '{self.prints}'" if self.prints else ""
            raise Failed(
                f"{output[-4000:]}\n$ {self.line}\nended with exit code {process.returncode}. "
                f"Expected: {expected}. Its output is above."
            )


def commands(manifest: Manifest) -> list[Command]:
    """The README's commands that take seconds. The others come later, with the reference filled
    in.
    """
    basic = next(check.id for check in manifest.checks.values() if check.kind == "basic")
    target = next(iter(targets_of(manifest.problems)), "help")
    results = [one for one in targets_of(manifest.problems).values() if one.handed_in]
    found = [Command("./run.sh help", 0, target)]
    if "1" in manifest.problems:
        found.append(Command("python dataset.py namedata", 0, "Where was", "src/submission"))
    if target != "help":
        found.append(Command("./run.sh TARGET", 3, "Not implemented yet: ", example=target))
    return [
        *found,
        Command("python src/grader.py --list", 0, "hidden"),
        Command("python src/grader.py", 1, "  all  0 of "),
        Command("cd src && python grader.py ID", 1, "  all  0 of ", example=basic),
        Command("./collect_submission.sh", 2, f"./run.sh {results[0].target}")
        if results
        else Command("./collect_submission.sh", 0, "not filled in"),
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
        readme = (tree / "README.md").read_text(encoding="utf-8")
        for command in commands(manifest):
            with _step(command.line):
                if not _names(readme, command.readme):
                    raise Failed(
                        f"The release's README does not have the command: {command.readme}"
                    )
                command.run(tree)
        with _step("the starter scores 0 by basic and hidden checks"):
            report = _grade(submission, tree, gold, manifest)
            if report.score or any(
                outcome.verdict is None or outcome.verdict is Verdict.GRADER_ERROR
                for id, outcome in report.outcomes.items()
                if report.manifest.checks[id].coded
            ):
                raise Failed(f"The starter scores {report.score}:\n{_lines(report)}")

        for path in sorted(SOLUTION.rglob("*.py")):
            target = submission / path.relative_to(SOLUTION)
            if target.is_file() and START in target.read_text(encoding="utf-8"):
                shutil.copyfile(path, target)  # outside the markers, the two are the same
        for hand in submission.glob("*/hand_attention.json"):
            solved = as_json(solve(json.loads(hand.read_text(encoding="utf-8"))))
            hand.write_text(solved, encoding="utf-8", newline="\n")
        for choices in submission.glob("*/choices.toml"):
            shutil.copyfile(SOLUTION / choices.relative_to(submission), choices)
        grader = "python src/grader.py --no-artifacts"
        with _step(f"the starter filled with the reference passes {grader}"):
            Command(grader, 0, "  all  ").run(tree)
        targets = targets_of(manifest.problems)
        if gold:
            print(
                f"  Running the jobs on the new people with the preset {PRESET.name}: five minutes "
                "on an idle machine",
                flush=True,
            )
            lines = [f"./run.sh all --preset {PRESET.name}"] * ("1" in manifest.problems)
            lines += ["./run.sh encoder_report"] * ("encoder_report" in targets)
            for line in lines:
                with _step(line):
                    Command(line, 0, "").run(tree, show=True)
            collecting = "./collect_submission.sh"
        else:
            for target in targets.values():
                if target.handed_in and (KEPT_RESULTS / target.writes).is_file():
                    shutil.copyfile(KEPT_RESULTS / target.writes, submission / target.writes)
            # large pretrained weights are not kept
            collecting = "./collect_submission.sh --allow-missing"
        with _step(collecting):
            Command(collecting, 0, "submission.zip").run(tree)
        with _step(
            "the starter filled with the reference gets full points, from submission.zip, results "
            "included"
        ):
            _require_full(_grade(tree / "submission.zip", tree, gold, manifest))


def unpack(archive: Path, into: Path) -> Path:
    """Unpack a release with its permissions, as `unzip` does; returns its top folder."""
    with zipfile.ZipFile(archive) as file:
        for entry in file.infolist():
            os.chmod(file.extract(entry, into), stat.S_IMODE(entry.external_attr >> 16))
    return next(into.iterdir())


def _names(readme: str, line: str) -> bool:
    """Whether a README has a command, in backticks or on a line of a listing."""
    return re.search(rf"(^|`){re.escape(line)}($|`|\s+#)", readme, re.MULTILINE) is not None


def _grade(submission: Path, tree: Path, gold: Path | None, manifest: Manifest) -> Report:
    """Grade as staff does, with the release's data."""
    data = tree / "data" / PRESET.data
    checks = [check for check in manifest.checks.values() if check.coded]
    # The code is ours, so it may be graded without isolation.
    setting = Setting(
        hidden=True,
        gold=gold,
        preset=PRESET.name,
        data=data if "1" in manifest.problems else None,  # the world is problem 1's
        weak=True,
        workers=cores(),
    )
    try:
        return grade_submission(submission, checks, setting, draw_seed(), manifest)
    except UserError as error:
        raise Failed(str(error)) from None


def _require_full(report: Report) -> None:
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
