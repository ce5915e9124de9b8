"""No released file shares a solution's code, and no released function answers a question."""

import contextlib
import functools
import importlib
import inspect
import itertools
import math
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
from autograder.inside import wire
from checks.support.rounds import Rounds
from helpers import ROOT
from instructor.checks.drawing import all_draws
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


TRIED, FEWEST = 12, 3  # inputs of each question, and different replies: fewer may be chance
SECONDS, MOST = 1, 3  # CPU time of a call, and of a function: what takes longer trains or plots
TIMERS = (  # a busy machine changes nothing, and what only waits ends, too
    (signal.SIGPROF, signal.ITIMER_PROF, SECONDS),
    (signal.SIGALRM, signal.ITIMER_REAL, 60),
)
BASIC = tuple(id for id in all_draws() if id.endswith("basic"))


@pytest.mark.full
@pytest.mark.longest
def test_no_released_function_answers_a_question(tmp_path):
    paths = (path.relative_to(ROOT / "src").with_suffix("") for path in released(ROOT / "src"))
    modules = [".".join(path.parts) for path in paths if path.parts[0] in ("jobs", "checks")]
    questions(BASIC)  # read once, before processes fork
    found, settings = [], (1, multiprocessing.get_context("fork"), confine, [tmp_path])
    for module in modules:
        for name in functions(importlib.import_module(module)):
            # a process of its own: it may end it, or forbid what the others call
            with contextlib.suppress(Exception), ProcessPoolExecutor(*settings) as process:
                found += process.submit(answered, module, name, BASIC).result()
    assert found == []


ANSWERING = (
    ("problem5.numpy_attention", "attention", "5c-0-basic"),
    ("problem6.positions", "sinusoidal", "6c-4-basic"),
    ("attention", "precompute_rotary_emb", "1h-2-basic"),
)


@pytest.mark.filterwarnings("ignore")
def test_functions_of_the_reference_that_answer_are_found():
    for module, name, id in ANSWERING:
        assert answered(f"instructor.solution.{module}", name, (id,), most=math.inf)


def confine(folder):
    """What is computed in one step cannot be interrupted, so the system ends it."""
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_CPU, (3 * MOST, 3 * MOST))
    resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))


def answered(module, name, ids, most=MOST):
    function, until = functions(importlib.import_module(module))[name], time.process_time() + most
    found = []
    for (id, *_), calls in questions(ids).items():
        for way, convert in itertools.product(range(6), (deepcopy, as_tensors)):
            given = ((map(convert, ways(inputs)[way]), right) for inputs, right in calls)
            if all(
                time.process_time() < until and holds(called(function, arguments), right)
                for arguments, right in given
            ):
                found.append(f"{module}.{name} answers {id}")
    return found


@functools.cache
def questions(ids):
    """Inputs and the right part of a reply, by what is asked; but for parts that inputs have."""
    found, rounds = {}, [(id, round) for id in ids for round in Rounds().rounds(id)]
    for id, call in ((id, call) for id, round in rounds for call in round):
        inputs = {name: value for name, value in call.inputs.items() if value is not None}
        for part, right in (call.right or {}).items():
            key = id, call.asked, inputs.get("function"), tuple(inputs), part
            if part != "arguments" and not holds(call.inputs, right):
                found.setdefault(key, []).append((inputs, right))
    found = {key: calls[:TRIED] for key, calls in found.items()}
    return {key: calls for key, calls in found.items() if len(replies(calls)) >= FEWEST}


def replies(calls):
    return {repr(round(right, 6) if isinstance(right, float) else right) for _, right in calls}


def functions(module):
    """Its functions, methods (of nothing) and probes, by name."""
    named = {**vars(module)}
    for name, value in vars(module).items():
        if inspect.isclass(value):
            named |= {f"{name}.{inner}": method for inner, method in vars(value).items()}
    plain = {name: getattr(value, "__func__", value) for name, value in named.items()}
    plain |= {name: value.function for name, value in named.items() if isinstance(value, Probe)}
    own = {name for name in named if "." in name and not isinstance(named[name], staticmethod)}
    return {
        name: functools.partial(value, None) if name in own else value
        for name, value in plain.items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    }


def ways(inputs):
    """All; arrays, then numbers; what is in lists or dicts of them."""
    whole = [*inputs.values()]
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
    for number, timer, seconds in TIMERS:
        signal.signal(number, signal.default_int_handler)
        signal.setitimer(timer, seconds)
    try:
        return function(*arguments)
    except BaseException:  # what a function that was not made for these inputs may raise
        return None
    finally:
        for _, timer, _ in TIMERS:
            signal.setitimer(timer, 0)


def holds(value, right):
    """Whether a value, or an item of it, is the right one."""
    inner = value.values() if isinstance(value, dict) else value
    items = [value, *(inner if isinstance(value, (dict, list, tuple)) else ())]
    return any(equal(item, right) for item in items)


def equal(value, right):
    if isinstance(right, dict):
        same = type(value) is dict and value.keys() == right.keys()
        return same and all(equal(value[key], right[key]) for key in right)
    if isinstance(right, (list, tuple)):
        same = type(value) is type(right) and len(value) == len(right)
        return same and all(map(equal, value, right))
    right = right.data if isinstance(right, wire.Array) else right
    with contextlib.suppress(Exception):
        if not isinstance(right, (np.ndarray, float)):
            return type(value) is type(right) and value == right
        value = np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)
        return value.shape == np.shape(right) and np.allclose(value, right, 1e-4, 1e-5)
