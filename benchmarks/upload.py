"""How long grading an upload takes: python benchmarks/upload.py [--runs 3] [--processors 1 0.5]

Builds the upload autograder, and grades the reference with its laptop-size results in a container
like Gradescope's, made with bubblewrap (tests/instructor/grading/gradescope_container.py); prints
the medians of time and peak memory. Needs root, control groups, and a Python that other users can
read.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "instructor" / "grading"), str(ROOT)]

from gradescope_container import CGROUPS, Container  # noqa: E402

PERIOD = 100_000  # microseconds


@contextlib.contextmanager
def quota(processors: float):
    """Limit this process, and all that it starts, to so many processors."""
    folder = CGROUPS / "cpu" if (CGROUPS / "cpu").is_dir() else CGROUPS
    group = folder / f"upload-{os.getpid()}"
    group.mkdir()
    limit = str(int(processors * PERIOD))
    if folder == CGROUPS:
        (group / "cpu.max").write_text(f"{limit} {PERIOD}", encoding="utf-8")
    else:
        (group / "cpu.cfs_quota_us").write_text(limit, encoding="utf-8")
    (group / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
    try:
        yield
    finally:
        (folder / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
        group.rmdir()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processors", type=float, nargs="+", default=[1, 0.5])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive, submission = Path(folder, "autograder.zip"), Path(folder, "submission")
        for kept in ("solution", "results"):
            shutil.copytree(ROOT / "instructor" / kept, submission, dirs_exist_ok=True)
        command = [sys.executable, "-m", "instructor", "gradescope", str(archive)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        container = Container(archive, memory=2048)
        print("| processors | seconds | MiB at most | points | isolation |\n|---|---|---|---|---|")
        for processors in args.processors:
            found = []
            for _ in range(args.runs):
                started = time.monotonic()
                with quota(processors):
                    results = container.grade(submission)
                found.append((time.monotonic() - started, container.peak or 0))
            seconds, memory = (statistics.median(column) for column in zip(*found, strict=True))
            level = results["extra_data"]["isolation"]
            print(f"| {processors:g} | {seconds:.0f} | {memory} | {results['score']:g} | {level} |")


if __name__ == "__main__":
    main()
