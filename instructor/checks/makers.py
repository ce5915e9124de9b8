"""The makers of cases: staff code that draws a round of cases for a basic check.

    @makes("5c-0-basic") def plain(rng):
        return [formula_case(rng.standard_normal((5, 7)), ...)]

A maker with so few sizes that its answers could be looked up takes `small=False`: released cases
are drawn with small=True, and staff's have other sizes.

Makers are in the files of a question that say `@makes`. `python -m instructor solved-cases` writes
rounds for students; when staff grade, `Fresh` draws new ones.
"""

import importlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from checks.support.cases import Case

HERE = Path(__file__).resolve().parent
_MAKERS: dict[str, Callable[[np.random.Generator], list[Case]]] = {}


def makes(id: str) -> Callable:
    """Decorator for a function that draws a round of cases, with a NumPy Generator, for the check
    `id`.
    """

    def register(function):
        _MAKERS[id] = function
        return function

    return register


def all_makers() -> dict[str, Callable[[np.random.Generator], list[Case]]]:
    """Return every maker by its check's id, sorted by id."""
    for path in sorted(HERE.rglob("*.py")):
        if path != Path(__file__).resolve() and "\n@makes(" in path.read_text(encoding="utf-8"):
            parts = path.relative_to(HERE).with_suffix("").parts
            importlib.import_module(".".join(("instructor", "checks", *parts)))
    return dict(sorted(_MAKERS.items()))


class Fresh:
    """New cases, drawn by the makers with the given Generator. Counterpart of
    `checks.support.cases.Released`.
    """

    def __init__(self):
        self.makers = all_makers()

    def draw(self, id: str, rng: np.random.Generator) -> list[Case]:
        """Draw one round of the check `id`."""
        return self.makers[id](rng)
