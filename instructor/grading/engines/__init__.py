"""Where submissions are graded: processes on this machine, or a cluster.

An engine turns an iterator of tasks into an iterator of results, and reports the isolation level
that it grades with. Both give their tasks to an executor of concurrent.futures by `work_off`.
"""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from itertools import islice

from common.processes import without_ctrl_c

from .work import Task


def work_off(
    submit: Callable[[Task], Future], tasks: Iterator[Task], most: int
) -> Generator[tuple[Task, dict], None, list[Task]]:
    """Give tasks to an executor, and yield each with its result as it arrives.

    Args:
        submit: gives a task to the executor.
        tasks: what to do; taken only as there is room.
        most: how many tasks the executor has at a time.

    Returns:
        []; or the tasks in progress when the executor broke.
    """
    running = {}
    try:
        while True:
            for task in islice(tasks, most - len(running)):
                running[task] = None  # lost, too, if the executor breaks now
                with without_ctrl_c():
                    running[task] = submit(task)
            if not running:
                return []
            done = wait(running.values(), return_when=FIRST_COMPLETED).done
            for task in [task for task, future in running.items() if future in done]:
                result = result_of(running[task])
                del running[task]
                yield task, result
    except (BrokenExecutor, CancelledError):
        return list(running)


def result_of(future: Future) -> dict:
    """What work.run returned, or {"error": text} where it failed.

    Raises:
        BrokenExecutor, CancelledError: the executor broke.
    """
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        raise error
    return {"error": f"{type(error).__name__}: {error}"} if error else future.result()
