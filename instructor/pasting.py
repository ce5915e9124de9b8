"""What could be pasted from a release: functions that answer a case, and code that a solution shares.

A reader who does not think, and only pastes from the released files with mechanical edits, must earn nothing by it. The
scan of `leaks` finds a solution's lines; this finds its work: (a) every function outside src/submission is called with the
inputs of solved cases, as arrays and as tensors, in any order of the leading ones, and must not return the answer; (b) no
piece of a solution shares fingerprints with a released file, beyond what the starter has.
"""

import builtins
import contextlib
import functools
import importlib.util
import inspect
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from autograder import Probe
from checks.support.cases import Case, same
from files import UserError
from tqdm import tqdm

from .starter import SOLUTION, STARTER, bodies

ROOT = Path(__file__).resolve().parents[1]
CONFIRMED = 3  # cases that a function must answer before it is called a leak: a number may be right by chance
LEADING = 3  # inputs whose order is tried out
PATIENCE = 1.0  # seconds for a call,
BUDGET = 3.0  # and for all calls of a function: what takes longer draws a plot or trains
MEMORY = 8 * 2**30  # bytes of address space: some function will be asked for an array of any size
NOISE = 25  # characters, names counted as one: shorter agreements are chance
SHARE, MUCH = 0.75, 120  # of a piece of a solution, or so many characters of it: found in a released file, it is a leak
TELLING = 45  # characters of a piece beyond the starter's: with fewer, agreement is chance


def released(src: Path) -> list[Path]:
    """The Python files of a release that students do not write themselves."""
    own = {src / "submission", src / "checks" / "given"}
    return [path for path in sorted(src.rglob("*.py")) if not own & {*path.parents}]


# (a) Functions that answer


