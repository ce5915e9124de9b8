"""What the command lines have in common."""

import argparse
import math
from collections.abc import Callable

from common.files import UserError


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are UserErrors."""

    def error(self, message):
        """Raise UserError instead of printing a usage text and exiting."""
        raise UserError(f"{message[0].upper()}{message[1:]}. ./run.sh help lists the options.")


def seed(text: str) -> int:
    """A seed: a whole number that torch takes."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(
            f"a seed is a whole number from 0 to {2**63 - 1}, not {text!r}"
        )
    return int(text)


def number(least: float, most: float = math.inf, kind: type = float) -> Callable[[str], float]:
    """A type of arguments: a finite number from `least` to `most`."""

    def number(text):
        value = kind(text)
        if not (math.isfinite(value) and least <= value <= most):
            raise argparse.ArgumentTypeError(
                f"{text} should be "
                f"{f'from {least} to {most:g}' if math.isfinite(most) else f'at least {least}'}"
            )
        return value

    number.__name__ = "number"
    return number
