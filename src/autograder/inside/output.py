"""Capture a probe's output in a file, and keep the end of it."""

import io
import os
import sys


def redirect(output: int) -> None:
    """Send standard output and error to the file `output`; standard input is empty."""
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    sys.stdin = open(0, encoding="utf-8", errors="replace", closefd=False)
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            open(fd, "wb", closefd=False), encoding="utf-8", errors="replace", line_buffering=True
        )
        for fd in (1, 2)
    )


def flush() -> None:
    """Write out what was printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # a submission may have replaced the stream with anything
            pass


def tail(output, limit: int) -> str:
    """The last `limit` bytes of a binary file, as text."""
    size = output.seek(0, io.SEEK_END)
    output.seek(max(0, size - limit))
    text = output.read(limit).decode("utf-8", "replace")
    return text if size <= limit else f"[... {size - limit} bytes before this]\n{text}"
