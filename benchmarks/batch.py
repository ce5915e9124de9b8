"""How fast a class is graded: python benchmarks/batch.py [--submissions 200] [--workers 2] [--dask]

Makes a class from the wrong, right and hostile submissions of tests/, each with laptop-size
results, grades it with `python -m instructor grade`, and prints the time, submissions a minute, and
the most memory of all its processes together. --dask also grades the class on a scheduler and
workers on this machine.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "checks"))

from proof import collect  # noqa: E402  (it makes the others importable)

from autograder.inside import watch  # noqa: E402
from hostile.harness import build  # noqa: E402
from hostile.scene import Scene  # noqa: E402
from instructor.mistakes.patches import make  # noqa: E402

RESULTS = [
    path
    for suffix in ("params", "predictions")
    for path in sorted((ROOT / "instructor" / "results").glob(f"*.{suffix}"))
]


def make_class(folder: Path, count: int) -> None:
    """Write a class of submissions, zips and folders: seven of ten wrong, two right, one hostile;
    with the reference's results.
    """
    wrong, right, hostile = (
        collect("instructor.mistakes", "MISTAKES"),
        collect("right", "RIGHT"),
        [attack for attack in collect("hostile.attacks", "HOSTILE") if not attack.prepare],
    )

    def every(entries, number):
        return [entries[i * len(entries) // number] for i in range(number)]

    parts = [every(wrong, count * 7 // 10), every(right, count * 2 // 10)]
    parts.append(every(hostile, count - sum(map(len, parts))))
    with Scene() as scene:
        for number, entry in enumerate(entry for part in parts for entry in part):
            target = folder / f"{number:04}-{entry.name}"
            if hasattr(entry, "tries"):
                build(entry, "h0123456789ab", scene, target)
            else:
                make(entry.changes, target)
            for path in RESULTS:
                if not (target / path.name).exists():
                    shutil.copyfile(path, target / path.name)
            if number % 2:
                with zipfile.ZipFile(target.with_name(target.name + ".zip"), "w") as archive:
                    for path in sorted(target.rglob("*")):
                        if path.is_file():
                            archive.write(path, path.relative_to(target))
                shutil.rmtree(target)


def measured(folder: Path, out: str, workers: int, *options) -> tuple[float, float]:
    """Grade the folder's class; returns the seconds, and the peak memory in MiB."""
    command = [sys.executable, "-m", "instructor", "grade", folder / out, *options]
    (folder / out).mkdir()
    settings = f'submissions = ["../class"]\nseed = 1\nworkers = {workers}\n'
    (folder / out / "settings.toml").write_text(settings, encoding="utf-8")
    started, most = time.perf_counter(), 0
    process = subprocess.Popen([*map(str, command)], cwd=ROOT)
    while process.poll() is None:
        most = max(most, watch.memory_of([process.pid, *watch.descendants(process.pid)]))
        time.sleep(1)
    assert process.returncode in (0, 3), command
    return time.perf_counter() - started, most / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dask", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make_class(folder / "class", args.submissions)
        local, memory = measured(folder, "local", args.workers)
        print(
            f"{args.submissions} submissions, {args.workers} workers: {local:.0f} s, "
            f"{60 * args.submissions / local:.1f} a minute, at most {memory:.0f} MiB"
        )
        if args.dask:
            with dask(folder, args.workers) as file:
                seconds, _ = measured(folder, "dask", args.workers, "--cluster", file)
            print(
                f"the same on Dask, {args.workers} workers: {seconds:.0f} s, {local / seconds:.2f} "
                "times as fast"
            )


@contextlib.contextmanager
def dask(folder: Path, workers: int):
    """Start a scheduler and workers on this machine, in separate processes; yields the scheduler's
    file.
    """
    file = folder / "scheduler.json"

    def start(*words):
        command = [sys.executable, "-m", "dask", *words, "--scheduler-file", file, "--no-dashboard"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )

    processes = [start("scheduler", "--host", "127.0.0.1", "--port", "0")]
    for number in range(workers):
        own = folder / f"worker{number}"
        processes.append(start("worker", "--nthreads", "1", "--local-directory", own))
    try:
        time.sleep(8)
        yield file
    finally:
        for process in processes[::-1]:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