def find_answering(src: Path, checks: Iterable[str] = ()) -> list[str]:
    """Call the functions of a release with the inputs of cases, in a process of its own.

    Args:
        src: the folder src of a release.
        checks: the ids of the checks whose cases are tried; by default of all.

    Returns:
        A sentence for each function that answers. Those that could not be tried in full, for their time, are printed.

    Raises:
        UserError: the functions could not be tried out.
    """
    if not hasattr(signal, "SIGALRM"):
        raise UserError("Trying out the functions of a release needs Linux or macOS, or leave it out with --no-proof.")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
                       "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
        process = subprocess.run([sys.executable, "-m", "instructor.pasting", str(src), str(Path(folder) / "found.json"), *checks],
                                 cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            found, partly = json.loads((Path(folder) / "found.json").read_text(encoding="utf-8"))
            if partly:
                print(f"  Tried in part, since they take long: {', '.join(partly)}")
            return found
        except (OSError, ValueError):
            raise UserError(f"The release's functions could not be tried out (exit code {process.returncode}): see above.") from None


def answering(src: Path, checks: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """As find_answering, in this process, which calls everything: what it leaves running must be ended.

    Returns:
        The sentences, and the functions that were tried in part.
    """
    import torch  # noqa: F401  before a call that is interrupted does
    questions = [(id, cases, [*map(_views, cases)]) for id, cases in _questions(checks)]
    _, planted, views = questions[0]
    if not _answers(lambda *_: [planted[0].right], planted[:1], views[:1], time.monotonic() + BUDGET):
        raise RuntimeError("a function that returns the answer was not found")
    found, partly = [], []
    functions = tqdm([*_functions(src)], desc="Calling functions", unit="function", file=sys.__stderr__, disable=None, leave=False)
    for name, function in functions:
        deadline = time.monotonic() + BUDGET
        with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
            found += [f"{name} answers {id}: called with a case's inputs, it returns what is right." for id, cases, views in questions
                      if _answers(function, cases, views, deadline)]
        if time.monotonic() > deadline:
            partly.append(name)
    return found, partly


def _questions(checks: Iterable[str]) -> Iterator[tuple[str, list[Case]]]:
    """Some solved cases of every check that has any, apart for each function that it calls: (what is asked, cases)."""
    from .checks.makers import all_makers
    makers = all_makers()
    for id, maker in ((id, makers[id]) for id in checks or makers):
        groups = {}
        for number in range(2 * CONFIRMED):
            for case in maker(np.random.default_rng([7, number])):
                if case.right is not None and not _trivial(case):
                    names = tuple(value for name, value in case.inputs.items() if isinstance(value, str) and name != "dtype")
                    there = tuple(name for name, value in case.inputs.items() if value is not None)
                    groups.setdefault((names, there), []).append(case)
        for (names, _), cases in groups.items():
            if len(cases) >= CONFIRMED:
                yield " ".join((id, *names)), cases[:CONFIRMED]


def _trivial(case):
    """Whether the answer stands in the inputs already."""
    return any(_contains(value, case.right) for value in case.inputs.values())


def _functions(src: Path) -> Iterator[tuple[str, Callable]]:
    """Every function, method without an object, and probe of the released files, with its place."""
    inside = src / "autograder" / "inside"  # forks, and sets limits on the process it runs in: read by (b) alone
    for path in (path for path in released(src) if inside not in path.parents):
        name = ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)  # of this very file, whatever else is on the path
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
    """A method as a function, for those that use nothing of their object."""
    return lambda *arguments: method(None, *arguments)


def _answers(function, cases, views, deadline) -> bool:
    """Whether one and the same way to pass a case's inputs makes the function return the answer, in every case."""
    least, most = _arity(function)
    for number, places in _ways(views[0], least, most):
        if time.monotonic() > deadline:
            return False
        arrays = any(isinstance(views[0][number][place], (np.ndarray, dict)) for place in places)
        for convert in (lambda value: value, _as_tensors)[: 1 + arrays]:
            if all(_contains(_call(lambda of=of: function(*(convert(of[number][place]) for place in places))), case.right)
                   for case, of in zip(cases, views, strict=True)):
                return True
    return False


def _ways(views: list[list], least: int, most: int) -> Iterator[tuple[int, list[int]]]:
    """Ways to choose from `least` to `most` positional arguments: (which view, its places)."""
    ids = [[*map(id, view)] for view in views]
    for number, view in enumerate(ids):
        if view in ids[:number]:
            continue
        for count in range(max(1, least), min(most, len(view)) + 1):
            for order in itertools.permutations(range(min(LEADING, len(view))), min(count, LEADING)):
                places = [*order, *range(LEADING, count)]
                if len(places) == count:
                    yield number, places


def _views(case: Case) -> list[list]:
    """A case's inputs as arguments: what calls might be made of. All of them; the list or dict of arguments among them; the
    arrays alone; these and then the numbers, or one of them; the same with dicts and lists taken apart."""
    whole = [value for value in case.inputs.values() if value is not None]
    inner = [value for value in whole if isinstance(value, (dict, list, tuple)) and value][:1]
    views = [whole, *([*value.values()] if isinstance(value, dict) else [*value] for value in inner)]
    arrays = [value for value in whole if isinstance(value, (np.ndarray, dict))]
    numbers = [value for value in whole if isinstance(value, (int, float)) and not isinstance(value, bool)]
    plain = [value for value in arrays if isinstance(value, np.ndarray)]
    listed = [item for value in whole if isinstance(value, (list, tuple)) for item in value]
    weights = [item for value in arrays if isinstance(value, dict) for item in value.values()]
    ends = [[], numbers, *([number] for number in numbers[:4])]
    views += [*([*arrays, *end] for end in ends), *([*plain, *weights, *end] for end in ends), [*plain, *listed]]
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


def _as_tensors(value):
    import torch
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, dict):
        return {key: _as_tensors(item) for key, item in value.items()}
    return value


class _Late(BaseException):
    """A call takes too long."""


