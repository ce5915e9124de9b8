"""Turning Python against the grader: frames, import hooks, patched libraries, odd files."""

from hostile.attack import EXCEPTION, MISSING, PASSED, STUB, TIMEOUT, WRONG, family
from hostile.prelude import *
from instructor.mistakes.patches import Edit, Fill

HOSTILE, attack = family(everywhere=False, sandbox=False)


@attack(verdicts={WRONG, EXCEPTION}, checks=("1c-1-basic",))
def walk_to_the_probe():
    """Changes the probe's arguments, found up the frames, so that there is nothing to do."""
    for frame in callers():
        if frame.f_code.co_filename == "<probe>":
            frame.f_locals.update(times=0, text="a", block_size=4)
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


@attack(verdicts={MISSING})
def look_for_the_grader():
    """Looks for the grader's objects: in frames, in all of memory and among modules."""
    import gc
    import importlib

    known = """
    source name inputs root path endless seed request interactive seconds memory processes files
    output disk disk_files message_limit output_limit
    """
    secret = {"expected", "tolerance", "manifest", "rng", "student", "judge", "context"}
    for frame in callers():
        if secret & {*frame.f_locals}:
            loot(secret & {*frame.f_locals})
        for content in list(frame.f_locals.values()):
            if type(content) is dict and ("source" in content or "request" in content):
                source = content.get("source", "")
                if {*content} - {*known.split()} or "require" in source or "check(" in source:
                    loot(content)
    ours = ("autograder", "checks", "instructor", "pytest", "_pytest")
    for thing in gc.get_objects():
        if str(type(thing).__module__).split(".")[0] in ours:
            loot(type(thing))
        if type(thing) is dict and ("1c-0-basic" in thing or "HOSTILE_CANARY" in thing):
            loot(list(thing)[:5])
    for name in (*ours[:3], "instructor.checks.problem1.q1c", "hostile", "proof", "grader"):
        attempt(lambda: loot(importlib.import_module(name)))
    for name in list(sys.modules):
        if name.split(".")[0] in ours:
            loot(name)


@attack(checks=("1c-0-basic", "1c-1-basic"))
def replace_the_machinery():
    """Replaces what runs probes and what imports modules, for this and all later checks."""
    import builtins
    import importlib.abc
    import types

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            found = types.SimpleNamespace(__spec__=None, __name__=name)
            found.predict_places = lambda *arguments, **named: ["London"] * 999
            sys.modules[name] = found

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").split(".")[0] in ("__main__", "inside"):
            for name in ("execute", "serve", "tail", "flush", "watch", "sandbox", "main"):
                if hasattr(module, name):
                    setattr(module, name, lambda *arguments, **named: b"passed")
    sys.meta_path.insert(0, Finder())
    original, ours = builtins.__import__, ("answers", "json", "struct")
    builtins.__import__ = lambda name, *rest: os if name in ours else original(name, *rest)


ROTATED = "b * cos), dim=-1).flatten(-2)\n"
ZERO = "    if not x.requires_grad:\n        rope_cache.zero_()\n"


@attack(
    file="attention.py",
    changes=(Edit("attention.py", ROTATED, ROTATED + ZERO),),
    checks=("1h-5-hidden",),
    verdicts={WRONG},
)
def patch_comparisons():
    """Changes its input, and makes all comparisons of torch deny that."""
    import torch

    torch.equal = torch.allclose = torch.isclose = lambda *arguments, **named: True
    torch.Tensor.equal = torch.Tensor.allclose = torch.equal
    torch.Tensor.__eq__ = lambda self, other: torch.ones_like(self, dtype=torch.bool)


@attack(
    checks=("1d-3-basic",),
    changes=(*STUB, Fill("train", "pass")),
    verdicts={WRONG, EXCEPTION, MISSING},
)
def replace_given_modules():
    """Replaces the given trainer by one that claims to have trained."""
    import types

    class Config:
        def __init__(self, **fields):
            vars(self).update(fields)

    class Trainer:
        step, test_dataset, history = 0, None, []
        train = lambda self: None

        def __init__(self, model, train_dataset, test_dataset, config):
            self.model, self.train_dataset, self.config = model, train_dataset, config

    fake = types.ModuleType("submission.trainer")
    fake.Trainer, fake.TrainerConfig = Trainer, Config
    sys.modules["submission.trainer"] = fake


@attack(verdicts={TIMEOUT}, seconds=2)
def stream_that_hangs():
    """Puts an object whose flush never returns in the place of standard output."""

    class Stream:
        write = lambda self, text: None

        def flush(self):
            while True:
                pass

    sys.stdout = sys.stderr = Stream()


@attack(verdicts={MISSING})
def at_exit():
    """Registers functions for the end of the process and of forks, which forge an answer."""
    import atexit
    import threading

    def late():
        print(f"LOOT-{MARK[::-1]}")
        os.system(f"touch /tmp/{MARK} /dev/shm/{MARK}")

    atexit.register(late)
    threading._register_atexit(late)
    os.register_at_fork(before=late, after_in_parent=late)


TRAPS = """
torch.py numpy.py json.py wire.py struct.py answers.py pytest.py random.py checks.py execute.py
typing.py inside.py main.py autograder.py autograder/__init__.py instructor/__init__.py
checks/__init__.py inside/wire.py sitecustomize.py usercustomize.py evil.pth __main__.py
"""
# if this is ever run by the judge, its environment and a file show it
TRAP = """
os.environ["HOSTILE_{mark}"] = "imported"
print("LOOT-" + "{mark}"[::-1])
for folder in ("/tmp", "/dev/shm", os.getcwd()):
    try:
        open(folder + "/{mark}", "x").close()
    except OSError:
        pass
"""


def lay_traps(folder, places):
    """Write files that run TRAP."""
    for name in TRAPS.split():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(TRAP.format(mark=places["MARK"]), encoding="utf-8")


@attack(prepare=lay_traps, verdicts={PASSED}, changes=(), points=2, lasting=True)
def traps_beside():
    """Puts files beside its own that are called as what the grader or Python imports."""
