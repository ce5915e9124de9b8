"""Grading on a Dask cluster, however its scheduler and workers were started (by hand, SLURM,
Kubernetes). Its scheduler gives the tasks of a lost worker to others.
"""

import asyncio
import contextlib
import json
import logging
import pickle
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from autograder.isolation import strength
from autograder.report import harmless
from autograder.trial import choose
from common.files import UserError
from instructor import ROOT

from . import work, work_off

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
        with self._client() as client:
            try:
                levels = client.run(*_call(isolation_level))
            except ImportError:
                raise UserError(
                    f"A worker cannot read {ROOT}. Workers need this repository under the same "
                    "path, as on a shared file system."
                ) from None
            return min(levels.values(), key=strength)

    def results(self, tasks: Iterable[work.Task]) -> Iterator[tuple[work.Task, dict]]:
        """Run tasks, and yield each with its result as it arrives.

        Raises:
            UserError: no scheduler answers, it has no worker, or it is lost.
        """
        with self._client() as client:
            executor = client.get_executor(pure=False)
            workers = len(client.scheduler_info(n_workers=-1)["workers"])
            lost = yield from work_off(
                lambda task: executor.submit(*_call(run_alone, self.run, task)),
                iter(tasks),
                AHEAD * workers,
            )
        if lost:
            raise UserError(
                f"The Dask scheduler at {harmless(self.scheduler)} is lost. What was graded is "
                "kept: restart it, then run the same command."
            )

    @contextlib.contextmanager
    def _client(self):
        """A client of the scheduler, which has a worker."""
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
            try:
                client.wait_for_workers(1, timeout=COMES)
            except TimeoutError:
                raise UserError(
                    f"The Dask scheduler at {shown} has no workers. Start some {HELP}."
                ) from None
            yield client


def isolation_level() -> str:
    """The isolation level of this machine."""
    return choose().level


def run_alone(run: Callable[[work.Task], dict], task: work.Task) -> dict:
    """Run a task in this process, one at a time across its threads."""
    with ONE:
        return run(task)


def _call(function, *arguments):
    """A call of a function of this repository for a worker, as (function, its arguments). Neither
    the scheduler nor a worker has to import the repository to read it.
    """

    # a function within a function is sent as it is, not by its name
    def unpack(root, packed):
        import pickle
        import sys

        if root not in sys.path:
            sys.path.insert(0, root)
        import instructor  # noqa: F401     makes the modules of src/ importable

        function, arguments = pickle.loads(packed)
        return function(*arguments)

    return unpack, str(ROOT), pickle.dumps((function, arguments))


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
    from distributed.comm import get_address_host_port
    from distributed.core import rpc

    connection = Security().get_connection_args("client")
    try:
        async with rpc(address, connection_args=connection, timeout=ANSWERS) as scheduler:
            kind = (await asyncio.wait_for(scheduler.identity(), ANSWERS + 2))["type"]
    except OSError:
        # Dask tells of its last try alone, which may lack the time to learn why it failed
        socket.create_connection(get_address_host_port(address), timeout=1).close()
        raise
    if kind != "Scheduler":
        raise ValueError(f"it is a {kind.lower()}")


def _why(error):
    """The cause of an error, in one line: the deepest one in its chain with a message."""
    reason = f"no answer in {ANSWERS} seconds"
    while error:
        reason = harmless(str(error)).split("\n")[0] or reason
        error = error.__cause__
    return reason
