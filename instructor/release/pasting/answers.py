"""Finds released functions that answer a question when called with the inputs of solved cases."""

import builtins
import contextlib
import importlib.util
import inspect
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

from autograder import Probe
from checks.support.cases import Case
from common.files import UserError
from instructor import ROOT
from instructor.release.pasting import released

from .calls import answers, clock, contains, give_up, views_of

# cases that a function must answer to count as a leak: a number may be right by chance
CONFIRMED = 3
BUDGET = 3.0  # seconds by clock() for all calls of a function: what takes longer plots or trains
MEMORY = 8 * 2**30  # bytes of address space: a call may ask for a huge array


def find_answering(src: Path, checks: Iterable[str] = ()) -> list[str]:
    """Call the functions of a release with the inputs of cases, in a separate process.

    Args:
        src: the folder src of a release.
        checks: the ids of the checks whose cases are tried; by default of all.

    Returns:
        A sentence for each function that answers. Functions that ran out of time are printed.

    Raises:
        UserError: the functions could not be called.
    """
    if not hasattr(signal, "SIGALRM"):
        raise UserError(
            "Calling the functions of a release needs Linux or macOS. Skip it with --no-proof."
        )
    with tempfile.TemporaryDirectory() as folder:
        # some functions make or remove files beside src
        copy = shutil.copytree(src, Path(folder) / "release" / "src")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "Agg",
        }
        process = subprocess.run(
            [
                sys.executable,
                "-m",
                "instructor.release.pasting.answers",
                str(copy),
                str(Path(folder) / "found.json"),
                *checks,
            ],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            found, partly = json.loads((Path(folder) / "found.json").read_text(encoding="utf-8"))
            if partly:
                print(f"  {len(partly)} functions, which take long, were called in part:")
                print(
                    textwrap.fill(
                        ", ".join(partly), 100, initial_indent="  ", subsequent_indent="  "
                    )
                )
            return found
        except (OSError, ValueError):
            raise UserError(
                f"The release's functions could not be called (exit code {process.returncode}): "
                "see above."
            ) from None


def answering(src: Path, checks: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """Like find_answering, in this process: the caller must stop what the functions leave running.

    Returns:
        The sentences, and the functions that were called in part.
    """
    import torch  # noqa: F401  not in a call that may be interrupted

    questions = [(id, cases, [*map(views_of, cases)]) for id, cases in _questions(checks)]
    _, planted, views = questions[0]
    if not answers(lambda *_: [planted[0].right], planted[:1], views[:1], clock() + BUDGET):
        raise RuntimeError("self-test: a function that returns the answer was not recognized")
    found, partly = [], []
    functions = tqdm(
        [*_functions(src)],
        desc="Calling functions",
        unit="function",
        file=sys.__stderr__,
        disable=None,
        leave=False,
    )
    for name, function in functions:
        deadline = clock() + BUDGET
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
            found += [
                f"{name} answers {id}: called with a case's inputs, it returns the right output."
                for id, cases, views in questions
                if answers(function, cases, views, deadline)
            ]
        if clock() > deadline:
            partly.append(name)
    return found, partly


def _questions(checks: Iterable[str]) -> Iterator[tuple[str, list[Case]]]:
    """Some solved cases of every check that has any, grouped by the function called: (what is
    asked, cases).
    """
    from instructor.checks.makers import all_makers

    makers = all_makers()
    for id, maker in ((id, makers[id]) for id in checks or makers):
        groups = {}
        for number in range(2 * CONFIRMED):
            for case in maker(np.random.default_rng([7, number])):
                if case.right is not None and not _trivial(case):
                    names = tuple(
                        value
                        for name, value in case.inputs.items()
                        if isinstance(value, str) and name != "dtype"
                    )
                    there = tuple(name for name, value in case.inputs.items() if value is not None)
                    groups.setdefault((names, there), []).append(case)
        for (names, _), cases in groups.items():
            if len(cases) >= CONFIRMED:
                yield " ".join((id, *names)), cases[:CONFIRMED]


def _trivial(case):
    """Whether the inputs contain the answer."""
    return any(contains(value, case.right) for value in case.inputs.values())


def _functions(src: Path) -> Iterator[tuple[str, Callable]]:
    """Every function, method and probe of the released files, with its location."""
    # it forks and sets limits on its process, so only its fingerprints are compared
    inside = src / "autograder" / "inside"
    for path in (path for path in released(src) if inside not in path.parents):
        name = ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__")
        spec = importlib.util.spec_from_file_location(name, path)
        # from this file, whatever else is on the path
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(name, module)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise RuntimeError(f"{path} cannot be imported: {error}") from error
        for label, value in _members(module):
            yield f"{path.relative_to(src.parent).as_posix()}: {label}", value


def _members(module) -> Iterator[tuple[str, Callable]]:
    for label, value in list(vars(module).items()):
        if isinstance(value, Probe):
            yield label, value.function
        elif inspect.isfunction(value) and value.__module__ == module.__name__:
            yield label, value
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            for name, method in vars(value).items():
                if isinstance(method, (staticmethod, classmethod)):
                    yield f"{label}.{name}", getattr(value, name)
                elif inspect.isfunction(method) and not name.startswith("__"):
                    yield f"{label}.{name}", _without_self(method)


def _without_self(method):
    """A method as a function, for methods that don't use self."""
    return lambda *arguments: method(None, *arguments)


def _disarm() -> Callable:
    """Keep the called functions from ending or harming this process, and from starting others;
    returns the real os._exit.
    """

    def open_path(file, *arguments, **options):
        return (
            give_up()
            if isinstance(file, (int, np.generic))
            else open_file(file, *arguments, **options)
        )

    end, open_file = os._exit, builtins.open
    names = {
        "_exit",
        "abort",
        "fork",
        "kill",
        "killpg",
        "execv",
        "execve",
        "setsid",
        "close",
        "closerange",
        "dup2",
    }
    for name in names & {*dir(os)}:
        setattr(os, name, give_up)
    builtins.open = io.open = open_path
    # a program would run on, and its start could not be tidied up without os.close
    subprocess.Popen.__init__ = give_up
    return end


if __name__ == "__main__":
    import resource  # not on Windows

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    end, found = _disarm(), answering(Path(sys.argv[1]), sys.argv[3:])
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")
    end(0)  # even if functions left threads running
