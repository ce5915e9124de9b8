"""What isolation costs: python benchmarks/isolation.py [--rounds N]

Grades the reference with its results (all automatic checks) on every level that works here, in
turn, under the same conditions. Prints, for each level, the median time of choosing it (its
trial), of starting its process (importing torch), and of a full grading, with the ratio to the
level without isolation.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "checks"))

from proof import grade_folder, start_process  # noqa: E402

from autograder.isolation import LEVELS, Unavailable, choose  # noqa: E402


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        submission = Path(folder) / "submission"
        for source in (ROOT / "instructor" / "solution", ROOT / "instructor" / "results"):
            shutil.copytree(source, submission, dirs_exist_ok=True)
        write_medians(measure(submission, rounds), rounds)


def measure(submission: Path, rounds: int) -> dict[str, list[tuple[float, float, float]]]:
    """The seconds of each round, by level: choosing it, starting, grading."""
    times = {}
    for _ in range(rounds):
        for level in LEVELS:
            choose.cache_clear()
            started = time.perf_counter()
            try:
                choose(level)
            except Unavailable as error:
                print(error)
                continue
            chosen = time.perf_counter()
            with start_process(level) as process:
                process.start()
                ready = time.perf_counter()
                report = grade_folder(process, submission, artifacts=True)
                assert report.passed, [
                    (level, outcome.id, outcome.details)
                    for outcome in report.outcomes.values()
                    if outcome.details
                ]
            times.setdefault(level, []).append((chosen - started, ready - chosen, report.seconds))
    return times


def write_medians(times: dict[str, list[tuple[float, float, float]]], rounds: int) -> None:
    """Write a table of what `measure` gave."""
    medians = {
        level: [statistics.median(column) for column in zip(*rows)] for level, rows in times.items()
    }
    print(
        f"{'level':<12}{'choosing':>10}{'starting':>10}{'grading':>10}{'ratio':>8}   medians of "
        f"{rounds}, seconds"
    )
    for level, (choosing, starting, grading) in medians.items():
        print(
            f"{level:<12}{choosing:>10.2f}{starting:>10.2f}{grading:>10.2f}"
            f"{grading / medians['limits'][2]:>8.2f}"
        )


if __name__ == "__main__":
    main()
