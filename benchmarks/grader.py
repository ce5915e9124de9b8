"""How fast the grader is: python benchmarks/grader.py [--rounds N]

Grades the reference (all checks of code, basic and hidden) as grader.py does, and in one process,
where the submission could read everything. Both run in turn, under the same conditions. Prints
medians and ratios.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "checks"))

from proof import MANIFEST, grade_folder, start_process  # noqa: E402

from autograder import SameProcess, probe  # noqa: E402
from autograder.student import Student  # noqa: E402
from checks.support.staging import stage  # noqa: E402

SOLUTION = ROOT / "instructor" / "solution"


@probe
def nothing():
    """The least that a check can do: import a file of the submission."""
    return 0


def median_of(function, rounds: int) -> float:
    """The median time of some calls, in seconds."""
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for arguments in (["--no-artifacts", "1"], ["--no-artifacts", "1h"]):
        command = [
            sys.executable,
            str(ROOT / "src" / "grader.py"),
            "--submission",
            str(SOLUTION),
            *arguments,
        ]
        seconds = median_of(
            lambda: subprocess.run(command, check=True, capture_output=True), rounds
        )
        print(
            f"python grader.py {' '.join(arguments)}: {seconds:.1f} s, from the command to its end"
        )

    with tempfile.TemporaryDirectory() as folder, start_process() as process:
        submission, _ = stage(SOLUTION, Path(folder))
        process.start()
        apart, together = [], []
        for seed in range(rounds + 1):
            started = time.perf_counter()
            report = grade_folder(process, SOLUTION, seed=seed)
            apart.append(time.perf_counter() - started)
            started = time.perf_counter()
            result = grade_folder(SameProcess(), SOLUTION, seed=seed)
            together.append(time.perf_counter() - started)
            assert report.passed and result.passed
        # the first round imports
        a, b = statistics.median(apart[1:]), statistics.median(together[1:])
        checks = len(report.outcomes)
        print(
            f"{checks} checks, each in a process of its own, torch imported before: {a:.2f} s; "
            f"all in one process: {b:.2f} s; ratio {a / b:.2f}"
        )

        check = next(iter(MANIFEST.checks.values()))
        student, here = (
            Student(process, submission, check, 0),
            Student(SameProcess(), submission, check, 0),
        )
        student.run(nothing), here.run(nothing)
        overhead = [median_of(lambda: one.run(nothing), 30) for one in (student, here)]
        print(
            f"One call of a probe that imports the submission: {1000 * overhead[0]:.0f} ms apart, "
            f"{1000 * overhead[1]:.0f} ms in one process: "
            f"{1000 * (overhead[0] - overhead[1]):.0f} ms more"
        )


if __name__ == "__main__":
    main()
