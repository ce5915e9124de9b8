"""Standard output and error of the command lines."""

import sys


def use_utf8() -> None:
    """Have both write UTF-8, whatever the system's encoding, and ? for what cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # not in Jupyter
            stream.reconfigure(encoding="utf-8", errors="replace")
