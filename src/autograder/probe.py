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

    Only its source is sent, so it must import what it needs itself, and may use no global names but
    those of the probes in `uses`, whose sources are sent along. Its arguments and its result are
    data (see wire.py): None, booleans, numbers, strings, lists, tuples, dicts, NumPy arrays; in the
    result also torch tensors. The submission can read a probe, so nothing in it may give away an
    expected value or a tolerance.
    """
    if function is None:
        return lambda function: probe(function, uses=uses)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    tree.body[0].decorator_list = []
    source = "\n\n".join([*(used.source for used in uses), ast.unparse(tree)])
    return Probe(function.__name__, source, function)
