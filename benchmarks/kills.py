"""Does a grading bear being killed? python benchmarks/kills.py [--kills 50] [--submissions 12] [--workers 2]

Grades a class once undisturbed, then again and again with `kill -9` at random moments: of the command or of a worker.
Each time that it has got to its end, all grades must be those of the undisturbed run, and nothing may be left running.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "benchmarks"))

from batch import grade, make_class     # noqa: E402

from autograder.inside import watch     # noqa: E402
from instructor.batch import load_class         # noqa: E402


def grades(out: Path) -> dict:
    """Verdict and points of each check of each person."""
    return {entry.person.id: (entry.refused, [(check["id"], check["verdict"], check["score"]) for check in entry.checks])
            for entry in load_class(out).entries}


def main() -> None:
    """Kill, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--submissions", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    kills, ends = {"the command": 0, "a worker": 0}, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make_class(folder / "class", args.submissions)
        quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [*map(str, grade(folder / "class", folder / "OUT", "--workers", args.workers, "--seed", 1))]

        def start(out):
            return subprocess.Popen([word.replace("OUT", out.name) if word.endswith("OUT") else word for word in command], **quiet)

        started = time.monotonic()
        assert start(folder / "undisturbed").wait() == 0
        whole = time.monotonic() - started
        expected, out = grades(folder / "undisturbed"), folder / "out0"
        while sum(kills.values()) < args.kills or ends == 0:
            process = start(out)
            end = time.monotonic() + (random.uniform(0.2, 0.5 * whole) if sum(kills.values()) < args.kills else 1e9)
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            if process.poll() is None:
                victims = [pid for pid in watch.descendants(process.pid) if _is_worker(pid)]
                if random.random() < 0.5 or not victims:
                    process.kill()
                    process.wait()
                    kills["the command"] += 1
                    time.sleep(3)
                    assert not [pid for pid in victims if _lives(pid)], "something is left running"
                else:
                    os.kill(random.choice(victims), signal.SIGKILL)
                    kills["a worker"] += 1
                    if process.wait() in (0, 3):
                        assert grades(out) == expected
                        ends, out = ends + 1, folder / f"out{ends + 1}"
            else:
                assert process.returncode in (0, 3) and grades(out) == expected, f"other grades in {out}"
                ends, out = ends + 1, folder / f"out{ends + 1}"
            print(f"\r{sum(kills.values())} kills, {ends} times at the end", end="", flush=True)
    print(f"\n{args.submissions} submissions, {whole:.0f} s undisturbed. " + ", ".join(f"{what}: {count} kills" for what, count in kills.items()) +
          f". {ends} times at the end, with the grades of the undisturbed run each time.")


def _is_worker(pid):
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    main()
