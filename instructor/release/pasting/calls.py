"""Calls a function with a case's inputs in every plausible way, and looks for the answer."""

import contextlib
import copy
import inspect
import itertools
import signal
import time
from collections.abc import Callable, Iterator

import numpy as np

from checks.support.cases import Case, same

LEADING = 3  # inputs whose order is varied
PATIENCE = 1.0  # CPU seconds for a call; WAITING times as many by the clock
WAITING = 4


def answers(
    function: Callable, cases: list[Case], views: list[list[list]], deadline: float
) -> bool:
    """Whether one way to pass the inputs makes the function return the answer in every case.

    Args:
        cases: solved cases of one question.
        views: for each of them what views_of returns.
        deadline: of clock(), in seconds; after it, False.
    """
    least, most = _arity(function)
    before = {name: signal.signal(name, _ring) for name in (signal.SIGALRM, signal.SIGPROF)}
    try:
        for number, places in _ways(views[0], least, most):
            if clock() > deadline:
                return False
            arrays = any(
                isinstance(views[0][number][place], (np.ndarray, dict)) for place in places
            )
            for convert in (_copy, _as_tensor)[: 1 + arrays]:
                if all(
                    contains(
                        _call(function, [convert(of[number][place]) for place in places]),
                        case.right,
                    )
                    for case, of in zip(cases, views, strict=True)
                ):
                    return True
        return False
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _ways(views: list[list], least: int, most: int) -> Iterator[tuple[int, list[int]]]:
    """Ways to choose from `least` to `most` positional arguments: (which view, its places)."""
    ids = [[*map(id, view)] for view in views]
    for number, view in enumerate(ids):
        if view in ids[:number]:
            continue
        for count in range(max(1, least), min(most, len(view)) + 1):
            for order in itertools.permutations(
                range(min(LEADING, len(view))), min(count, LEADING)
            ):
                places = [*order, *range(LEADING, count)]
                if len(places) == count:
                    yield number, places


def views_of(case: Case) -> list[list]:
    """A case's inputs as lists of arguments that calls might be made of.

    All of them; the list or dict of arguments among them; the arrays alone; these and then the
    numbers, or one of them; the same with dicts and lists taken apart.
    """
    whole = [value for value in case.inputs.values() if value is not None]
    inner = [value for value in whole if isinstance(value, (dict, list, tuple)) and value][:1]
    views = [
        whole,
        *([*value.values()] if isinstance(value, dict) else [*value] for value in inner),
    ]
    arrays = [value for value in whole if isinstance(value, (np.ndarray, dict))]
    numbers = [
        value for value in whole if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    plain = [value for value in arrays if isinstance(value, np.ndarray)]
    listed = [item for value in whole if isinstance(value, (list, tuple)) for item in value]
    weights = [item for value in arrays if isinstance(value, dict) for item in value.values()]
    ends = [[], numbers, *([number] for number in numbers[:4])]
    views += [
        *([*arrays, *end] for end in ends),
        *([*plain, *weights, *end] for end in ends),
        [*plain, *listed],
    ]
    return views


def _arity(function) -> tuple[int, int]:
    """How many positional arguments a function needs, and takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1, 0
    if any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters):
        return 1, 0
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 1, 8
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in positional), len(positional)


def _copy(value):
    """A copy, so that no call changes the next one's inputs. (Deep copies of arrays would take a
    quarter longer in all.)
    """
    return (
        value.copy()
        if isinstance(value, np.ndarray)
        else copy.deepcopy(value)
        if isinstance(value, (list, dict))
        else value
    )


def _as_tensor(value):
    """Like _copy, with arrays as tensors."""
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, dict):
        return {key: _as_tensor(item) for key, item in value.items()}
    return _copy(value)


class TooLate(BaseException):
    """A call takes too long, or does something forbidden."""


def give_up(*_, **__):
    """End the current call, whatever the arguments.

    Raises:
        TooLate: always.
    """
    raise TooLate


_calls = []  # the function that is being called


def _ring(*_):
    """The handler of both timers. One may ring when a call has ended: the other did, or it was
    about to.
    """
    if _calls:
        give_up()


def clock() -> float:
    """Seconds that count against a deadline: those that this process computes, so that a busy
    machine doesn't cut a search short, and a part of all others, for functions that only wait.
    """
    return time.process_time() + time.monotonic() / WAITING


def _call(function, arguments):
    """What a call returns; None if it raises or takes too long."""
    with contextlib.suppress(BaseException):
        try:
            _calls.append(function)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            signal.setitimer(signal.ITIMER_REAL, WAITING * PATIENCE)
            returned = function(*arguments)
            return (
                list(itertools.islice(returned, 20)) if inspect.isgenerator(returned) else returned
            )
        finally:
            _calls.clear()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def contains(value: object, right: object, depth: int = 4) -> bool:
    """Whether `value`, or a part of it down to `depth` containers, is `right` or a telling part of
    it.
    """
    if value is None:
        return False
    with contextlib.suppress(BaseException):  # returned objects may raise anything
        return _holds(value, right, depth)
    return False


def _holds(value, right, depth):
    if isinstance(right, dict):
        return any(_holds(value, part, depth) for part in right.values() if _is_telling(part))
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if _equal(value, right):
        return True
    if depth and isinstance(value, dict):
        return any(_holds(item, right, depth - 1) for item in value.values())
    if depth and isinstance(value, (list, tuple)):
        return any(_holds(item, right, depth - 1) for item in value[:20])
    if depth and hasattr(value, "__dict__") and not inspect.isclass(value) and not callable(value):
        return any(_holds(item, right, depth - 1) for item in vars(value).values())
    return False


def _is_telling(part):
    return (
        any(map(_is_telling, part))
        if isinstance(part, list)
        else isinstance(part, np.ndarray) and part.size > 1
    )


def _equal(value, right) -> bool:
    with contextlib.suppress(Exception):
        if isinstance(right, list) and any(map(_is_telling, right)):
            return len(value) == len(right) and all(map(_equal, value, right))
        if isinstance(right, np.ndarray):
            if isinstance(value, dict):  # of dicts of numbers
                value = np.array(
                    [
                        list(part.values()) if isinstance(part, dict) else part
                        for part in value.values()
                    ]
                )
            value = np.asarray(value)
            return value.shape == right.shape and bool(
                np.allclose(value, right, rtol=1e-4, atol=1e-5)
            )
        return not isinstance(value, np.ndarray) and same(value, right)
    return False
