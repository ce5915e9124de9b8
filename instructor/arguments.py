"""Types of arguments that commands share."""
import argparse
import math
from collections.abc import Callable


def number(least: float, most: float = math.inf, kind: type = float) -> Callable[[str], float]:
    """A type of arguments: a finite number from `least` to `most`."""
    def number(text):
        value = kind(text)
        if not (math.isfinite(value) and least <= value <= most):
            raise argparse.ArgumentTypeError(f"{text} should be {f'from {least} to {most:g}' if math.isfinite(most) else f'at least {least}'}")
        return value
    number.__name__ = "number"
    return number
