"""How fast a class is graded: python benchmarks/batch.py [--submissions 200] [--workers 2] [--dask]
[--otter 20] [--problem 1]

Makes a class from the wrong, right and hostile submissions of tests/, each with laptop-size
results, grades it with `python -m instructor grade`, and prints the time, submissions a minute, and
the most memory of all its processes together. --dask also grades the class on a scheduler and
workers on this machine. --otter grades the code of right submissions with this and with
otter-grader, without containers, with the same verdicts and as many at a time; it installs
otter-grader into a temporary environment. --problem measures a course with that problem alone.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "checks"))

from proof import collect, verdicts  # noqa: E402

from autograder.inside import watch  # noqa: E402
from checks.support.staging import stage  # noqa: E402
from hostile.harness import build  # noqa: E402
from hostile.scene import Scene  # noqa: E402
from variants import make  # noqa: E402

OTTER = "otter-grader==7.0.0"
RESULTS = [
    path
    for suffix in ("params", "predictions")
    for path in sorted((ROOT / "instructor" / "results").glob(f"*.{suffix}"))
]
CELLS = "import sys\nsys.path.insert(0, {folder!r})\n"
QUESTION = """OK_FORMAT = True

code = ">>> import otter_checks\\n>>> otter_checks.run({folder!r}, {id!r})\\n"
cases = [{{"code": code, "hidden": False, "locked": False}}]
suite = {{"type": "doctest", "scored": True, "setup": "", "teardown": "", "cases": cases}}
test = {{"name": "{id}", "points": 1, "suites": [suite]}}
"""
CHECKS = '''"""The verdicts, in this process."""
import contextlib
import inspect
import io
import sys
import zlib
from pathlib import Path
sys.path.insert(0, {tests!r})
import numpy as np
import proof
from autograder import SameProcess, Submission
from autograder.student import Student


def run(folder, id):
    check = proof.MANIFEST.checks[id]
    submission = Submission((Path(folder),), Path(folder, "submission"), "submission")
    student = Student(SameProcess(), submission, check, 1)
    verdict = proof.verdicts()[id]
    rng = np.random.default_rng([1, zlib.crc32(id.encode())])
    given = dict(student=student, rng=rng, context=proof.context_of(Path(folder)))
    wanted = inspect.signature(verdict).parameters
    if "cases" in wanted:
        given.update(cases=proof.FRESH.draw(id, rng))
    with contextlib.redirect_stdout(io.StringIO()):  # what is printed would fail a doctest
        verdict(*(given[name] for name in wanted))
'''


def make_class(folder: Path, count: int) -> None:
    """Write a class of submissions, zips and folders: seven of ten wrong, two right, one hostile;
    with the reference's results.
    """
    wrong, right, hostile = (
        collect("wrong", "WRONG"),
        collect("right", "RIGHT"),
        [attack for attack in collect("hostile.attacks", "HOSTILE") if not attack.prepare],
    )

    def every(entries, number):
        return [entries[i * len(entries) // number] for i in range(number)]

    parts = [every(wrong, count * 7 // 10), every(right, count * 2 // 10)]
    parts.append(every(hostile, count - sum(map(len, parts))))
    with Scene() as scene:
        for number, one in enumerate(one for part in parts for one in part):
            target = folder / f"{number:04}-{one.name}"
            if hasattr(one, "tries"):
                build(one, "h0123456789ab", scene, target)
            else:
                make(one.changes, target)
            for path in RESULTS:
                if not (target / path.name).exists():
                    shutil.copyfile(path, target / path.name)
            if number % 2:
                with zipfile.ZipFile(target.with_name(target.name + ".zip"), "w") as archive:
                    for path in sorted(target.rglob("*")):
                        if path.is_file():
                            archive.write(path, path.relative_to(target))
                shutil.rmtree(target)


def copy_with(problem: int, folder: Path) -> None:
    """Copy the project, with the questions, wrong and right submissions of one problem alone."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, encoding="utf-8"
    ).stdout.splitlines()
    other = re.compile(rf"tests/checks/(wrong|right)/problem(?!{problem}/)")
    for name in names:
        if not other.match(name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    manifest = folder / "src" / "checks" / "manifest.toml"
    head, *checks = manifest.read_text(encoding="utf-8").split("[[check]]")
    head = re.sub(rf"^(?!{problem})\d[a-z] = .*\n", "", head, flags=re.MULTILINE)
    checks = [check for check in checks if f'id = "{problem}' in check]
    manifest.write_text("[[check]]".join([head, *checks]), encoding="utf-8")


def memory_of(pid: int) -> int:
    """Bytes that a process and all its descendants use together; shared pages count once."""
    return watch.exact_memory([pid, *watch.descendants(pid)])


def measured(command: list, **options) -> tuple[float, float]:
    """Run a command; returns its seconds, and its peak memory in MiB."""
    started, most = time.perf_counter(), 0
    process = subprocess.Popen(list(map(str, command)), **options)
    while process.poll() is None:
        most = max(most, memory_of(process.pid))
        time.sleep(1)
    assert process.returncode in (0, 3), command
    return time.perf_counter() - started, most / 2**20


def grade(folder: Path, out: Path, *options) -> list:
    """The command that grades a class."""
    return [sys.executable, "-m", "instructor", "grade", folder, "--out", out, *options]


def otter(folder: Path, work: Path, workers: int) -> float:
    """Grade a folder of right submissions with otter-grader; returns the seconds."""
    venv.create(work / "venv", with_pip=True)
    python = work / "venv" / "bin" / "python"
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", OTTER], check=True, stderr=subprocess.DEVNULL
    )
    site = subprocess.run(
        [python, "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout.strip()
    import site as ours

    # torch, and the checks
    Path(site, "project.pth").write_text(
        "\n".join([*ours.getsitepackages(), str(work)]), encoding="utf-8"
    )
    (work / "otter_checks.py").write_text(
        CHECKS.format(tests=str(ROOT / "tests" / "checks")), encoding="utf-8"
    )
    jobs = []
    for number, source in enumerate(sorted(folder.iterdir())):
        one = work / str(number)
        one.mkdir()
        stage(source, one)
        notebook = {
            "cells": [
                {
                    "cell_type": "code",
                    "execution_count": None,
                    "metadata": {},
                    "outputs": [],
                    "id": "a",
                    "source": CELLS.format(folder=str(one)),
                }
            ],
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (one / "submission.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        with zipfile.ZipFile(one / "autograder.zip", "w") as archive:
            archive.writestr("otter_config.json", json.dumps({"lang": "python"}))
            for id in verdicts():
                archive.writestr(f"tests/{id}.py", QUESTION.format(id=id, folder=str(one)))
        jobs.append(
            [
                python,
                "-m",
                "otter",
                "run",
                "--no-logo",
                "-a",
                one / "autograder.zip",
                "-o",
                one,
                one / "submission.ipynb",
            ]
        )

    def run(job):
        done = subprocess.run(
            list(map(str, job)),
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        results = json.loads((Path(job[-1]).parent / "results.json").read_text(encoding="utf-8"))
        wrong = [test for test in results["tests"] if test.get("score") != test.get("max_score")]
        assert done.returncode == 0 and not wrong, (
            done.stdout + done.stderr + json.dumps(wrong[:1], indent=2)
        )

    started = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, jobs))
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument(
        "--otter",
        type=int,
        default=0,
        metavar="N",
        help="how many right submissions to grade with otter-grader and with this",
    )
    parser.add_argument(
        "--problem", type=int, help="measure a copy of the project with only this problem"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if args.problem:
            copy_with(args.problem, folder)
            options = [
                f"--{name}={getattr(args, name)}" for name in ("submissions", "workers", "otter")
            ]
            script = [sys.executable, folder / "benchmarks" / "batch.py", *options]
            sys.exit(subprocess.run([*script, *(["--dask"] if args.dask else [])]).returncode)
        if args.submissions:
            make_class(folder / "class", args.submissions)
            local, memory = measured(
                grade(folder / "class", folder / "local", "--workers", args.workers, "--seed", 1),
                cwd=ROOT,
            )
            print(
                f"{args.submissions} submissions, {args.workers} workers: {local:.0f} s, "
                f"{60 * args.submissions / local:.1f} a minute, at most {memory:.0f} MiB"
            )
        if args.submissions and args.dask:
            with dask(folder, args.workers) as file:
                seconds, _ = measured(
                    grade(
                        folder / "class",
                        folder / "dask",
                        "--engine",
                        "dask",
                        "--scheduler",
                        file,
                        "--seed",
                        1,
                    ),
                    cwd=ROOT,
                )
            print(
                f"the same on Dask, {args.workers} workers: {seconds:.0f} s, {local / seconds:.2f} "
                "times as fast"
            )
        if args.otter:
            right = collect("right", "RIGHT")
            for number in range(args.otter):
                make(right[number % len(right)].changes, folder / "right" / f"{number:04}")
            ours, _ = measured(
                grade(folder / "right", folder / "ours", "--workers", args.workers), cwd=ROOT
            )
            theirs = otter(folder / "right", folder / "otter", args.workers)
            print(
                f"{args.otter} right submissions, the same checks of code, {args.workers} at a "
                f"time: {60 * args.otter / ours:.1f} a minute; otter-grader, without isolation: "
                f"{60 * args.otter / theirs:.1f}; ratio {theirs / ours:.2f}"
            )


@contextlib.contextmanager
def dask(folder: Path, workers: int):
    """Start a scheduler and workers on this machine, in separate processes; yields the scheduler's
    file.
    """
    file, command, quiet = (
        folder / "scheduler.json",
        [sys.executable, "-m", "dask"],
        {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL},
    )
    processes = [
        subprocess.Popen(
            [
                *command,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                file,
            ],
            **quiet,
        )
    ]
    processes += [
        subprocess.Popen(
            [
                *command,
                "worker",
                "--scheduler-file",
                file,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
                folder / f"worker{n}",
            ],
            **quiet,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for n in range(workers)
    ]
    try:
        time.sleep(8)
        yield file
    finally:
        for process in processes[::-1]:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
