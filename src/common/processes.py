"""Processes that serve another one of ours."""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Processes that are started in the block never get Ctrl-C, which is left to the parent: before
    they can ignore it, it would end them with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # later, it would undo this
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """End this process, of multiprocessing or a command, when its parent is gone; a command on
    Windows goes on.
    """
    parent, number = multiprocessing.parent_process(), os.getppid()

    def wait():
        if parent:
            parent.join()
        else:
            while os.getppid() == number:
                time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
