"""Processes that serve another one of ours."""

import multiprocessing
import os
import signal
import tempfile
import threading


def serve(scratch: str) -> None:
    """Call this first in a process of multiprocessing: it leaves Ctrl-C to the parent, ends when
    the parent is gone, and keeps temporary files in `scratch`, which the parent removes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = scratch
    end_with_parent()


def end_with_parent() -> None:
    """End this process of multiprocessing when its parent is gone."""

    def wait():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
