"""Nothing that students get could be pasted to earn points: no released file shares a solution's
code, and no function of the jobs and the checks answers a question.
"""

import contextlib
import functools
import importlib
import inspect
import itertools
import multiprocessing
import os
import re
import resource
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from copy import deepcopy

import numpy as np
import pytest
import torch

from autograder import Probe
from checks.support.cases import Case, Released, same
from checks.support.rounds import Rounds
from conftest import ROOT
from instructor.checks.drawing import all_draws
from instructor.checks.makers import all_makers
from instructor.release.pasting import TELLING, find_repeated, released, telling
from instructor.release.starter import SOLUTION, bodies

REPEATED = {f"{place.function} {place.question}": body for place, body in bodies(SOLUTION)}


def test_nothing_released_repeats_a_solution():
    assert find_repeated(ROOT / "src") == []


@pytest.mark.parametrize("name", REPEATED)
def test_a_pasted_solution_is_found(tmp_path, name):
    """With other names, and without comments; what is too short to tell says so."""
    body = re.sub(r"#.*", "", REPEATED[name])
    for word in sorted(set(re.findall(r"\b[a-z]\w*(?= = )", body))):
        body = re.sub(rf"(?<!\.)\b{word}\b", f"{word}_", body)
    text = f"def f(self):\n    if self:\n{body}\n"
    (tmp_path / "jobs.py").write_text(text, encoding="utf-8")
    found = find_repeated(tmp_path)
    if telling(REPEATED[name]) >= TELLING:
        assert found, name
    else:
        assert len(re.sub(r"\s", "", body)) < 160, "a solution as long as this one should be found"


# Calls of released functions with the inputs of solved cases

TRIED = 12  # inputs of each question, all of which a function must answer
FEWEST = 3  # a number may be right by chance
SECONDS, MOST = 1, 3  # for a call, and for a function: what takes longer trains or plots


@pytest.mark.full
@pytest.mark.longest
def test_no_released_function_answers_a_question(tmp_path):
    paths = (path.relative_to(ROOT / "src").with_suffix("") for path in released(ROOT / "src"))
    modules = [".".join(path.parts) for path in paths if path.parts[0] in ("jobs", "checks")]
    questions(tuple(all_makers()))  # read once, before processes fork
    found, context = [], multiprocessing.get_context("fork")
    for module in modules:
        for name in functions(importlib.import_module(module)):
            # a process of its own: it may end it, or forbid what the others call
            with (
                contextlib.suppress(Exception),
                ProcessPoolExecutor(1, context, confine, [tmp_path]) as process,
            ):
                found += process.submit(answered, module, name, tuple(all_makers())).result()
    assert found == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, id",
    [
        ("fixes.top_k_filter", "6e-4-basic"),
        ("fixes.no_repeat_ngrams", "6e-5-basic"),
        ("positions.alibi_bias", "6c-7-basic"),
    ],
)
def test_functions_that_answer_are_found(name, id):
    """Those of the solution."""
    module, name = name.split(".")
    questions((id,))  # read before the time counts
    assert answered(f"instructor.solution.problem6.{module}", name, (id,))


def confine(folder):
    """What is computed in one step cannot be interrupted, so the system ends it."""
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (3 * MOST, 3 * MOST))
    resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))


def answered(module, name, ids):
    """A sentence for each question of these checks that a function answers."""
    function, until = (functions(importlib.import_module(module))[name], time.monotonic() + MOST)
    return [
        f"{module}.{name} answers {id}"
        for (id, *_), cases in questions(ids).items()
        if answers(function, cases, until)
    ]


@functools.cache
def questions(ids):
    """Cases of each check, by the function that it calls and the inputs that there are, but for
    those whose inputs have the answer.
    """
    found = {}
    for id in ids:
        for case in cases_of(id):
            given = tuple(name for name, value in case.inputs.items() if value is not None)
            cases = found.setdefault((id, case.inputs.get("function"), given), [])
            trivial = any(holds(value, case.right) for value in case.inputs.values())
            if case.right is not None and not trivial and len(cases) < TRIED:
                cases.append(case)
    return {key: cases for key, cases in found.items() if len(cases) >= FEWEST}


def cases_of(id):
    """The released cases of a check, and its calls with the reference's replies."""
    for call in itertools.chain(*Rounds().rounds(id)) if id in all_draws() else ():
        right = {key: getattr(value, "data", value) for key, value in (call.right or {}).items()}
        right = {key: value for key, value in right.items() if not isinstance(value, bool)}
        yield Case(call.inputs, right or None)
    if id in all_makers():
        yield from itertools.chain(*Released().rounds(id))


def functions(module):
    """The functions, methods and probes of a module, by name."""
    found = {}
    for name, value in vars(module).items():
        if isinstance(value, Probe):
            found[name] = value.function
        elif getattr(value, "__module__", "") != module.__name__:
            continue
        elif inspect.isfunction(value):
            found[name] = value
        elif inspect.isclass(value):
            for inner, kept in vars(value).items():
                method = getattr(value, inner)
                if inspect.isroutine(method) and not inner.startswith("__"):
                    plain = isinstance(kept, (staticmethod, classmethod))
                    found[f"{name}.{inner}"] = method if plain else functools.partial(method, None)
    return found


def answers(function, cases, until):
    """Whether one way to pass the inputs gives the right answers."""
    for way in range(len(ways(cases[0]))):
        for convert in (deepcopy, as_tensors):
            calls = (([convert(value) for value in ways(case)[way]], case) for case in cases)
            if all(
                time.monotonic() < until and holds(called(function, given), case.right)
                for given, case in calls
            ):
                return True
    return False


def ways(case):
    """Lists of arguments that a call may have: all inputs; arrays, then numbers; what is in lists
    or dicts of them.
    """
    whole = [value for value in case.inputs.values() if value is not None]
    arrays = [value for value in whole if isinstance(value, (np.ndarray, dict))]
    numbers = [value for value in whole if type(value) in (int, float)]
    lists = [value for value in whole if isinstance(value, (list, tuple))]
    inner = [item for value in lists for item in value]
    return whole, arrays, arrays + numbers, inner, arrays + inner, arrays + lists


def as_tensors(value):
    if isinstance(value, dict):
        return {key: as_tensors(item) for key, item in value.items()}
    return torch.tensor(value) if isinstance(value, np.ndarray) else deepcopy(value)


def called(function, arguments):
    """What a call returns, or None if it fails or takes too long."""

    def ring(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return function(*arguments)
    except BaseException:  # what a function that was not made for these inputs may raise
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def holds(value, right):
    """Whether a value, or an item of it, is the right answer, or an array of it."""
    parts = right.values() if isinstance(right, dict) else [right]
    parts = [part for part in parts if type(part) in (int, float) or np.size(part) > 1]
    parts = [part for part in parts if isinstance(part, (int, float, np.ndarray))]
    inner = value.values() if isinstance(value, dict) else value
    items = [value, *(inner if isinstance(value, (dict, list, tuple)) else ())]
    return any(equal(item, part) for item in items for part in (right, *parts))


def equal(value, right):
    if isinstance(right, np.ndarray):
        with contextlib.suppress(Exception):
            value = np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)
            return value.shape == right.shape and np.allclose(value, right, 1e-4, 1e-5)
        return False
    return not isinstance(value, np.ndarray) and same(value, right)