def _call(function):
    """What a call returns; None if it raises whatever, or does not end."""
    def late(*_):
        raise _Late
    before = signal.signal(signal.SIGALRM, late)
    with contextlib.suppress(BaseException):
        try:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            returned = function()
            return list(itertools.islice(returned, 20)) if inspect.isgenerator(returned) else returned
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    return None


def _contains(value, right, depth: int = 4) -> bool:
    """Whether `right`, or a telling part of it, is what was returned or a part of that."""
    with contextlib.suppress(BaseException):  # whatever objects were returned do
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
    return any(map(_is_telling, part)) if isinstance(part, list) else isinstance(part, np.ndarray) and part.size > 1


def _equal(value, right) -> bool:
    with contextlib.suppress(Exception):
        if isinstance(right, list) and any(map(_is_telling, right)):
            return len(value) == len(right) and all(map(_equal, value, right))
        if isinstance(right, np.ndarray):
            if isinstance(value, dict):  # of dicts of numbers
                value = np.array([list(part.values()) if isinstance(part, dict) else part for part in value.values()])
            value = np.asarray(value)
            return value.shape == right.shape and bool(np.allclose(value, right, rtol=1e-4, atol=1e-5))
        return not isinstance(value, np.ndarray) and same(value, right)
    return False


# (b) Code that a solution shares


def find_repeated(src: Path) -> list[str]:
    """A sentence for each piece of a solution that a released file has, names, blanks and comments aside."""
    files = {path: _prints(path.read_text(encoding="utf-8", errors="replace")) for path in released(src)}
    found = []
    for place, body in bodies(SOLUTION):
        mine = _own_prints(body)
        whole = _covered(mine.values())
        if whole < TELLING:
            continue
        for path, theirs in files.items():
            shared = _covered(where for key, where in mine.items() if key in theirs)
            if shared >= min(MUCH, SHARE * whole):
                found.append(f"{path.relative_to(src.parent).as_posix()} has {shared} of the {whole} telling characters of the "
                             f"solution of {place.question}, {place.function} in {place.file}.")
    return found


def telling(body: str) -> int:
    """How many characters of a piece of a solution, names counted as one, the starter does not have."""
    return _covered(_own_prints(body).values())


def _own_prints(body):
    return {key: where for key, where in _prints(body).items() if key not in _starter_prints()}


@functools.cache
def _starter_prints():
    return frozenset().union(*(_prints(path.read_text(encoding="utf-8")) for path in sorted(STARTER.glob("*.py"))))


def _prints(text: str) -> dict[int, list[int]]:
    """copydetect's fingerprints of a text: hash -> where in the text without names, blanks and comments."""
    from copydetect import CodeFingerprint
    with contextlib.suppress(Exception):  # a text without a fingerprint
        return dict(CodeFingerprint("piece.py", NOISE, 1, fp=io.StringIO(text)).hash_idx)
    return {}


def _covered(places: Iterable[list[int]]) -> int:
    """How many characters fingerprints at these places cover."""
    return len({character for starts in places for start in starts for character in range(start, start + NOISE)})


def _disarm() -> Callable:
    """Keep functions that are called with whatever from ending or harming what calls them; returns the one way to end."""
    def refuse(*_, **__):
        raise _Late

    def open_path(file, *arguments, **options):
        return refuse() if isinstance(file, (int, np.generic)) else open_file(file, *arguments, **options)

    end, open_file = os._exit, builtins.open
    names = {"_exit", "abort", "fork", "kill", "killpg", "execv", "execve", "setsid", "close", "closerange", "dup2"}
    for name in names & {*dir(os)}:
        setattr(os, name, refuse)
    builtins.open = io.open = open_path
    return end


if __name__ == "__main__":
    import resource  # not on Windows
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    end, found = _disarm(), answering(Path(sys.argv[1]), sys.argv[3:])
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")
    end(0)  # whatever the functions have left running
