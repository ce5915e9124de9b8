"""Grading without isolation: as an unprivileged user who can't read the hidden checks."""

import json
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from autograder.inside import sandbox
from autograder.report import harmless
from checks.support.staging import limit_of, take_in
from common.files import UserError

FORK = multiprocessing.get_context("fork")  # which keeps what was read before it was locked away


def grade_as_nobody(source: Path, secrets: list[Path], grade: Callable[[Path], dict]) -> dict:
    """Call `grade` with a copy of the submission, in a process that runs as a user without other
    processes; what that user still runs afterwards is killed.

    The submission then runs as that user, too: it can disturb its own grading, but neither read the
    secrets nor write the results.

    Args:
        source: the submission, a folder or a zip.
        secrets: files and folders that only root may read from now on.
        grade: gets the copy; returns plain data.

    Raises:
        UserError: the submission is refused.
        RuntimeError: the process ended without an answer.
    """
    for path in secrets:
        path.chmod(0o700)
    user = sandbox.free_users(1)[0]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        copy = Path(folder) / "submission"
        notices = take_in(source, copy, limit_of)
        receiver, sender = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_answer, args=(user, grade, copy, sender))
        process.start()
        sender.close()
        try:  # bytes, which are not unpickled: the submission may have written them
            answer = json.loads(receiver.recv_bytes())
        except (EOFError, OSError, ValueError):
            raise RuntimeError("the grading process ended without an answer") from None
        finally:
            process.join()
            ending = FORK.Process(target=_end_all, args=(user,))
            ending.start()
            ending.join()
    if "refused" in answer:
        raise UserError(answer["refused"])
    answer["notices"] = [*map(harmless, notices), *answer["notices"]]
    return answer


def _answer(user, grade, copy, sender):
    """Send what `grade` returns as that user, or {"refused": message}."""
    sandbox.become(user)
    try:
        answer = grade(copy)
    except UserError as error:
        answer = {"refused": str(error)}
    sender.send_bytes(json.dumps(answer).encode())


def _end_all(user):
    """End all processes of the user, but for this one."""
    sandbox.become(user)
    os.kill(-1, signal.SIGKILL)
