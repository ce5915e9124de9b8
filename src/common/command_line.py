"""What the command lines share: how they read arguments and write, and the packages they need."""

import argparse
import difflib
import importlib.util
import math
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from common.files import UserError

VENV = Path(__file__).resolve().parents[2] / ".venv"


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors as UserErrors.

    Attributes:
        help_command: the command that lists the options, for the message.
    """

    help_command = "./run.sh help"

    def error(self, message):
        """Raise UserError instead of printing the usage and exiting."""
        raise UserError(
            f"{message[0].upper()}{message[1:]}. {self.help_command} lists the options."
        )


def did_you_mean(word: str, known: Iterable[str], otherwise: str) -> str:
    """The question "Did you mean ...?" with the known words (in lower case) that are most like a
    misspelled one, three at most, if there are any; and then `otherwise`.
    """
    likeness = {
        name: difflib.SequenceMatcher(None, name, word.lower(), autojunk=False).ratio()
        for name in known
    }
    least = max(0.5, max(likeness.values(), default=0) - 0.05)
    near = [name for name in likeness if likeness[name] >= least]
    near.sort(key=likeness.get, reverse=True)
    return f"Did you mean {' or '.join(near[:3])}? " * bool(near) + otherwise


def number(least: float, most: float = math.inf, kind: type = float) -> Callable[[str], float]:
    """An argument type: a finite number from `least` to `most`; kind: int for whole ones only."""

    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most or value == math.inf:
            limits = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(
                f"must be a {'whole ' * (kind is int)}number {limits}, not {text!r}"
            )
        return value

    return parse


seed = number(0, 2**63 - 1, int)  # what torch accepts as one


def require_packages(*names: str, install: str = "") -> None:
    """Check that packages are there, by the names under which they are imported.

    Args:
        install: the extra of pyproject.toml that has them, such as "[instructor]".

    Raises:
        UserError: some are missing; says how to get them.
    """
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return
    advice = "Activate the environment of ./run.sh first: source "
    if (VENV / "Scripts").is_dir():  # Windows
        activate = VENV / "Scripts" / "activate"
        advice += f"{shlex.quote(str(activate))} (in PowerShell: & '{activate}.ps1')"
    elif VENV.is_dir():
        advice += shlex.quote(str(VENV / "bin" / "activate"))
    else:
        project = shlex.quote(str(VENV.parent) + install)
        advice = f"Activate your environment, or install them: pip install -e {project}"
    raise UserError(
        f"The Python that runs this, {sys.executable}, lacks {', '.join(missing)}. {advice}"
    )


def use_utf8() -> None:
    """Have standard output and error write UTF-8, whatever the system's encoding, and ? for what
    cannot be written.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not in Jupyter
            stream.reconfigure(encoding="utf-8", errors="replace")
