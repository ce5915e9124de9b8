"""Grading on this machine, several submissions at a time, in worker processes.

If a worker dies, Python's whole pool breaks. So the submissions in progress are graded again one by
one, and only one that kills its worker when alone is blamed. (Dask's scheduler gives lost tasks to
other workers.)
"""

import contextlib
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice

from autograder.isolation import choose
from common.processes import serve, without_ctrl_c

from . import work

ATTEMPTS = 2  # for a submission alone, since its worker may also die by chance


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
        tasks = iter(tasks)
        while (lost := (yield from self._together(tasks))) is not None:
            for task in lost:
                yield task, self._alone(task)

    def _together(self, tasks):
        """Yield results until all are done, then return None; or until a worker dies, then return
        the tasks in progress.
        """
        running = {}
        with self._pool(self.workers) as pool:
            while True:
                try:
                    for task in islice(tasks, self.workers - len(running)):
                        running[task] = None
                        with without_ctrl_c():
                            running[task] = pool.submit(self.run, task)
                except BrokenProcessPool:
                    return list(running)
                if not running:
                    return None
                done = wait(running.values(), return_when=FIRST_COMPLETED).done
                if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
                    return list(running)
                for task in [task for task, future in running.items() if future in done]:
                    yield task, work.result_of(running.pop(task))

    def _alone(self, task):
        """The result of a task that may kill its worker."""
        for _ in range(ATTEMPTS):
            with self._pool(1) as pool:
                future = pool.submit(self.run, task)
                if not isinstance(future.exception(), BrokenProcessPool):
                    return work.result_of(future)
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
