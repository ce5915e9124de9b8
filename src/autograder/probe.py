"""Probes: the half of a check that runs in the student's process."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """A function whose source is sent to the student's process. See `probe`."""

    name: str
    source: str
    function: Callable


def probe(function: Callable | None = None, *, uses: tuple[Probe, ...] = ()) -> Probe:
    """Decorator: make a function a probe.

    Its source alone is sent over, so it must import what it needs itself, and use no global name
    but those of the probes in `uses`, whose sources go along. Its arguments and its result are data
    (see wire.py): None, booleans, numbers, strings, lists, tuples, dicts, NumPy arrays; torch
    tensors too in the result. Nothing that gives away an expected value or a tolerance belongs into
    a probe: the submission can read it.
    """
    if function is None:
        return lambda function: probe(function, uses=uses)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []
    source = "\n\n".join([*(used.source for used in uses), ast.unparse(tree)])
    return Probe(function.__name__, source, function)
