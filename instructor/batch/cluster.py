"""Grading on a cluster, through Dask: however its scheduler and workers were started (by hand, on SLURM, on Kubernetes)."""
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from files import UserError

from . import work

ROOT = Path(__file__).resolve().parents[2]
AHEAD = 3                   # tasks for each worker that the scheduler knows of: memory stays small, and no worker waits
ONE = threading.Lock()      # grading changes its process's working directory: a worker grades one submission at a time


class Cluster:
    """The engine of a Dask cluster. Its machines see this repository and the submissions under the same paths as this one.

    Args:
        scheduler: its address, tcp://HOST:PORT, or the path of its scheduler file.
        run: what a worker does with a work.Task.
    """

    def __init__(self, scheduler: str, run: Callable[[work.Task], dict] = work.run):
        self.scheduler = scheduler
        self.run = run

    def results(self, tasks: Iterable[work.Task]) -> Iterator[tuple[work.Task, dict]]:
        """Run tasks, and give each with its result as it comes. What a lost worker did is done again by another one.

        Raises:
            UserError: no scheduler answers, it has no worker, or a worker cannot read this repository.
        """
        from distributed import Client, as_completed
        file = Path(self.scheduler).is_file()
        try:
            client = Client(**{"scheduler_file" if file else "address": self.scheduler}, timeout=10, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"No Dask scheduler answers at {self.scheduler}: {error}. Look at the address, or start one: dask scheduler") from None
        with client:
            workers = _prepare(client, self.scheduler)

            def unpack(packed):
                """On a worker. The scheduler, which looks at what it passes on, need not know this repository."""
                import pickle

                from instructor.batch.cluster import run_alone
                return run_alone(*pickle.loads(packed))

            tasks, task_of = iter(tasks), {}

            def submit(count):
                """Send so many more tasks; their futures."""
                for task in islice(tasks, count):
                    future = client.submit(unpack, pickle.dumps((self.run, task)), pure=False)
                    task_of[future.key] = task
                    yield future

            done = as_completed(list(submit(AHEAD * workers)), loop=client.loop)
            for future in done:
                done.update(submit(1))
                yield task_of.pop(future.key), work.result_of(future)


def run_alone(run: Callable[[work.Task], dict], task: work.Task) -> dict:
    """Run a task in this process, after those that other threads of it run."""
    with ONE:
        return run(task)


def _prepare(client, scheduler):
    """Let all workers, those that come later, too, find this repository; the number of those that are here."""
    from distributed import WorkerPlugin

    class Repository(WorkerPlugin):      # defined here, so that it is sent as it is: a worker cannot import it yet
        name = "repository"

        def __init__(self, root):
            self.root = root

        def setup(self, worker):
            import os
            import sys
            if not os.path.isdir(os.path.join(self.root, "instructor", "batch")):
                raise FileNotFoundError(f"{worker.address} cannot read {self.root}")
            if self.root not in sys.path:
                sys.path.insert(0, self.root)

    try:
        client.wait_for_workers(1, timeout=60)
        client.register_plugin(Repository(str(ROOT)))
    except TimeoutError:
        raise UserError(f"The Dask scheduler at {scheduler} has no workers. Start some: dask worker {scheduler} --nthreads 1") from None
    except FileNotFoundError as error:
        raise UserError(f"{error}. Workers need this repository under the same path, as on a shared file system.") from None
    return len(client.scheduler_info(n_workers=-1)["workers"])
