"""Grading on a Dask cluster, however its scheduler and workers were started (by hand, SLURM,
Kubernetes).
"""

import asyncio
import contextlib
import json
import logging
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from autograder.isolation import strength
from autograder.report import harmless
from common.files import UserError
from instructor import ROOT

from . import work

# tasks sent ahead per worker: memory stays small, and no worker waits
AHEAD = 3
# grading changes its process's working directory: a worker grades one submission at a time
ONE = threading.Lock()
ANSWERS = 10  # seconds for the scheduler to answer
COMES = 30  # seconds for a first worker to connect
HELP = "(docs/instructors.md, On a cluster)"


class Cluster:
    """The engine of a Dask cluster. Its machines must see this repository and the submissions under
    the same paths as this one.

    Args:
        scheduler: its address, tcp://HOST:PORT or tls://HOST:PORT, or the path of its scheduler
            file. Certificates for tls come from Dask's configuration.
        run: what a worker does with a work.Task.
    """

    def __init__(self, scheduler: str, run: Callable[[work.Task], dict] = work.run):
        self.scheduler = scheduler
        self.run = run

    def level(self) -> str:
        """The weakest isolation level of the workers: each grades with its own.

        Raises:
            UserError: no scheduler answers, it has no worker, or a worker cannot read this
                repository.
        """

        def here():
            """Runs on a worker."""
            import instructor  # noqa: F401     makes the modules of src/ importable
            from autograder.isolation import choose

            return choose().level

        with self._client() as client:
            return min(client.run(here).values(), key=strength)

    def results(self, tasks: Iterable[work.Task]) -> Iterator[tuple[work.Task, dict]]:
        """Run tasks, and yield each with its result as it arrives. Another worker redoes the tasks
        of a lost one.

        Raises:
            UserError: as in level; or the scheduler is lost.
        """
        from distributed import as_completed

        with self._client() as client:
            workers = len(client.scheduler_info(n_workers=-1)["workers"])

            def unpack(packed):
                """Runs on a worker. Tasks are packed so that the scheduler need not import this
                repository.
                """
                import pickle

                from instructor.grading.engines.cluster import run_alone

                return run_alone(*pickle.loads(packed))

            tasks, task_of = iter(tasks), {}

            def submit(count):
                """Submit `count` more tasks; yields their futures."""
                for task in islice(tasks, count):
                    future = client.submit(unpack, pickle.dumps((self.run, task)), pure=False)
                    task_of[future.key] = task
                    yield future

            done = as_completed(list(submit(AHEAD * workers)), loop=client.loop)
            for future in done:
                if future.cancelled():
                    raise UserError(
                        f"The Dask scheduler at {harmless(self.scheduler)} is lost. What was "
                        "graded is kept: restart it, then run the same command."
                    )
                done.update(submit(1))
                yield task_of.pop(future.key), work.result_of(future)

    @contextlib.contextmanager
    def _client(self):
        """A client of the scheduler, whose workers can import this repository."""
        from distributed import Client

        # their logs repeat the messages below
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        shown = harmless(self.scheduler)
        try:
            address = _address(self.scheduler)
            # a Client that cannot connect writes log lines, and waits when closed
            asyncio.run(_reach(address))
            client = Client(address, timeout=ANSWERS, set_as_default=False)
        except Exception as error:  # whatever an address makes Dask raise
            raise UserError(
                f"No Dask scheduler answers at {shown}: {_why(error)}. Check its address, or "
                f"start one {HELP}."
            ) from None
        with client:
            _prepare(client, shown)
            yield client


def _address(scheduler):
    """The address as given, or from the scheduler file.

    Raises:
        ValueError: there is none.
    """
    if not Path(scheduler).is_file():
        if ":" not in scheduler:
            raise ValueError(
                "there is no such file, and an address is tcp://HOST:PORT or tls://HOST:PORT"
            )
        return scheduler
    try:
        return str(json.loads(Path(scheduler).read_text(encoding="utf-8"))["address"])
    except (ValueError, TypeError, KeyError):
        raise ValueError("it is not a scheduler file") from None


async def _reach(address):
    """Raise an error unless a scheduler answers."""
    from distributed import Security
    from distributed.core import rpc

    connection = Security().get_connection_args("client")
    if address.startswith("tls:") and not connection["ssl_context"]:
        raise ValueError("Dask's configuration, distributed.comm.tls, has no certificates")
    async with rpc(address, connection_args=connection, timeout=ANSWERS) as scheduler:
        kind = (await asyncio.wait_for(scheduler.identity(), ANSWERS + 2))["type"]
        if kind != "Scheduler":
            raise ValueError(f"it is a {kind.lower()}")


def _why(error):
    """The cause of an error, in one line: the deepest one in its chain with a message."""
    said = f"no answer in {ANSWERS} seconds"
    while error:
        said = harmless(str(error)).split("\n")[0] or said
        error = error.__cause__
    return said


def run_alone(run: Callable[[work.Task], dict], task: work.Task) -> dict:
    """Run a task in this process, one at a time across its threads."""
    with ONE:
        return run(task)


def _prepare(client, scheduler):
    """Let all workers, later ones included, import this repository."""
    from distributed import WorkerPlugin

    # defined here, so that it is sent as it is: a worker cannot import it yet
    class Repository(WorkerPlugin):
        name = "repository"

        def __init__(self, root):
            self.root = root

        def setup(self, worker):
            import os
            import sys

            if not os.path.isdir(os.path.join(self.root, "instructor", "grading")):
                raise FileNotFoundError(f"{worker.address} cannot read {self.root}")
            if self.root not in sys.path:
                sys.path.insert(0, self.root)

    try:
        client.wait_for_workers(1, timeout=COMES)
        client.register_plugin(Repository(str(ROOT)))
    except TimeoutError:
        raise UserError(
            f"The Dask scheduler at {scheduler} has no workers. Start some {HELP}."
        ) from None
    except FileNotFoundError as error:
        raise UserError(
            f"{error}. Workers need this repository under the same path, as on a shared file "
            "system."
        ) from None
