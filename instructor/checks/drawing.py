"""Registers the functions that draw a check's inputs.

    @draws(ATTENTION, "5c-7-basic", "5c-3-hidden")
    def large_scores(rng, large):
        return [{"Q": rng.standard_normal((5, 7)), ...}, ...]

Such a function draws a round with `rng`: a list of the inputs of calls, or of (inputs, remark). It
computes no answer: the reference does. `large` is true for hidden checks, which should have other
sizes than those that students see; a function that has no use for it leaves it out.

They are in instructor/checks/q*.py; see instructor/checks/solving.py for what becomes of them.
"""

import functools
import importlib
import inspect
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from checks.support.asked import Asked
from checks.support.rounds import Call

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Draw:
    """A function that draws inputs for a probe."""

    asked: Asked
    function: Callable

    def calls(self, rng: np.random.Generator, large: bool) -> list[Call]:
        """Draw calls, without replies."""
        drawn = self.function(
            rng,
            **({"large": large} if "large" in inspect.signature(self.function).parameters else {}),
        )
        pairs = [inputs if isinstance(inputs, tuple) else (inputs, "") for inputs in drawn]
        return [Call(self.asked.name, inputs, remark) for inputs, remark in pairs]


_DRAWS: dict[str, list[Draw]] = {}


def draws(asked: Asked, *ids: str) -> Callable:
    """Decorator: this function draws inputs of `asked` for the checks `ids`. A check that asks
    several probes has several functions, whose calls follow each other.
    """

    def register(function):
        if function.__module__.startswith(__package__):  # the judge imports these files, too
            for id in ids:
                _DRAWS.setdefault(id, []).append(Draw(asked, function))
        return function

    return register


@functools.cache
def all_draws() -> dict[str, list[Draw]]:
    """The functions of every check that has some, by its id."""
    for path in sorted(HERE.rglob("q*.py")):
        parts = path.relative_to(HERE).with_suffix("").parts
        importlib.import_module(".".join(("instructor", "checks", *parts)))
    return dict(sorted(_DRAWS.items()))


def draw_round(id: str, number: int, seed: int) -> list[Call]:
    """The calls of a check's round, without replies; the same for the same seed."""
    rng = np.random.default_rng([seed, number, zlib.crc32(id.encode())])
    large = id.endswith("hidden")
    return [call for draw in all_draws()[id] for call in draw.calls(rng, large)]
