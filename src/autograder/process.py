"""The judge's end of the student's process: start it, send requests, and handle whatever comes
back.
"""

import contextlib
import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.inside.execute import execute
from autograder.inside.main import CAN_FORK

from .inside import wire
from .isolation import Isolation

MESSAGE_LIMIT = 64 << 20  # bytes of one answer
ORDER_LIMIT = 1 << 20  # bytes of how one ended
OUTPUT_LIMIT = 20_000  # bytes of a probe's output that are kept
STACK_LIMIT = 20_000  # characters
LIMITS = {  # of every request; inside/fork.py explains them
    "message_limit": MESSAGE_LIMIT,
    "output_limit": OUTPUT_LIMIT,
    "processes": 64,
    "files": 256,
    "output": 64,
    "disk": 512,
    "disk_files": 5_000,
}
START_SECONDS = 120  # importing torch from a cold disk
END_SECONDS = 8  # to kill all processes that a check has left, and remove what it wrote
GRACE_SECONDS = 5  # beyond the limit that the student's process enforces itself
WAIT_SECONDS = 0.2  # on Windows, Ctrl-C does not end a wait, and arrives after it
FOREVER = 1e6  # seconds; a reply that claims more is forged


class ProcessError(RuntimeError):
    """The student's process could not be started: the installation is at fault, not the
    submission.
    """


@dataclass(frozen=True)
class Reply:
    """How a request ended: "answered" (then there is a message), "timeout", "too large", "died"
    (with its exit code, negative for a signal), or the exceeded limit, "memory", "processes",
    "output" or "disk"; what was printed; at a timeout, faulthandler's account of where it was
    (stack); and the seconds of wall time, of CPU time (cpu), and of waiting for a CPU (waited).
    """

    ended: str
    message: bytes | bytearray = b""
    code: int = 0
    output: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    waited: float = 0.0
    stack: str = ""

    @property
    def counted(self) -> float:
        """The seconds that count toward a limit: CPU time, or wall time less the waiting if that is
        longer, as when the code hangs.
        """
        return max(self.cpu, self.seconds - self.waited)


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

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def stop(self) -> None:
        """End what another thread is running, which then gets a ProcessError, and run nothing
        more.
        """
        self._stopped = True
        process = self._process
        with contextlib.suppress(AttributeError, OSError, ValueError):  # none, ended, closed
            process.stdin.close()  # tells it to end what it is running

    def begin(self) -> None:
        """Start the process, but don't wait until its modules are imported."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        self._ready = False
        self._errors = tempfile.TemporaryFile()
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        command = self.isolation.command(
            {"modules": self.modules, "fork": self.fork}, self.readable
        )
        self._process = subprocess.Popen(
            command,
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
        self._frames = queue.Queue(maxsize=4)  # a flood stays in the pipe
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stdout, self._frames), daemon=True
        )
        self._reader.start()

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
            self._ready = self._next_frame(START_SECONDS) == b"ready"
        except queue.Empty:
            pass
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if not self._ready:
            self._errors.seek(0)
            printed = self._errors.read()[-2000:].decode("utf-8", "replace")
            self.close()
            raise ProcessError(f"the student's process did not start. It printed:\n{printed}")

    @staticmethod
    def _read(stream, frames):
        """Read frames in a thread: Windows cannot wait for a pipe with a timeout."""
        try:
            while True:
                frames.put(wire.read_frame(stream, MESSAGE_LIMIT + 4096))
        except (EOFError, OSError, ValueError):
            frames.put(None)

    def _next_frame(self, seconds):
        """The next frame, or None if the process is lost; raises queue.Empty after `seconds`."""
        end = time.monotonic() + seconds
        while True:
            left = end - time.monotonic()
            try:
                return self._frames.get(timeout=min(max(0.0, left), WAIT_SECONDS))
            except queue.Empty:
                if left <= WAIT_SECONDS:
                    raise

    def call(self, request: dict, seconds: float, memory: int, wall: float | None = None) -> Reply:
        """Send a request (see inside/execute.py) and wait for its end.

        Args:
            seconds: the time limit, as in Reply.counted.
            memory: the limit in MiB.
            wall: the limit of wall time in seconds; `seconds` by default, and without forks, where
                nothing else is measured.

        Raises:
            ProcessError: the process could not be started.
        """
        request = {**request, "interactive": False}
        wall = seconds if wall is None or not self.fork else wall
        started = time.monotonic()
        reply = self._try(request, seconds, memory, wall)
        # the process was lost, perhaps because of an earlier request, so retry in a fresh one
        if reply is None:
            lost = time.monotonic() - started
            left = max(1.0, seconds - lost), memory, max(1.0, wall - lost)
            reply = self._try(request, *left) or Reply("died", code=-9 if self.fork else self._code)
            reply = replace(reply, seconds=reply.seconds + lost)
        return reply

    def _try(self, request, seconds, memory, wall):
        """The Reply, or None if the process was lost or disturbed."""
        self.start()
        started = time.monotonic()
        number = secrets.token_hex(8)  # so that no forged or late reply is mistaken for this one
        try:
            with _killing(self._process, wall + GRACE_SECONDS):  # it may be stopped, not reading
                order = {**LIMITS, "seconds": seconds, "wall": wall, "memory": memory}
                order["request"] = number
                wire.write_frame(
                    self._process.stdin,
                    json.dumps(order).encode(),
                    wire.encode(request, MESSAGE_LIMIT),
                )
            first = self._next_frame(wall + GRACE_SECONDS)
            message = self._next_frame(GRACE_SECONDS) if first is not None else None
            ended = json.loads(first) if message is not None and len(first) < ORDER_LIMIT else {}
            if ended.get("request") == number:
                if not self.fork:
                    self.close()
                times = (float(ended[name]) for name in ("seconds", "cpu", "waited"))
                output = wire.clean(str(ended["output"])[: 2 * OUTPUT_LIMIT])
                return Reply(
                    str(ended["ended"]),
                    message,
                    int(ended["code"]),
                    output,
                    *(min(max(0.0, seconds), FOREVER) for seconds in times),
                    stack=str(ended["stack"])[:STACK_LIMIT],
                )
        except queue.Empty:
            self.close()
            return Reply("timeout", seconds=time.monotonic() - started)
        except KeyboardInterrupt:
            self.close()
            raise
        except Exception:  # a broken pipe, or anything that a forged reply makes the reader raise
            pass
        self.close()
        return None

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.close()  # tells it to end what it is running
            if hasattr(signal, "SIGCONT"):
                process.send_signal(signal.SIGCONT)  # in case it was stopped
        try:
            process.wait(timeout=END_SECONDS if self.fork else 0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._code = process.returncode
        while self._reader.is_alive() and not self._frames.empty():  # the queue may be full
            self._frames.get_nowait()
            self._reader.join(timeout=0.1)
        self._reader.join(timeout=1)
        if not self._reader.is_alive():
            process.stdout.close()  # not while the thread reads from it: that would block
        self._errors.close()
        with contextlib.suppress(Exception):
            self._home.cleanup()


@contextlib.contextmanager
def _killing(process, seconds):
    """Kill the process if the block takes longer than `seconds`."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
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

    def call(self, request: dict, seconds: float, memory: int, wall: float | None = None) -> Reply:
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
