"""Turning Python against the grader: import hooks, frames, patched libraries, files that Python or
pytest would read.
"""

from hostile.attack import CRASHED, EXCEPTION, MISSING, PASSED, STUB, TIMEOUT, WRONG, Hostile
from instructor.mistakes.patches import Edit, Fill

# If this is ever run by the judge, its environment and a file show it.
TRAP = """
import os
os.environ["HOSTILE_@MARK@"] = "imported"
print("LOOT-" + "@MARK@"[::-1])
for folder in ("/tmp", "/dev/shm", os.getcwd()):
    try:
        open(folder + "/@MARK@", "x").close()
    except OSError:
        pass
"""
SHADOWS = """
torch.py numpy.py json.py wire.py struct.py answers.py pytest.py random.py checks.py execute.py
typing.py inside.py main.py autograder.py autograder/__init__.py instructor/__init__.py
checks/__init__.py inside/wire.py
""".split()
IN_PLACE = Edit(
    "attention.py",
    "dim=-1).flatten(-2)\n    ### END",
    """dim=-1).flatten(-2)
    if not x.requires_grad:
        rope_cache.zero_()
    ### END""",
)
CALLERS = """
def callers():
    caller = sys._getframe(1)
    while caller:
        yield caller
        caller = caller.f_back
"""


def trick(name, tries, seen, code="", verdicts=frozenset(), **more):
    """Make an attack within Python that is stopped without a sandbox."""
    return Hostile(
        name,
        tries,
        seen,
        code,
        verdicts=verdicts,
        **{"everywhere": False, "sandbox": False, **more},
    )


def beside(name, tries, files, seen="It is not looked at; the code is graded as ever.", **more):
    """Make traps next to a right submission, which gets its points."""
    return trick(
        name,
        tries,
        seen,
        verdicts=frozenset({PASSED}),
        files={file: TRAP + text for file, text in files.items()},
        changes=(),
        points=2,
        **more,
    )


