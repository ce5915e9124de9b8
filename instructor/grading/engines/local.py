"""Grading on this machine, several submissions at a time, in worker processes.

If a worker dies, Python's whole pool breaks. So the submissions in progress are graded again one by
one, and only one that kills its worker when alone is blamed. (Dask's scheduler gives lost tasks to
other workers.)

When there are fewer submissions left than workers, the others help with their checks.
"""

import contextlib
import multiprocessing
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import cycle, islice

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
                yield task, self._alone(replace(task, board=None))

    def _together(self, tasks):
        """Yield results until all are done, then return None; or until a worker dies, then return
        the tasks in progress.
        """
        running, helping, helpers = {}, set(), Counter()
        with self._pool(self.workers) as pool:
            while True:
                try:
                    for task in islice(tasks, self.workers - len(running) - len(helping)):
                        task = self._shared(task)
                        running[task] = None
                        with without_ctrl_c():
                            running[task] = pool.submit(self.run, task)
                    for task in self._stragglers(running, helping, helpers):
                        helpers[task] += 1
                        with without_ctrl_c():
                            helping.add(pool.submit(self.run, replace(task, helps=True)))
                except BrokenProcessPool:
                    return list(running)
                if not running:
                    return None
                done = wait([*running.values(), *helping], return_when=FIRST_COMPLETED).done
                if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
                    return list(running)
                helping -= done
                for task in [task for task, future in running.items() if future in done]:
                    yield task, work.result_of(running.pop(task))

    def _stragglers(self, running, helping, helpers):
        """The tasks that idle workers should help with, each at most once a worker."""
        idle = self.workers - len(running) - len(helping)
        found = [task for task in running if task.board and helpers[task] < self.workers - 1]
        return list(islice(cycle(found), max(0, idle)))

    def _shared(self, task):
        """The task with a folder where other workers can take over some of its checks."""
        if not task.setting.shares:
            return task
        return replace(task, board=tempfile.mkdtemp(dir=self.scratch, prefix="board-"))

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
