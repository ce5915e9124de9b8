"""Grading on this machine, several submissions at a time, in worker processes.

If a worker dies, Python's whole pool breaks. So the submissions in progress are graded again one by
one, and only one that kills its worker when alone is blamed.
"""

import contextlib
import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from functools import partial

from autograder.trial import choose
from common.processes import end_with_parent

from . import result_of, work, work_off

ATTEMPTS = 2  # for a submission alone, since its worker may also die by chance


def serve(scratch: str) -> None:
    """Begin a worker: it leaves Ctrl-C to the parent, ends when the parent is gone, and keeps
    temporary files in `scratch`, which the parent removes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = scratch
    end_with_parent()


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

    def level(self) -> str:
        """The isolation level that this machine grades with."""
        return choose().level

    def results(self, tasks: Iterable[work.Task]) -> Iterator[tuple[work.Task, dict]]:
        """Run tasks, and yield each with its result as it arrives. If a worker dies, the tasks in
        progress run again one by one, so that no submission is blamed for another's crash.
        """
        tasks, lost = iter(tasks), True
        while lost:
            with self._pool(self.workers) as pool:
                lost = yield from work_off(partial(pool.submit, self.run), tasks, self.workers)
            for task in lost:
                yield task, self._alone(task)

    def _alone(self, task):
        """The result of a task that may kill its worker."""
        for _ in range(ATTEMPTS):
            with self._pool(1) as pool, contextlib.suppress(BrokenExecutor):
                return result_of(pool.submit(self.run, task))
        return {"error": f"The process that graded it was killed, {ATTEMPTS} times in a row."}

    @contextlib.contextmanager
    def _pool(self, workers):
        pool = ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), serve, (self.scratch,)
        )
        try:
            yield pool
        finally:
            for process in multiprocessing.active_children():  # their results are not needed
                process.terminate()
            pool.shutdown(cancel_futures=True)
