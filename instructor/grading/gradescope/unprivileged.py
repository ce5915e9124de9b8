"""Grading without isolation: as an unprivileged user who can't read the hidden checks."""

import json
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from autograder.inside import sandbox
from autograder.report import harmless
from checks.support.staging import code_limit, result_limit, take_in
from common.files import UserError


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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        notices = take_in(
            source, Path(folder) / "submission", lambda name: code_limit(name) or result_limit(name)
        )
        user = sandbox.free_users(1)[0]
        answer = _in_fork(user, lambda: grade(Path(folder) / "submission"))
    if "refused" in answer:
        raise UserError(answer["refused"])
    answer["value"]["notices"] = [harmless(notice) for notice in notices] + answer["value"][
        "notices"
    ]
    return answer["value"]


def _in_fork(user, function):
    """What the function returns as that user, as {"value": ...}, or {"refused": message}."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(read_end)
            sandbox.become(user)
            try:
                answer = {"value": function()}
            except UserError as error:
                answer = {"refused": str(error)}
            with open(write_end, "w", encoding="utf-8") as stream:
                json.dump(answer, stream)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write_end)
    with open(read_end, encoding="utf-8") as stream:
        text = stream.read()
    os.waitpid(pid, 0)
    _end_all(user)
    try:
        return json.loads(text)
    except ValueError:
        raise RuntimeError("the grading process ended without an answer") from None


def _end_all(user):
    """SIGKILL for all processes of the user."""
    pid = os.fork()
    if pid == 0:
        try:
            sandbox.become(user)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