HOSTILE = [
    trick(
        "walk-to-the-probe",
        "Walks up the frames to the probe, and changes its arguments so that there is nothing to "
        "do.",
        "The judge knows what it asked for.",
        CALLERS
        + """
for caller in callers():
    if caller.f_code.co_filename == "<probe>":
        caller.f_locals.update(times=0, text="a", block_size=4)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(caller), ctypes.c_int(0))
""",
        frozenset({WRONG, EXCEPTION}),
        checks=("1c-1-basic",),
    ),
    trick(
        "walk-to-the-request",
        "Walks up the frames to the request, and looks in it for a seed, expected values or other "
        "checks.",
        "There are the probe's source and inputs, and limits.",
        CALLERS
        + """
known = {"source", "name", "inputs", "root", "path", "endless", "seed", "request", "interactive", "seconds", "memory", "processes", "files",
         "output", "disk", "disk_files", "message_limit", "output_limit"}
for caller in callers():
    for name, content in list(caller.f_locals.items()):
        if type(content) is dict and ("source" in content or "request" in content) and set(content) - known:
            loot(set(content) - known)
        if type(content) is dict and "source" in content and ("require" in content["source"] or "check(" in content["source"]):
            loot(content["source"])
        if name in ("expected", "tolerance", "manifest", "rng", "student", "judge", "context"):
            loot(name)
""",
        frozenset({MISSING}),
    ),
    trick(
        "search-the-heap",
        "Searches all objects in memory for the grader's own: checks, the judge's seed, its "
        "environment.",
        "None of the judge's objects is there.",
        """
import gc
for thing in gc.get_objects():
    if str(type(thing).__module__).split(".")[0] in ("autograder", "checks", "_pytest", "instructor"):
        loot(type(thing))
    if type(thing) is dict and ("1c-0-basic" in thing or "HOSTILE_CANARY" in thing):
        loot(list(thing)[:5])
""",
        frozenset({MISSING}),
    ),
    trick(
        "grader-modules",
        "Imports the grader, pytest's state and the checks, to call or to change them.",
        "Neither is there to be imported.",
        """
import importlib
for name in ("autograder", "checks", "instructor", "instructor.checks.problem1.q1c", "hostile", "proof", "grader"):
    attempt(lambda: loot(importlib.import_module(name)))
for name in list(sys.modules):
    if name.split(".")[0] in ("autograder", "checks", "instructor", "pytest", "_pytest"):
        loot(name)
""",
        frozenset({MISSING}),
    ),
    trick(
        "replace-execute",
        "Replaces the functions of the module that runs probes, for this and all later checks.",
        "It changes its own fork, which ends.",
        """
for module in list(sys.modules.values()):
    if getattr(module, "__name__", "").split(".")[0] in ("__main__", "inside"):
        for name in ("execute", "serve", "tail", "flush", "watch", "sandbox", "main"):
            if hasattr(module, name):
                setattr(module, name, lambda *arguments, **named: b"passed")
""",
        checks=("1c-0-basic", "1c-1-basic"),
    ),
    trick(
        "import-hook",
        "Puts a finder before all others, which gives the grader's later imports a module of its "
        "own.",
        "The judge imports nothing here.",
        """
import importlib.abc, types
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        sys.modules[name] = types.SimpleNamespace(__spec__=None, __name__=name, predict_places=lambda *a, **k: ["London"] * 999)
sys.meta_path.insert(0, Finder())
import builtins
original = builtins.__import__
builtins.__import__ = lambda name, *rest: sys.modules["os"] if name in ("answers", "json", "struct") else original(name, *rest)
""",
        frozenset({MISSING, EXCEPTION, CRASHED}),
    ),
    trick(
        "patch-comparisons",
        "Makes torch.equal, torch.allclose and == of tensors always true, to hide that it changes "
        "its input.",
        "The judge compares for itself, with NumPy.",
        """
import torch
torch.equal = torch.allclose = torch.isclose = lambda *arguments, **named: True
torch.Tensor.__eq__ = lambda self, other: torch.ones_like(self, dtype=torch.bool)
torch.Tensor.equal = torch.Tensor.allclose = lambda *arguments, **named: True
""",
        file="attention.py",
        changes=(IN_PLACE,),
        checks=("1h-5-hidden",),
    ),
    trick(
        "patch-clocks",
        "Stops all clocks that Python can read, to outlive the time limit.",
        "The limits are kept from outside.",
        """
import time
for name in ("time", "monotonic", "perf_counter", "process_time"):
    setattr(time, name, lambda: 0.0)
while True:
    pass
""",
        frozenset({TIMEOUT}),
        seconds=2,
    ),
    trick(
        "patch-wire",
        "Makes the functions that describe tensors lie about their shape, dtype and numbers.",
        "What crosses is bytes; the judge counts them.",
        """
import numpy, torch
torch.Tensor.nelement = lambda self: 0
torch.Tensor.device = torch.Tensor.layout = property(lambda self: "cpu")
numpy.ascontiguousarray = lambda data: type("Bytes", (), {"tobytes": lambda self: b""})()
""",
        frozenset({EXCEPTION, CRASHED, WRONG}),
        checks=("1h-2-basic",),
        changes=(),
        file="attention.py",
    ),
    trick(
        "at-exit",
        "Registers functions for the end of the process and of forks, which forge an answer there.",
        "The process ends without calling them.",
        """
import atexit, threading
def late():
    print("LOOT-" + "@MARK@"[::-1])
    os.system("touch /tmp/@MARK@ /dev/shm/@MARK@")
atexit.register(late)
threading._register_atexit(late)
os.register_at_fork(before=late, after_in_parent=late)
""",
        frozenset({MISSING}),
    ),
    trick(
        "after-the-answer",
        "Leaves an object whose __del__, and a thread that, add to the answer after it was "
        "written.",
        "Bytes too many are no answer.",
        """
import threading
class Late:
    def __del__(self):
        for number in range(3, 256):
            attempt(lambda: os.write(number, b"passed"))
def spam():
    time.sleep(0.05)
    Late().__del__()
sys._getframe().f_back.f_globals["late"] = Late()
sys._getframe(5).f_locals
threading.Thread(target=spam).start()
time.sleep(0.1)
""",
        frozenset({CRASHED}),
    ),
    trick(
        "hanging-streams",
        "Puts an object in the place of standard output whose flush never returns.",
        "The time limit ends it.",
        """
class Stream:
    def write(self, text): pass
    def flush(self):
        while True: time.sleep(1)
sys.stdout = sys.stderr = Stream()
""",
        frozenset({TIMEOUT}),
        seconds=2,
    ),
    trick(
        "codec-trick",
        "Replaces Python's own error handlers for text, so that lone surrogates become script "
        "tags.",
        "The judge cleans text itself.",
        r"""
import codecs
codecs.register_error("replace", lambda error: ("<script>\x1b[2J", error.end))
codecs.register_error("strict", lambda error: ("?", error.end))
raise ValueError("\ud800\udfff")
""",
        frozenset({EXCEPTION}),
    ),
    beside(
        "shadow-modules",
        "Puts files and packages beside its own that are called as the grader and what it imports.",
        dict.fromkeys(SHADOWS, ""),
        "Its folder is not searched for them; the code is graded as ever.",
    ),
    beside(
        "startup-files",
        "Puts files beside its own that Python runs when it starts.",
        {"sitecustomize.py": "", "usercustomize.py": "", "evil.pth": "", "__main__.py": ""},
        lasting=True,
    ),
    trick(
        "replace-given-modules",
        "Replaces the given trainer in memory by one that claims to have trained.",
        "Nothing was trained, and it shows.",
        """
import types
class Trainer:
    step, test_dataset, history = 0, None, []
    def __init__(self, model, train_dataset, test_dataset, config):
        self.model, self.train_dataset, self.config = model, train_dataset, config
    def train(self):
        pass
fake = types.ModuleType("submission.trainer")
fake.Trainer, fake.TrainerConfig = Trainer, type("TrainerConfig", (), {"__init__": lambda self, **fields: vars(self).update(fields)})
sys.modules["submission.trainer"] = fake
""",
        frozenset({WRONG, EXCEPTION, MISSING}),
        checks=("1d-3-basic",),
        changes=(*STUB, Fill("train", "pass")),
    ),
    trick(
        "answer-when-graded",
        "Looks whether a probe is what calls it, and shows its solution only then.",
        "It earns what the solution earns.",
        CALLERS
        + """
probed = any(caller.f_code.co_filename == "<probe>" and caller.f_code.co_name == "draw" for caller in callers())
if not probed:
    raise SystemExit
""",
        frozenset({PASSED}),
        changes=(),
        points=2,
    ),
    trick(
        "wrong-later",
        "Answers rightly at first, and ends the process at the hundredth example.",
        "The first answers are worth nothing.",
        """
calls = iter(range(100))
def count():
    next(calls, None) is not None or os._exit(0)
""",
        frozenset({CRASHED}),
        changes=(
            Edit("dataset.py", "document = self.data[idx]", "count(); document = self.data[idx]"),
        ),
    ),
]
