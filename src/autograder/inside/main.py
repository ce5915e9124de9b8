"""The student's process: it imports the submission, runs probes, and sends back data.

The judge starts it with the modules (e.g. torch) to import once, before any request. Each request
is a message {source, name, inputs, ...} (see execute.py) on standard input. Where the system can
fork, each is served by a fork, which starts in milliseconds and leaves no traces; elsewhere the
process serves one request and ends. A request is two frames: an order, JSON with its number and
its limits, and the message, which only the fork decodes. The reply is two frames: how it ended, as
JSON, and the message from the probe's side. Nothing here decides on points: the judge treats
everything from this process as the student's claim.
"""

import gc
import importlib
import json
import os
import sys
import tempfile
import time

from . import trial, wire
from .execute import execute
from .fork import Server
from .output import flush, redirect, tail

REQUEST_LIMIT = 1 << 30
CAN_FORK = hasattr(os, "fork")


def main(modules: list[str], fork: bool, level: str, readable: list[str]) -> None:
    """Import modules, then serve requests from standard input until it ends (only one without
    `fork`).

    Args:
        level: the isolation level, which each fork applies to itself; see sandbox.py.
        readable: what the submission may read, besides Python and the system.
    """
    # Move the channel to other descriptors, where no print can corrupt it.
    requests, replies = open(os.dup(0), "rb", buffering=0), open(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    server = Server(level, readable, requests.fileno()) if fork else None
    needed = trial.importing() if server else []
    for module in modules:
        importlib.import_module(module)
    if torch := sys.modules.get("torch"):
        # a thread for each core of a large server would exceed the limits of a check
        torch.set_num_threads = torch.set_num_interop_threads = lambda number: None
    wrong = server and level != "limits" and trial.in_sandbox(server, lambda: trial.lacking(needed))
    if wrong:
        sys.exit(f"{level}: {'; '.join(wrong)}")
    gc.collect()
    gc.freeze()  # so that a fork's garbage collections don't touch, and thereby copy, this memory
    wire.write_frame(replies, b"ready")
    while True:
        try:
            order = json.loads(wire.read_frame(requests, REQUEST_LIMIT))
            # keep it from the fork, which could otherwise forge a reply
            number = order.pop("request")
            request = wire.read_frame(requests, REQUEST_LIMIT)
        except EOFError:
            return
        ended, message = server.serve(order, request) if fork else serve_here(order, request)
        wire.write_frame(replies, json.dumps({**ended, "request": number}).encode(), message)
        if not fork or server.spoiled:
            return


def serve_here(order: dict, request: bytearray) -> tuple[dict, bytes]:
    """As fork.Server.serve, but in this process, for systems without fork; the process should end
    afterwards.
    """
    started, cpu, cwd = time.monotonic(), time.process_time(), os.getcwd()
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch,
    ):
        redirect(output.fileno())
        os.chdir(scratch)
        message = execute(wire.decode(request), order["message_limit"])
        flush()
        os.chdir(cwd)
        ended = {"ended": "answered", "code": 0, "stack": ""}
        ended["output"] = tail(output, order["output_limit"])
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    return {**ended, "seconds": seconds, "cpu": cpu, "waited": 0.0}, message
