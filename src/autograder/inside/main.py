"""The student's process: it imports the submission, runs probes, and sends back data.

Started by the judge as `python main.py MODULE ...`; the modules (torch, say) are imported once, before any request. Each
request is a message {source, name, inputs, ...} (see execute) on standard input. Where the system can fork, each is served
by a fork, which starts in milliseconds and takes all its traces with it; elsewhere the process serves one request and
ends. The reply is two frames: how it ended, as JSON, and the message that the probe's side wrote. Nothing here decides
anything about points: whatever comes from this process, the judge takes as a claim of the student.
"""
import contextlib
import ctypes
import importlib
import io
import json
import linecache
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]
sys.path.insert(0, HERE)
import wire     # noqa: E402
sys.path.pop(0)                         # a submission may have a main.py or a wire.py of its own
del sys.modules["wire"]

REQUEST_LIMIT = 1 << 30
PR_SET_PDEATHSIG = 1                    # Linux: a signal for the child when its parent ends
CAN_FORK = hasattr(os, "fork")


def execute(request: dict, message_limit: int) -> bytes:
    """Run a probe and return the message to the judge: {"value": ...} or {"error": ...}.

    Args:
        request: source and name of the probe, a function; inputs, its keyword arguments; path, folders to import from;
            root, the folder whose frames a traceback shows; seed, for the random numbers of Python, NumPy and torch; interactive, whether
        Ctrl-C is the user's own.
        message_limit: bytes.
    """
    try:
        sys.path[:0] = request["path"]
        _seed(request["seed"])
        namespace = {"__name__": "probe"}
        exec(compile(request["source"], "<probe>", "exec"), namespace)
        value = namespace[request["name"]](**_unwrap(request["inputs"]))
        return wire.encode({"value": value}, message_limit)
    except wire.WireError as error:
        return wire.encode({"error": {"type": "TooLarge", "message": str(error), "frames": [], "name": ""}}, message_limit)
    except BaseException as error:      # SystemExit and all: a submission may raise anything
        if isinstance(error, KeyboardInterrupt) and request["interactive"]:
            raise
        return wire.encode({"error": _describe(error, request["root"])}, message_limit)


def _seed(seed):
    random.seed(seed)
    with contextlib.suppress(ImportError):
        import numpy
        numpy.random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def _unwrap(value):
    """Inputs as probes get them: plain NumPy arrays, that they may write to."""
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
    """An exception as data: its type, message, and the frames that lie in the submission, innermost last."""
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
            frames.append([os.path.basename(path), line, frame.f_code.co_name, linecache.getline(path, line).strip()[:200]])
    if isinstance(error, SyntaxError) and error.filename:
        frames.append([os.path.basename(error.filename), error.lineno or 0, "<module>", (error.text or "").strip()[:200]])
        message = text(lambda: error.msg)
    else:
        message = text(lambda: error)
    return {"type": type(error).__name__[:100], "message": message, "frames": frames[:3] + frames[3:][-12:],
            "kinds": [base.__name__[:100] for base in type(error).__mro__[:12]], "name": text(lambda: getattr(error, "name", "") or "")}


def serve_in_fork(request: dict, channel: int) -> tuple[dict, bytes]:
    """Serve one request in a fork; returns how it ended and the message (empty, if there is none).

    Ends the process if something happens on `channel`, where requests come from: then the judge has gone.
    """
    started = time.monotonic()
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as output:
        scratch = tempfile.mkdtemp()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.setsid()
                _redirect(output.fileno())
                # Neither the judge's channel nor anything else is left open to the submission.
                os.closerange(3, write_end)
                os.closerange(write_end + 1, os.sysconf("SC_OPEN_MAX"))
                _limit(request)
                os.chdir(scratch)
                os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = scratch
                message = execute(request, request["message_limit"])
                _flush()
                with open(write_end, "wb") as stream:
                    stream.write(message)
                code = 0
            finally:
                os._exit(code)
        os.close(write_end)
        ended, message = _wait(pid, read_end, channel, started + request["seconds"], request["message_limit"])
        _remove(scratch)
        if ended["ended"] == "judge gone":
            os._exit(1)
        return {**ended, "output": _tail(output, request["output_limit"]), "seconds": time.monotonic() - started}, message


