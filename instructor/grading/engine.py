"""Where submissions are graded: in processes on this machine, or on a Dask cluster. Both are
executors of concurrent.futures, with the same code around them.
"""

import contextlib
import logging
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    wait,
)
from itertools import islice
from pathlib import Path

from autograder.report import harmless
from common.files import UserError
from common.processes import end_with_parent, without_ctrl_c

from .work import Task

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ATTEMPTS = 2  # for a task alone, since its process may also die by chance
AHEAD = 3  # tasks sent ahead for each worker of a cluster, so that none waits
CONNECTS = 15  # seconds for a scheduler to answer, and for a first worker to come


def run_all(
    executors: Callable[[], contextlib.AbstractContextManager[tuple[Executor, int]]],
    run: Callable[[Task], dict],
    tasks: Iterable[Task],
) -> Iterator[tuple[Task, dict]]:
    """Run tasks, and yield each with its result as it arrives, or with {"error": text}.

    If a process dies, the executor may break with all its tasks. Those in progress run again one by
    one, so that no submission is blamed for another's crash.

    Args:
        executors: opens an executor, with the number of tasks to give it at a time.
        run: runs a task.
        tasks: what to run; taken only as there is room.
    """
    tasks = iter(tasks)
    suspects = yield from _run(executors, run, tasks)
    while suspects:
        for task in suspects:
            for _ in range(ATTEMPTS):
                if not (yield from _run(executors, run, iter([task]))):
                    break
            else:
                text = f"The process that graded it was killed, {ATTEMPTS} times in a row."
                yield task, {"error": text}
        suspects = yield from _run(executors, run, tasks)


def _run(executors, run, tasks):
    """Yield tasks with their results; returns those in progress when the executor broke."""
    running = {}
    with executors() as (executor, most):
        try:
            while True:
                for task in islice(tasks, most - len(running)):
                    running[task] = None  # lost, too, if the executor breaks now
                    with without_ctrl_c():
                        running[task] = executor.submit(run, task)
                if not running:
                    return []
                wait(running.values(), return_when=FIRST_COMPLETED)
                for task in [task for task, future in running.items() if future.done()]:
                    error = running[task].exception()
                    if isinstance(error, BrokenExecutor):
                        raise error
                    yield (
                        task,
                        {"error": f"{type(error).__name__}: {error}"}
                        if error
                        else running[task].result(),
                    )
                    del running[task]
        except (BrokenExecutor, CancelledError):
            return list(running)


@contextlib.contextmanager
def here(workers: int, scratch: str) -> Iterator[tuple[Executor, int]]:
    """Processes on this machine, with their temporary files in the folder `scratch`."""
    os.environ.update(dict.fromkeys(THREADS, "1"))  # there is a process for each core
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _begin, (scratch,))
    try:
        yield pool, workers
    finally:
        for process in multiprocessing.active_children():  # their results are not needed
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _begin(scratch):
    """Begin a worker process: it leaves Ctrl-C to the parent, and ends when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = scratch
    end_with_parent()


@contextlib.contextmanager
def cluster(scheduler: str) -> Iterator[tuple[Executor, int]]:
    """The workers of a Dask cluster. They must see this repository and the submissions under the
    same paths as this machine.

    Args:
        scheduler: its address, or its scheduler file.

    Raises:
        UserError: no scheduler answers, or it has no workers.
    """
    from distributed import Client

    # their logs repeat the message below
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    file = Path(scheduler).is_file()
    where = {"scheduler_file": scheduler} if file else {"address": scheduler}
    with contextlib.ExitStack() as stack:
        try:
            client = Client(**where, timeout=CONNECTS, set_as_default=False)
            stack.enter_context(client)
            client.wait_for_workers(1, timeout=CONNECTS)
        except Exception as error:  # whatever an address makes Dask raise
            why = str(error.__cause__ or error).split("\n")[0] or type(error).__name__
            raise UserError(
                harmless(
                    f"No Dask cluster at {scheduler} can grade: {why}. Start its scheduler and "
                    "workers (docs/instructors.md, On a cluster). What was graded is kept."
                )
            ) from None
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        yield client.get_executor(pure=False), AHEAD * workers
