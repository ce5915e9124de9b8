"""Defines a hostile submission."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autograder import Verdict
from hostile import prelude
from instructor.mistakes.patches import Fill

PRELUDE = Path(prelude.__file__).read_text(encoding="utf-8")
# Questions 1c and 1d (train) without a solution: points for them mean cheating.
STUB = (Fill("CharCorruptionDataset.__getitem__", 'raise NotImplementedError("1c: __getitem__")'),)

BLOCKED, CRASHED, EXCEPTION = Verdict.BLOCKED, Verdict.CRASHED, Verdict.EXCEPTION
MEMORY, MISSING, PASSED = Verdict.OUT_OF_MEMORY, Verdict.NOT_IMPLEMENTED, Verdict.PASSED
TIMEOUT, WRONG = Verdict.TIMEOUT, Verdict.WRONG_ANSWER
# The outcome of an attack that hits a wall and then answers nothing.
DENIED = {BLOCKED, EXCEPTION, MISSING}


@dataclass(frozen=True)
class Hostile:
    """A hostile submission: the reference with changes, and code that runs when it is imported.

    Args:
        name: short.
        tries: what it attempts, in a sentence.
        code: put at the beginning of `file`, after the prelude.
        checks: ids or questions to grade.
        points: the most that it may earn on them, for its honest part.
        changes: Edits and Fills of the reference.
        prepare: (folder, names of places), for links, results and the like.
        verdicts: the checks' allowed verdicts; empty for any but a grader error.
        seconds, memory: the limits of each check, instead of the manifest's.
        lasting: it might affect processes started later, so an honest submission is graded on a new
            one, too.
        everywhere: it reaches the sandbox, so it is tried at every isolation level; others at one.
        sandbox: only the sandbox stops it. Without one it succeeds, which shows that it is real;
            the others are stopped by the grader's design.
    """

    name: str
    tries: str
    code: str = ""
    file: str = "dataset.py"
    checks: tuple[str, ...] = ("1c-0-basic",)
    points: float = 0
    changes: tuple = STUB
    prepare: Callable | None = None
    verdicts: set = field(default_factory=set)
    seconds: float = 8
    memory: int | None = None
    lasting: bool = False
    everywhere: bool = True
    sandbox: bool = True


def family(**defaults):
    """Attacks that have much in common: their list, and a decorator that makes one of a function.

    The function's docstring says what it tries; its body is the attack's code, at the top of a
    module. Names that it takes from outside are prelude.py's.
    """
    attacks = []

    def attack(**options):
        def add(function):
            name = function.__name__.replace("_", "-")
            more = {**defaults, **options}
            attacks.append(Hostile(name, inspect.getdoc(function), _body(function), **more))
            return function

        return add

    return attacks, attack


def _body(function):
    """The lines of a function below its docstring."""
    lines = inspect.getsource(function).split("\n")
    docstring = ast.parse("\n".join(lines)).body[0].body[0]
    return textwrap.dedent("\n".join(lines[docstring.end_lineno :]))