def _remove(folder):
    """Remove a folder, however deep. (shutil.rmtree recurses, and gives up at a depth that a submission can reach.)"""
    try:
        os.rmdir(folder)        # mostly it is empty
    except OSError:
        subprocess.run(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL)


def _wait(pid, read_end, channel, deadline, limit):
    """Read what a fork writes until it ends, and kill what is left of it."""
    chunks, size, status, why = [], 0, None, "answered"
    with open(read_end, "rb", buffering=0) as stream:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                why = "timeout"
                break
            # A descendant may hold the pipe open after the fork has ended, so wait for both.
            ready = select.select([stream, channel], [], [], min(left, 0.2 if status is None else 0))[0]
            if channel in ready:
                why = "judge gone"
                break
            if ready:
                chunk = stream.read(1 << 20)
                if not chunk:
                    break
                chunks.append(chunk)
                size += len(chunk)
                if size > limit + 1024:
                    why = "too large"
                    break
            elif status is not None:
                break
            if status is None:
                status = _reap(pid, os.WNOHANG)
    while why == "answered" and status is None:      # it has closed the pipe, and should be ending
        status = _reap(pid, os.WNOHANG)
        time.sleep(0 if status is not None else 0.0005)
        if status is None and time.monotonic() > deadline:
            why = "timeout"
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    if status is None:
        status = _reap(pid, 0)
    if why == "answered" and status != 0:
        why = "died"
    code = os.waitstatus_to_exitcode(status)
    return {"ended": why, "code": code}, b"".join(chunks) if why == "answered" else b""


def _reap(pid, flags):
    """The wait status of a child that has ended, else None."""
    done, status = os.waitpid(pid, flags)
    return status if done else None


def _redirect(output):
    """Make `output` the standard output and error; standard input is empty."""
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)
    sys.stdout, sys.stderr = (io.TextIOWrapper(open(fd, "wb", closefd=False), encoding="utf-8", errors="replace",
                                               line_buffering=True) for fd in (1, 2))


def _flush():
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _limit(request):
    """Limits that the kernel keeps: memory, CPU time, file size. (Windows and macOS keep fewer.)"""
    import resource
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    memory = request["memory"] << 20
    with contextlib.suppress(OSError, ValueError):          # /proc is Linux
        with open("/proc/self/status") as status:
            used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + memory, used + memory))
    seconds = int(request["seconds"]) + 2
    for kind, value in ((resource.RLIMIT_CPU, 4 * seconds), (resource.RLIMIT_FSIZE, 1 << 30), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, value))


def _tail(output, limit):
    """The last `limit` bytes that were printed."""
    size = output.seek(0, io.SEEK_END)
    output.seek(max(0, size - limit))
    text = output.read().decode("utf-8", "replace")
    return text if size <= limit else f"[... {size - limit} bytes before this]\n{text}"


def serve_here(request: dict) -> tuple[dict, bytes]:
    """Serve one request in this very process, where there is no fork; the process should end afterwards."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        _redirect(output.fileno())
        os.chdir(scratch)
        message = execute(request, request["message_limit"])
        _flush()
        os.chdir(HERE)
        ended = {"ended": "answered", "code": 0, "output": _tail(output, request["output_limit"])}
    return {**ended, "seconds": time.monotonic() - started}, message


def main(modules: list[str], fork: bool) -> None:
    """Import modules, then serve requests from standard input until it ends (only one without `fork`)."""
    # Keep the channel to ourselves, where no print can disturb it.
    requests, replies = open(os.dup(0), "rb", buffering=0), open(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for module in modules:
        importlib.import_module(module)
    wire.write_frame(replies, b"ready")
    while True:
        try:
            request = wire.decode(wire.read_frame(requests, REQUEST_LIMIT))
        except EOFError:
            return
        ended, message = serve_in_fork(request, requests.fileno()) if fork else serve_here(request)
        wire.write_frame(replies, json.dumps({**ended, "request": request["request"]}).encode(), message)
        if not fork:
            return


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.argv[1:] = []
    main([name for name in arguments if name != "--no-fork"], fork=CAN_FORK and "--no-fork" not in arguments)
