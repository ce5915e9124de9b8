"""Test the sandbox: a fork attempts what a submission must not be able to do, and what it must."""

import importlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing import get_context

from .fork import Server
from .sandbox import SHARED_MEMORY, python_folders
from .watch import descendants

LIMITS = {"seconds": 10, "memory": 1024, "disk": 16, "processes": 64, "files": 256}
PACKAGES = ("torch", "numpy")  # submissions import more modules of these later
LATE = ("tomllib", "torch.nn.utils.prune")  # nothing imports these before a submission does
LOADER_SECONDS = 60


def main(level: str, readable: list[str], secret: str, judge: int) -> None:
    """Print a JSON list of what is wrong with the sandbox; it is empty if nothing is.

    Args:
        level: the level; see fork.Server.
        readable: as there.
        secret: a file that must be out of reach, as must its folder.
        judge: the process id of the judge.
    """
    try:
        needed = importing()
        server = Server(level, readable, channel=0)
        wrong = in_sandbox(server, lambda: attempt(secret, judge) + lacking(needed))
    except OSError as error:
        wrong = [str(error)]
    print(json.dumps(wrong))


def importing() -> list[str]:
    """The folders and files that imports read. Call it before rights are dropped: afterwards,
    inaccessible paths seem not to exist.
    """
    found = [spec.origin for name in PACKAGES if (spec := find_spec(name)) and spec.origin]
    return [*python_folders(), *found]


def in_sandbox(server: Server, attempt: Callable[[], list[str]]) -> list[str]:
    """What `attempt` finds wrong when called in a fork inside the server's sandbox.

    Raises:
        OSError: the fork could not be created, or is not visible in /proc.
    """
    read_end, write_end = os.pipe()
    scratch = tempfile.mkdtemp()
    if server.user is not None:
        os.chown(scratch, server.user, server.user)
    pid = os.fork()
    if pid == 0:
        wrong = ["the trial ended early"]
        try:
            server.enter(LIMITS, scratch)
            wrong = attempt()
        except Exception as error:
            wrong = [str(error)]
        finally:
            os.write(write_end, json.dumps(wrong).encode())
            os._exit(0)
    os.close(write_end)
    if pid not in descendants():
        raise OSError(
            "the resource use of a submission's processes cannot be measured: "
            "this kernel has no /proc/PID/task/TID/children"
        )
    with open(read_end, encoding="utf-8") as answer:
        wrong = json.loads(answer.read() or '["the trial was killed"]')
    os.waitpid(pid, 0)
    os.rmdir(scratch)
    return wrong


def _works(action):
    try:
        action()
        return True
    except OSError:
        return False


def attempt(secret: str, judge: int) -> list[str]:
    """What this process can do though it must not, in words."""
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
    return [f"a submission {what}" for what, action in forbidden.items() if _works(action)]


def lacking(needed: list[str]) -> list[str]:
    """What this process cannot do though correct code needs it, in words: write, read what is
    `needed`, lock, import. If torch has been imported (which takes a second, too long for each
    trial), also: import more of it, and load data with a DataLoader's workers.
    """
    file = os.path.join(os.environ["TMPDIR"], "file")
    if not _works(lambda: open(file, "w", encoding="utf-8").close() or os.remove(file)):
        return ["it cannot write into its own scratch folder"]
    for path in needed:
        if not _works(lambda: os.close(os.open(path, os.O_RDONLY))):
            return [
                f"it cannot read {path}, where this Python is: a folder above is closed to other "
                "users (chmod o+x opens it)"
            ]
    if not _works(lambda: get_context("fork").Lock()):
        return [
            f"it cannot write into {SHARED_MEMORY}, where the workers of a DataLoader keep their "
            "locks (mount a tmpfs there that every user may write to)"
        ]
    try:
        for name in LATE:
            if "." not in name or name.partition(".")[0] in sys.modules:
                importlib.import_module(name)
        return _drawing() if "torch" in sys.modules else []
    except Exception as error:
        return [f"it cannot do what correct code does: {type(error).__name__}: {error}"]


def _drawing():
    make = importlib.import_module("torch.utils.data").DataLoader
    loader = make(
        range(4),
        2,
        num_workers=2,
        collate_fn=list,
        multiprocessing_context="fork",
        timeout=LOADER_SECONDS,
    )
    right = list(loader) == [[0, 1], [2, 3]]
    return [] if right else ["a DataLoader with two workers returns wrong batches"]
