"""Processes that tests start: which are there, and waiting for them. Linux only."""

import contextlib
import time
from pathlib import Path

from autograder.inside.watch import descendants

__all__ = ["command_of", "descendants", "is_running", "wait_until"]


def command_of(pid):
    """The command line of a process; "" if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    return ""


def is_running(pid):
    """Whether a process is there, and no zombie."""
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(condition, seconds=60):
    """Wait until a function returns something true; fail after that time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)
