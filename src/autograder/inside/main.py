"""The student's process: it imports the submission, runs probes, and sends back data.

The judge starts it with the modules (e.g. torch) to import once, before any request. A request is
two frames on standard input: the limits, JSON; and the message {source, name, inputs, ...} (see
execute.py). The reply is four frames on standard output: how it ended, JSON; the message from the
probe's side; the end of what was printed; and at a timeout, where the code was. Where the system
can fork, each request is served by a fork, which starts in milliseconds and leaves no traces;
elsewhere the process serves one request and ends. Nothing here decides on points: the judge treats
everything from this process as the student's claim.
"""

import gc
import importlib
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack

from . import wire
from .execute import execute
from .fork import Server
from .output import flush, redirect

CAN_FORK = hasattr(os, "fork")
LIMITS_BYTES, REQUEST_BYTES = 1 << 16, 1 << 30  # of the two frames of a request, at most
KEPT_BYTES = 20_000  # of what is printed: its end


def main(modules: list[str], fork: bool, level: str, readable: list[str]) -> None:
    """Import modules, then serve requests from standard input until it ends (only one without
    `fork`).

    Args:
        level: the isolation level, which each fork applies to itself; see sandbox.py.
        readable: what the submission may read, besides Python and the system.
    """
    # Move the channel to other descriptors, where no print can corrupt it.
    requests, replies = open(os.dup(0), "rb", buffering=0), open(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for module in modules:
        importlib.import_module(module)
    if torch := sys.modules.get("torch"):
        # a thread for each core of a large server would exceed the limits of a check
        torch.set_num_threads = torch.set_num_interop_threads = lambda number: None
    server = Server(level, readable, requests.fileno()) if fork else None
    gc.collect()
    gc.freeze()  # so that a fork's garbage collections don't touch, and thereby copy, this memory
    wire.write_frame(replies, b"ready")
    serving = True
    while serving:
        with ExitStack() as stack:
            # Requests and replies are in files, never in our memory, which each fork copies:
            # there, a later check could look for those of hidden checks.
            files = [stack.enter_context(tempfile.TemporaryFile(buffering=0)) for _ in range(4)]
            try:
                limits = json.loads(wire.read_frame(requests, LIMITS_BYTES))
                wire.receive_file(requests, files[0], REQUEST_BYTES)
            except EOFError:
                return
            ended = server.serve(limits, *files) if fork else serve_here(limits, *files)
            wire.write_frame(replies, json.dumps(ended).encode())
            for file, most in zip(files[1:], (REQUEST_BYTES, KEPT_BYTES, KEPT_BYTES)):
                wire.send_file(replies, file, most)
        serving = fork and not server.spoiled


def serve_here(limits: dict, request, message, output, stack) -> dict:
    """As fork.Server.serve, but in this process, for systems without fork; the process should end
    afterwards.
    """
    started, cpu, cwd = time.monotonic(), time.process_time(), os.getcwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        redirect(output.fileno())
        os.chdir(scratch)
        request.seek(0)
        content = wire.decode(request.read())
        message.write(execute(content, limits["message_limit"]))
        flush()
        os.chdir(cwd)
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    return {"ended": "answered", "code": 0, "seconds": seconds, "cpu": cpu}
