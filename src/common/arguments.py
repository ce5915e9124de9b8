"""Argument parsing shared by the command lines."""

import argparse
import math
from collections.abc import Callable

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
