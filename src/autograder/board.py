"""Checks of one grading, shared among several judges, which are processes of one machine: each runs
what no other has taken. A judge may join at any time, and a check whose judge dies is free again.

A file per check, ID.json, in a folder that only judges can read: while it is locked, the check
runs; once it has content, that is the outcome.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from .verdicts import Outcome, Verdict

try:
    import fcntl
except ImportError:  # Windows: one judge
    fcntl = None


def can_share() -> bool:
    """Whether this system can lock files for it."""
    return fcntl is not None


class Place:
    """A check that this judge has taken; `outcome` is another judge's, if there is one already."""

    def __init__(self, file):
        self._file = file
        self.outcome = None
        with contextlib.suppress(ValueError, TypeError):  # empty, or its judge was killed meanwhile
            fields = json.loads(file.read())
            self.outcome = Outcome(**fields | {"verdict": Verdict(fields["verdict"])})

    def post(self, outcome: Outcome) -> None:
        """Let the other judges know the outcome; if the disk is full, one of them runs the check
        again.
        """
        with contextlib.suppress(OSError):
            self._file.truncate(0)
            self._file.seek(0)
            self._file.write(json.dumps(vars(outcome)).encode())


class Board:
    """A grading's checks.

    Args:
        folder: of the files.
        leads: whether this judge waits for the others, so that its report has all outcomes.
    """

    def __init__(self, folder: Path, leads: bool = True):
        self.folder = folder
        self.leads = leads

    @contextlib.contextmanager
    def take(self, id: str, wait: bool = False) -> Iterator[Place | None]:
        """Take a check: the context is a Place, or None if another judge is running it, or the
        grading is over.

        Args:
            id: the check's.
            wait: until nobody else is running it.
        """
        with contextlib.ExitStack() as stack:
            try:
                path = self.folder / f"{id}.json"
                file = stack.enter_context(
                    open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
                )
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except (BlockingIOError, FileNotFoundError):
                yield None
                return
            yield Place(file)
