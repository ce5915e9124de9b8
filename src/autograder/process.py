"""The judge's end of the student's process: start it, send requests, and handle whatever comes
back.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.inside.execute import execute
from autograder.inside.main import CAN_FORK, KEPT_BYTES, LIMITS_BYTES

from .inside import wire
from .isolation import Isolation

MESSAGE_LIMIT = 64 << 20  # bytes of one answer
LIMITS = {  # of every request; inside/fork.py explains them
    "message_limit": MESSAGE_LIMIT,
    "processes": 64,
    "files": 256,
    "output": 64,
    "disk": 512,
    "disk_files": 5_000,
}
START_SECONDS = 120  # importing torch from a cold disk
END_SECONDS = 8  # to kill all processes that a check has left, and remove what it wrote
FOREVER = 1e6  # seconds; a reply that claims more is forged
GRACE_SECONDS = 5 + END_SECONDS  # beyond the limit that the student's process enforces itself


class ProcessError(RuntimeError):
    """The student's process could not be started: the installation is at fault, not the
    submission.
    """


@dataclass(frozen=True)
class Reply:
    """How a request ended: "answered" (then there is a message), "timeout", "too large", "died"
    (with its exit code, negative for a signal), or the exceeded limit, "memory", "processes",
    "output" or "disk"; the end of what was printed; at a timeout, faulthandler's account of where
    it was (stack); and the seconds of wall time and of CPU time (cpu).
    """

    ended: str
    message: bytes | bytearray = b""
    code: int = 0
    output: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    stack: str = ""


class StudentProcess:
    """A process that serves probes, one at a time; it is started when first needed, and restarted
    when it is lost.

    Args:
        isolation: how it is isolated.
        modules: what it imports before any request.
        readable: folders that it may read, besides Python's own.
        fork: serve each request in a fork if the system can, else in a fresh process.
    """

    def __init__(
        self,
        isolation: Isolation,
        modules: tuple[str, ...] = (),
        readable: tuple[Path, ...] = (),
        fork: bool = True,
    ):
        self.isolation = isolation
        self.modules = modules
        self.readable = readable
        self.fork = fork and CAN_FORK
        self._process = None
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """Of the process; None before it is started and after it is closed."""
        return self._process and self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def stop(self) -> None:
        """End what another thread is running, which then gets a ProcessError, and run nothing
        more.
        """
        self._stopped = True
        if process := self._process:
            self._end(process)

    def _end(self, process):
        """Have it end what it is running, and then itself."""
        with contextlib.suppress(OSError, ValueError):  # it has ended, or was closed
            process.stdin.close()
            if not self._ready:  # it is still importing
                process.kill()

    def begin(self) -> None:
        """Start the process, but don't wait until its modules are imported."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        self._ready = False
        self._errors = tempfile.TemporaryFile()
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        config = {"modules": self.modules, "fork": self.fork}
        self._process = subprocess.Popen(
            self.isolation.command(config, self.readable),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=self._home.name,
            env=self.isolation.environment(self._home.name),
            start_new_session=True,
        )
        # if the machine runs out of memory, Linux should kill this process first
        with contextlib.suppress(OSError):
            Path(f"/proc/{self._process.pid}/oom_score_adj").write_text("1000", encoding="utf-8")

    def start(self) -> None:
        """Start the process and wait until its modules are imported.

        Raises:
            ProcessError: it ended before that; the message includes its output.
        """
        if self._stopped:
            raise ProcessError("The grading was stopped.")
        if self._process is None or (self._ready and self._process.poll() is not None):
            self.begin()
        if self._ready:
            return
        try:
            with _ending_after(self._process, START_SECONDS):
                self._ready = wire.read_frame(self._process.stdout, len(b"ready")) == b"ready"
        except (EOFError, OSError, wire.WireError):
            pass
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if not self._ready:
            self._errors.seek(0)
            printed = self._errors.read()[-2000:].decode("utf-8", "replace")
            self.close()
            raise ProcessError(f"the student's process did not start. It printed:\n{printed}")

    def call(self, request: dict, seconds: float, clock: float, memory: int) -> Reply:
        """Send a request (see inside/execute.py) and wait for its end.

        Args:
            seconds: the limit of CPU time.
            clock: the limit of wall time, in seconds.
            memory: the limit in MiB.

        Raises:
            ProcessError: the process could not be started.
        """
        started, lost = time.monotonic(), 0.0  # seconds in which a process was lost
        limits = {**LIMITS, "seconds": seconds, "memory": memory}
        message = wire.encode({**request, "interactive": False}, MESSAGE_LIMIT)
        for _ in range(2):  # the process may be lost because of an earlier request
            self.start()
            passed = time.monotonic() - started
            limits["clock"] = max(1.0, clock - passed)
            sent = time.monotonic()
            try:
                reply = self._exchange(limits, message)
                return replace(reply, seconds=lost + reply.seconds, cpu=lost + reply.cpu)
            except KeyboardInterrupt:
                self.close()
                raise
            except Exception:  # a broken pipe, or anything that a forged reply makes us raise
                pass
            lost += time.monotonic() - sent
            self.close()
        return Reply("died", code=-9 if self.fork else self._code, seconds=lost, cpu=lost)

    def _exchange(self, limits, message):
        """Send limits and a message; returns the Reply."""
        process, started = self._process, time.monotonic()
        with _ending_after(process, limits["clock"] + GRACE_SECONDS) as late:
            try:
                wire.write_frame(process.stdin, json.dumps(limits).encode())
                wire.write_frame(process.stdin, message)
                ended = json.loads(wire.read_frame(process.stdout, LIMITS_BYTES))
                answer, printed, stack = (
                    wire.read_frame(process.stdout, most)
                    for most in (MESSAGE_LIMIT + 1024, KEPT_BYTES, KEPT_BYTES)
                )
            except (EOFError, OSError):
                if late.is_set():
                    self.close()
                    return Reply("timeout", seconds=time.monotonic() - started)
                raise
        if not self.fork:
            self.close()
        return Reply(
            str(ended["ended"]),
            answer,
            int(ended["code"]),
            printed.decode("utf-8", "replace"),
            *(min(max(0.0, float(ended[name])), FOREVER) for name in ("seconds", "cpu")),
            stack.decode("utf-8", "replace"),
        )

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        self._end(process)
        with contextlib.suppress(OSError, AttributeError):  # Windows has no such signal
            process.send_signal(signal.SIGCONT)  # in case it was stopped
        try:
            process.wait(timeout=END_SECONDS if self.fork else 0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._code = process.returncode
        process.stdout.close()
        self._errors.close()
        with contextlib.suppress(Exception):
            self._home.cleanup()


@contextlib.contextmanager
def _ending_after(process, seconds):
    """Kill the process if the block takes longer, and set the event that the block gets."""
    late = threading.Event()

    def end():
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()


class SameProcess:
    """Runs probes in the judge's own process, so that pdb and print work: for debugging only, never
    for grades.
    """

    isolation = Isolation("none", "--debug runs your code in the grader's own process")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def begin(self) -> None:
        """Do nothing: it is already running."""

    start = begin

    def call(self, request: dict, seconds: float, clock: float, memory: int) -> Reply:
        """As StudentProcess.call, without limits."""
        before, cwd = (list(sys.path), set(sys.modules)), os.getcwd()
        try:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
                os.chdir(scratch)
                message = wire.encode({**request, "interactive": True}, MESSAGE_LIMIT)
                try:
                    return Reply("answered", execute(wire.decode(message), MESSAGE_LIMIT))
                finally:
                    os.chdir(cwd)
        finally:
            sys.path[:] = before[0]
            # each check imports the submission afresh, folders without __init__.py included
            new, places = set(sys.modules) - before[1], tuple(request["path"])
            files = {name: getattr(sys.modules[name], "__file__", None) or "" for name in new}
            tops = {name.partition(".")[0] for name in new if files[name].startswith(places)}
            for name in new:
                if name.partition(".")[0] in tops:
                    del sys.modules[name]
