"""Argument parsing shared by the command lines."""

import argparse
import difflib
import math
from collections.abc import Callable, Iterable

from common.files import UserError


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
    misspelled one, three at most; `otherwise` if none is like it.
    """
    likeness = {
        name: difflib.SequenceMatcher(None, name, word.lower(), autojunk=False).ratio()
        for name in known
    }
    least = max(0.5, max(likeness.values(), default=0) - 0.05)
    near = [name for name in likeness if likeness[name] >= least]
    near.sort(key=likeness.get, reverse=True)
    return f"Did you mean {' or '.join(near[:3])}?" if near else otherwise


def seed(text: str) -> int:
    """Argument type: a seed, a whole number that torch accepts."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(
            f"a seed is a whole number from 0 to {2**63 - 1}, not {text!r}"
        )
    return int(text)


def number(least: float, most: float = math.inf, kind: type = float) -> Callable[[str], float]:
    """An argument type: a finite number from `least` to `most`."""

    def number(text):
        value = kind(text)
        if not (math.isfinite(value) and least <= value <= most):
            raise argparse.ArgumentTypeError(
                f"{text} must be "
                f"{f'from {least} to {most:g}' if math.isfinite(most) else f'at least {least}'}"
            )
        return value

    number.__name__ = "number"
    return number
