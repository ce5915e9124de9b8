"""What a worker does, in any process on any machine: grade one submission."""

import atexit
import errno
import functools
import os
import re
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path

from autograder import read_manifest
from autograder.report import as_dict, harmless
from checks.support.session import MANIFEST, GradingWorker, Setting, grade_submission
from checks.support.staging import NotTaken
from common.files import DISK_IS_FULL, UserError

from .fingerprint import digest_submission

# grading changes its process's working directory: one submission at a time, whatever the threads
ONE = threading.Lock()


@dataclass(frozen=True)
class Task:
    """One submission to grade. source is its path, checks are the ids of those to run; with apart
    it gets a fresh process of its own.
    """

    digest: str
    source: str
    checks: tuple[str, ...]
    seed: int
    setting: Setting
    apart: bool = False


def run(task: Task) -> dict:
    """Grade a submission.

    Returns:
        {"report": as_dict(...)}, {"refused": why} for a submission that cannot be graded, {"error":
        text} for a fault of the grader, or {"stop": why} if no other submission could be graded
        either.
    """
    try:
        manifest = read_manifest(MANIFEST).only(task.setting.problems)
        with ONE:
            report = grade_submission(
                Path(task.source),
                manifest.select(list(task.checks)),
                task.setting,
                task.seed,
                manifest,
                worker=None if task.apart else worker_for(task.setting),
            )
        return _if_unchanged(task, {"report": as_dict(report)})
    except NotTaken as error:
        return _if_unchanged(task, {"refused": _without_name(str(error), Path(task.source).name)})
    except UserError as error:
        return {"stop": str(error)}
    except OSError as error:
        if error.errno in {*DISK_IS_FULL, errno.EMFILE, errno.ENFILE, errno.EROFS}:
            return {
                "stop": f"{os.strerror(error.errno)}, for temporary files on the grading machine."
            }
        return {"error": traceback.format_exc()}
    except Exception:
        return {"error": traceback.format_exc()}


def _without_name(text, name):
    """A refusal without the submission's name: equal ones are graded once, and one person's page
    must not name another.
    """
    name = re.escape(harmless(name))
    return re.sub(
        rf"\bNothing of {name} was", "Nothing of it was", re.sub(rf"\A{name}(?!\S)", "It", text)
    ).replace(" Check --submission.", "")


def _if_unchanged(task, result):
    """The result, or an error if the submission has changed meanwhile."""
    try:
        same = digest_submission(Path(task.source)) == task.digest
    except OSError:
        same = False
    return (
        result if same else {"error": "The submission was changed or removed while it was graded."}
    )


@functools.lru_cache(maxsize=1)
def worker_for(setting: Setting) -> GradingWorker:
    """The worker of this process, which grades one submission after the other."""
    worker = GradingWorker(setting)
    atexit.register(worker.close)
    return worker
