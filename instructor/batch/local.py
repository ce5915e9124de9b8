"""Grading on this machine, several submissions at a time, in processes of their own."""
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from . import work

ATTEMPTS = 3        # at one submission: a worker may die for what it does, or by chance, or because another one died


class Local:
    """The engine of one machine.

    Args:
        workers: how many submissions are graded at a time.
        scratch: the folder for temporary files.
        run: what a worker does with a work.Task.
    """

    def __init__(self, workers: int, scratch: str, run: Callable[[work.Task], dict] = work.run):
        self.workers = workers
        self.scratch = scratch
        self.run = run

    def results(self, tasks: Iterable[work.Task]) -> Iterator[tuple[work.Task, dict]]:
        """Run tasks, and give each with its result as it comes. A worker that dies is replaced, and what it did is done again."""
        waiting = iter((task, 0) for task in tasks)
        again = []
        while again is not None:
            lost = yield from self._with_one_pool(again, waiting)
            again = None if lost is None else [(task, attempts) for task, attempts in lost if attempts < ATTEMPTS]
            for task, attempts in lost or ():
                if attempts >= ATTEMPTS:
                    yield task, {"error": f"The process that graded it was killed, {ATTEMPTS} times."}

    def _with_one_pool(self, again, waiting):
        """Yield results until all is done, then return None; or until a worker dies, then return what was lost, with the attempts at it."""
        pool = ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"), _prepare, (self.scratch,))
        running = {}
        try:
            while True:
                while len(running) < self.workers and (ready := again.pop() if again else next(waiting, None)):
                    try:
                        running[pool.submit(self.run, ready[0])] = (ready[0], ready[1] + 1)
                    except BrokenProcessPool:
                        return [*running.values(), ready, *again]
                if not running:
                    return None
                done = wait(running, return_when=FIRST_COMPLETED).done
                lost = [future for future in done if isinstance(future.exception(), BrokenProcessPool)]
                for future in done.difference(lost):
                    yield running.pop(future)[0], work.result_of(future)
                if lost:        # and with them all others that run
                    return [*running.values(), *again]
        finally:
            for process in multiprocessing.active_children():       # nobody waits for what they do
                process.terminate()
            pool.shutdown(cancel_futures=True)


def _prepare(scratch):
    """In each worker: leave Ctrl-C to the parent, end when it is gone, and keep temporary files where the next run will find them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = scratch
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)
