"""The makers of cases: the staff's code that draws a round of cases for a basic check.

    @makes("5c-0-basic")
    def plain(rng):
        return [formula_case(rng.standard_normal((5, 7)), ...)]

A maker whose answers could be looked up, since there are few of its sizes, takes `small=False`:
what is kept is drawn with small=True, and what staff draws has other sizes.

They lie in the files `cases.py` of the questions' folders. `python -m instructor cases` keeps
rounds of theirs for students; where staff grades, `Fresh` calls them anew.
"""

import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from checks.support.cases import Case

HERE = Path(__file__).resolve().parent
_MAKERS: dict[str, Callable[[np.random.Generator], list[Case]]] = {}


def makes(id: str) -> Callable:
    """Decorator: this function draws a round of cases, with a NumPy Generator, for the check
    `id`.
    """

    def register(function):
        _MAKERS[id] = function
        return function

    return register


def all_makers() -> dict[str, Callable[[np.random.Generator], list[Case]]]:
    """Every maker by the id of its check, in the order of the ids."""
    for path in sorted(HERE.rglob("cases.py")):
        importlib.import_module(
            ".".join(("instructor", "checks", *path.relative_to(HERE).with_suffix("").parts))
        )
    return dict(sorted(_MAKERS.items()))


class Fresh:
    """Cases drawn by the makers, others with every Generator. See `checks.support.cases.Released`,
    its other half.
    """

    def __init__(self):
        self.makers = all_makers()

    def draw(self, id: str, rng: np.random.Generator) -> list[Case]:
        """One round of the check `id`."""
        return self.makers[id](rng)
