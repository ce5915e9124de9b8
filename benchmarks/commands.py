"""How long a student waits: python benchmarks/commands.py [--before CHECKOUT] [--rounds 3] [--demo]

Times whole commands on this machine: the grader on the reference, on question 5a, and under --watch
after a file is saved. --before times another checkout's commands in turn with ours, so that both
meet the same machine. --demo times the demo, too, once each: on free cores, with --jobs 1, and
beside a program that keeps a core busy.

Prints medians: seconds of wall time, seconds of all processes' CPU time, and the ratio.
"""

import argparse
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tables import ROOT, markdown

REFERENCE = ["src/grader.py", "--submission", "instructor/solution"]
SAVED = "problem5/numpy_attention.py"  # its question has 0.1 s of checks


def timed(command: list, checkout: Path) -> tuple[float, float]:
    """Run a command of a checkout; returns its wall time and CPU time in seconds."""
    used, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=checkout, capture_output=True, encoding="utf-8"
    )
    seconds, now = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    return seconds, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def after_saving(rounds: int) -> list[float]:
    """The seconds from saving a file to the result, under `grader.py 5a --watch`."""
    with tempfile.TemporaryDirectory() as folder:
        submission = Path(folder, "submission")
        shutil.copytree(ROOT / "src" / "submission", submission)
        shutil.copytree(ROOT / "instructor" / "solution", submission, dirs_exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "src/grader.py", "5a", "--watch", "--submission", submission],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        found = []
        with contextlib.closing(process.stdout), contextlib.ExitStack() as stack:
            stack.callback(process.kill)
            _read_until(process, "Watching")
            for _ in range(rounds):
                time.sleep(1)
                with open(submission / SAVED, "a", encoding="utf-8") as file:
                    file.write("# saved\n")
                started = time.perf_counter()
                _read_until(process, "Nothing changed")
                found.append(time.perf_counter() - started)
                _read_until(process, "They pass, too")
        return found


def _read_until(process, words):
    while words not in (line := process.stdout.readline()):
        assert line, "it ended"


@contextlib.contextmanager
def busy_core():
    """Keep one core busy meanwhile."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()


def demo(checkout: Path, *options) -> float:
    """The seconds of a demo."""
    with tempfile.TemporaryDirectory() as out:
        return timed(["src/run.py", "demo", "--out", Path(out, "demo"), *options], checkout)[0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", type=Path, help="a checkout of another version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--demo", action="store_true")
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # students have compiled modules
    checkouts, rows = [*filter(None, [args.before]), ROOT], []
    for name, command in {"the reference": REFERENCE, "5a": [*REFERENCE, "5a"]}.items():
        times = {checkout: [] for checkout in checkouts}
        for _ in range(args.rounds):
            for checkout in checkouts:
                times[checkout].append(timed(command, checkout))
        medians = {
            checkout: [statistics.median(column) for column in zip(*pairs)]
            for checkout, pairs in times.items()
        }
        for checkout in checkouts:
            wall, cpu = medians[checkout]
            rows.append(
                [
                    f"grader.py, {name}",
                    "now" if checkout == ROOT else "before",
                    f"{wall:.1f}",
                    f"{cpu:.1f}",
                    f"{medians[checkouts[0]][0] / wall:.2f}",
                ]
            )
    seconds = statistics.median(after_saving(args.rounds))
    rows.append(["5a under --watch, after saving", "now", f"{seconds:.2f}", "", ""])
    if args.demo:
        demos = {"before": demo(args.before)} if args.before else {}
        demos |= {"now": demo(ROOT), "now, --jobs 1": demo(ROOT, "--jobs", "1")}
        with busy_core():
            demos["now, beside a busy core"] = demo(ROOT)
        first = next(iter(demos.values()))
        rows += [
            ["demo", name, f"{value:.0f}", "", f"{first / value:.2f}"]
            for name, value in demos.items()
        ]
    head = ["command", "", "seconds", "CPU seconds", "times as fast"]
    print(markdown(head, rows))


if __name__ == "__main__":
    main()
