"""Run a probe and report its result."""

import ast
import contextlib
import linecache
import os
import random
import sys
import traceback

from . import wire


def execute(request: dict, message_limit: int) -> bytes:
    """Run a probe and return the message to the judge: {"value": ...} or {"error": ...}, and
    {"settings": ...}; see _settings.

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
        return wire.encode({"value": value, "settings": _settings(request["root"])}, message_limit)
    except wire.WireError as error:
        return wire.encode(
            {"error": {"type": "TooLarge", "message": str(error), "frames": [], "name": ""}},
            message_limit,
        )
    except BaseException as error:  # including SystemExit: a submission may raise anything
        if isinstance(error, KeyboardInterrupt) and request["interactive"]:
            raise
        reply = {"error": _describe(error, request["root"])}
        return wire.encode({**reply, "settings": _settings(request["root"])}, message_limit)


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


def _settings(root):
    """What the submission has set for all of torch and left so: for each setting the function that
    sets it, and if it can be found, the file, line and code of the call.
    """
    with contextlib.suppress(Exception):  # torch isn't imported, or the submission has changed it
        torch = sys.modules["torch"]
        try:
            device = torch.get_default_device().type
        except (AssertionError, RuntimeError):  # there is no GPU
            device = "cuda"
        changed = {
            ("set_default_dtype", "set_default_tensor_type"): (
                torch.get_default_dtype() is not torch.float32
            ),
            ("set_default_device",): device != "cpu",
            ("set_grad_enabled",): not torch.is_grad_enabled(),
        }
        return [[names[0], *_call(names, root)] for names, differs in changed.items() if differs]
    return []


def _call(functions, root):
    """The file, line and code of the submission's first statement that calls one of the functions;
    () if there is none.
    """
    root = os.path.realpath(root) + os.sep
    for module in [*sys.modules.values()]:
        path = os.path.realpath(getattr(module, "__file__", None) or "")
        if path.startswith(root):
            for node in ast.walk(ast.parse("".join(linecache.getlines(path)))):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                    code = ast.unparse(node.value)
                    if code.partition("(")[0].endswith(functions):
                        return os.path.basename(path), node.lineno, code[:200]
    return ()


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
