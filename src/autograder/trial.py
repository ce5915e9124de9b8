"""Choose the isolation level: the strongest at which a probe that attacks fails, and one that does
what correct code does works.
"""

import functools
import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from .inside import wire
from .inside.sandbox import SHARED_MEMORY, python_folders
from .isolation import LEVELS, Isolation
from .probe import probe
from .process import ProcessError, StudentProcess

PACKAGES = ("torch", "numpy")  # submissions import more modules of these later


class Unavailable(RuntimeError):
    """A level doesn't work on this machine; the message says why."""


@probe
def attack(secret, judge):
    """What this process can do though it must not, in words."""
    import os
    import socket

    forbidden = {
        "reads files of the grader": lambda: open(secret, encoding="utf-8").close(),
        "writes into folders of the grader": lambda: open(
            secret + ".new", "w", encoding="utf-8"
        ).close(),
        "opens internet sockets": lambda: socket.socket(socket.AF_INET).close(),
        "becomes root": lambda: os.setuid(0) if os.getuid() != 0 else None,
    }
    if os.getppid() != 1:  # in our own PID namespace, the number is another process's
        forbidden["signals the grader"] = lambda: os.kill(judge, 0)
        forbidden["reads the grader's environment"] = lambda: open(
            f"/proc/{judge}/environ", "rb"
        ).read(1)
    done = []
    for what, action in forbidden.items():
        try:
            action()
            done.append(f"a submission {what}")
        except OSError:
            pass
    return done


@probe
def work(needed, shared_memory):
    """What this process cannot do though correct code needs it, in words: write, read what is
    `needed`, lock, import what nothing has imported before.
    """
    import os

    def works(action):
        try:
            action()
            return True
        except OSError:
            return False

    file = os.path.join(os.environ["TMPDIR"], "file")
    if not works(lambda: open(file, "w", encoding="utf-8").close() or os.remove(file)):
        return ["it cannot write into its own scratch folder"]
    for path in needed:
        if not works(lambda: os.close(os.open(path, os.O_RDONLY))):
            return [
                f"it cannot read {path}, where this Python is: a folder above is closed to other "
                "users (chmod o+x opens it)"
            ]
    from multiprocessing import get_context

    if not works(lambda: get_context("fork").Lock()):
        return [
            f"it cannot write into {shared_memory}, where the workers of a DataLoader keep their "
            "locks (mount a tmpfs there that every user may write to)"
        ]
    import tomllib  # noqa: F401

    return []


def _try(name):
    """Test a level.

    Raises:
        Unavailable: it does not work, or can be bypassed.
    """
    if not sys.platform.startswith("linux"):
        raise Unavailable("it needs Linux")
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        raise Unavailable("bwrap is not installed (apt install bubblewrap)")
    found = [spec.origin for package in PACKAGES if (spec := find_spec(package)) and spec.origin]
    needed = [*python_folders(), *found]
    with tempfile.TemporaryDirectory() as outside, StudentProcess(Isolation(name)) as process:
        os.chmod(outside, 0o777)  # only the level itself may keep a submission out of here
        secret = Path(outside, "secret")
        secret.write_text("secret", encoding="utf-8")
        secret.chmod(0o666)
        trials = (
            (attack, {"secret": str(secret), "judge": os.getpid()}),
            (work, {"needed": needed, "shared_memory": SHARED_MEMORY}),
        )
        for trial, inputs in trials:
            if wrong := _asked(process, trial, inputs):
                raise Unavailable("; ".join(wrong))


def _asked(process, trial, inputs):
    """What a probe returns, or why it doesn't, as a list."""
    request = {"source": trial.source, "name": trial.name, "inputs": inputs}
    try:
        reply = process.call({**request, "root": "/", "path": [], "seed": 0}, 10, 60, 1024)
    except ProcessError as error:
        return [str(error).rpartition("printed:\n")[2].strip()[-300:]]
    if reply.ended != "answered":
        return [reply.output.strip()[-300:] or f"the trial's end: {reply.ended}"]
    value = wire.decode(reply.message)
    if "error" in value:
        return [f"it cannot do what correct code does: {value['error']['message']}"]
    return value["value"]


@functools.cache
def choose(name: str | None = None) -> Isolation:
    """The strongest level that works here, or the level `name`.

    Raises:
        Unavailable: the requested level does not work here.
    """
    reasons = []
    for level in LEVELS if name is None else (name,):
        try:
            if level != "limits":
                _try(level)
            return Isolation(level, "; ".join(reasons))
        except Unavailable as error:
            reasons.append(f"{level}: {error}")
    raise Unavailable("; ".join(reasons))
