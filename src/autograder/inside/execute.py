"""Run a probe and report its result."""

import contextlib
import linecache
import os
import random
import sys
import traceback

from . import wire


def execute(request: dict, message_limit: int) -> bytes:
    """Run a probe and return the message to the judge: {"value": ...} or {"error": ...}.

    Args:
        request: source and name of the probe, a function; inputs, its keyword arguments, or calls,
            a list of them, each of which gets a message of its own; path, folders to import from;
            endless, modules whose import is known not to end; root, the folder whose frames a
            traceback shows; seed, for the random numbers of Python, NumPy and torch; interactive,
            whether Ctrl-C comes from the user.
        message_limit: bytes.
    """
    try:
        sys.path[:0] = request["path"]
        sys.meta_path.insert(0, Endless(request.get("endless", [])))
        _seed(request["seed"])
        namespace = {"__name__": "probe"}
        exec(compile(request["source"], "<probe>", "exec"), namespace)
        probe = namespace[request["name"]]
        if "calls" in request:
            value = [_answer(probe, inputs, request) for inputs in request["calls"]]
        else:
            value = probe(**_unwrap(request["inputs"]))
        return wire.encode({"value": value}, message_limit)
    except wire.WireError as error:
        reply = {"error": {"type": "TooLarge", "message": str(error), "frames": [], "name": ""}}
        return wire.encode(reply, message_limit)
    except BaseException as error:  # including SystemExit: a submission may raise anything
        if isinstance(error, KeyboardInterrupt) and request["interactive"]:
            raise
        return wire.encode({"error": _describe(error, request["root"])}, message_limit)


def _answer(probe, inputs, request):
    """One of several calls: {"value": ...} or {"error": ...}."""
    try:
        return {"value": probe(**_unwrap(inputs))}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and request["interactive"]:
            raise
        return {"error": _describe(error, request["root"])}


class Endless:
    """A finder for sys.meta_path that raises EndlessImport for modules whose import does not end,
    instead of waiting for it again.
    """

    def __init__(self, modules: list[str]):
        self.modules = modules

    def find_spec(self, name, path=None, target=None):
        """Leave all other modules to the next finder."""
        if name in self.modules:
            raise EndlessImport(name=name)


class EndlessImport(ImportError):
    """Its `name` is the module."""


def _seed(seed):
    random.seed(seed)
    with contextlib.suppress(ImportError):
        import numpy

        numpy.random.seed(seed % 2**32)
    if "torch" in sys.modules:
        # not torch.manual_seed, which takes milliseconds to look for GPUs in each new fork
        sys.modules["torch"].default_generator.manual_seed(seed)


def _unwrap(value):
    """Inputs as probes get them: plain NumPy arrays, which they may write to."""
    if isinstance(value, wire.Array):
        return value.data.copy()
    if isinstance(value, list):
        return [_unwrap(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_unwrap(item) for item in value)
    if isinstance(value, dict):
        return {key: _unwrap(item) for key, item in value.items()}
    return value


def _describe(error, root):
    """An exception as data: its type, message, and the submission's frames, innermost last."""

    def text(make):
        try:
            return str(make())[:2000]
        except BaseException:
            return "(an error whose text cannot be shown)"

    frames = []
    root = os.path.realpath(root) + os.sep
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = os.path.realpath(frame.f_code.co_filename)
        if path.startswith(root):
            frames.append(
                [
                    os.path.basename(path),
                    line,
                    frame.f_code.co_name,
                    linecache.getline(path, line).strip()[:200],
                ]
            )
    if isinstance(error, SyntaxError) and error.filename:
        frames.append(
            [
                os.path.basename(error.filename),
                error.lineno or 0,
                "<module>",
                (error.text or "").strip()[:200],
            ]
        )
        message = text(lambda: error.msg)
    else:
        message = text(lambda: error)
    return {
        "type": type(error).__name__[:100],
        "message": message,
        "frames": frames[:3] + frames[3:][-12:],
        "kinds": [base.__name__[:100] for base in type(error).__mro__[:12]],
        "name": text(lambda: getattr(error, "name", "") or ""),
    }
