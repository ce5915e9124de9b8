"""Stands for grading in tests of batches: quick, and the same for the same task. Also a program:
grade with it instead of the real thing.

`python tests/instructor/grading/batch_work.py grade CLASS ...`
"""

import hashlib
import os
import random
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import instructor  # noqa: E402, F401     makes the modules of src/ importable


def run(task):
    """Outcomes that depend on content, seed and check; files called "kill" do as they say."""
    from autograder import Outcome, Report, Verdict, read_manifest
    from autograder.report import as_dict
    from checks.support.session import MANIFEST

    source = Path(task.source)
    names = {path.name for path in source.iterdir()} if source.is_dir() else set()
    if "log" in os.environ.get("BATCH_WORK", ""):
        # one short write: whole, whoever else writes
        with open(os.environ["BATCH_WORK"], "a", encoding="utf-8") as log:
            log.write(f"{source.name} {','.join(task.checks)}\n")
    time.sleep(0.02 * random.random() + ("slow" in names) * 30 + ("pause" in names) * 0.3)
    if "kill-once" in names:
        (source / "kill-once").unlink()
    if names & {"kill", "kill-once"}:
        os.kill(os.getpid(), signal.SIGKILL)
    if "refuse" in names:
        return {"refused": "It is refused."}
    if "error" in names:
        return {"error": "Traceback ...\nValueError: a fault of the grader"}
    if "full" in names:
        return {"stop": "No space left on device."}
    manifest, outcomes = read_manifest(MANIFEST), {}
    for check in manifest.select(list(task.checks)):
        passed = hashlib.sha256(f"{task.digest} {task.seed} {check.id}".encode()).digest()[0] % 2
        verdict = Verdict.PASSED if passed else Verdict.WRONG_ANSWER
        said = "" if passed else "no"
        outcomes[check.id] = Outcome(check.id, verdict, check.points * passed, said)
    return {"report": as_dict(Report(manifest, outcomes, task.seed, ("bubblewrap", "")))}


class Here:
    """An engine that grades in this process; after `stop` submissions, somebody presses Ctrl-C."""

    def __init__(self, run=run, stop=None):
        self.run, self.stop, self.tasks = run, stop, []

    def __call__(self, tasks):
        for task in tasks:
            if self.stop is not None and len(self.tasks) >= self.stop:
                raise KeyboardInterrupt
            self.tasks.append(task)
            yield task, self.run(task)


def main() -> int:
    from checks.support.session import Setting
    from instructor import __main__ as program
    from instructor.grading import work

    work.run = run
    Setting.isolation = Setting.require_hidden = lambda *_: None  # nothing of a submission runs
    return program.main()


if __name__ == "__main__":
    import batch_work  # so that workers find `run` under this name

    sys.exit(batch_work.main())
