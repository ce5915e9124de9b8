"""A student's shell in the folder of a release, for its smoke test."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


class Failed(Exception):
    """A step of the smoke test failed; the message is its output."""


@dataclass(frozen=True)
class Command:
    """A command of the README, the folder to run it in, and the exit code and output that the
    starter should give.
    """

    line: str
    code: int
    prints: str
    folder: str = "."


class Student:
    """A student's shell: the release's folder, and no variables but PATH, HOME, LANG and the number
    of threads.

    Args:
        tree: the unpacked release.
        home: the home folder, which is created.
    """

    def __init__(self, tree: Path, home: Path):
        home.mkdir()
        self.tree = tree
        self.environment = {
            "PATH": os.pathsep.join(
                (os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath))
            ),
            "HOME": str(home),
            "LANG": "C.UTF-8",
        }
        if threads := os.environ.get("OMP_NUM_THREADS"):  # for a shared machine
            self.environment["OMP_NUM_THREADS"] = threads

    def type(self, command: Command, show: bool = False) -> None:
        """Run a command.

        Args:
            command: the command, its folder and the expected result.
            show: show its output while it runs, progress bars included.

        Raises:
            Failed: the result is not the expected one.
        """
        process = subprocess.run(
            ["bash", "-c", command.line],
            cwd=self.tree / command.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=None if show else subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output = (process.stdout or b"").decode("utf-8", errors="replace")
        if process.returncode != command.code or command.prints not in output:
            expected = f"exit code {command.code}" + (
                f" and to print '{command.prints}'" if command.prints else ""
            )
            raise Failed(
                f"{output[-4000:]}\n$ {command.line}\n"
                f"ended with exit code {process.returncode}. Expected: {expected}. Its output is "
                "above."
            )
