"""Training in several processes, each with a GPU or a share of the cores: what `--nproc N` does, by
torchrun's means.

Each process draws the same epochs, which takes it no longer than one process alone, and takes its
share of the rows of each batch (Trainer._one_step). So the batches are those of a single process,
and the update is the same up to the order of sums. The first process (rank 0) writes and prints;
the others are silent.
"""

import argparse
import contextlib
import logging
import os
import sys
import threading
import time
import warnings
from pathlib import Path

from common.cores import cores
from common.files import Interrupted, UserError

RUN = Path(__file__).resolve().parents[2] / "run.py"


def workers(most: int) -> int:
    """How many of `most` processes that draw examples have a core each, beside the one that trains;
    at least 1, if any are wanted.
    """
    share = cores() // int(_torchrun("LOCAL_WORLD_SIZE", "1"))
    return min(most, max(1, share - 1))


def world_size() -> int:
    """How many processes train together; torchrun tells each of them. 1 for one that was started by
    itself.
    """
    return int(_torchrun("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process is the one that writes and speaks."""
    return int(_torchrun("RANK", "0")) == 0


def _torchrun(name, alone):
    """What torchrun says; clusters set variables of the same names for other purposes."""
    return os.environ[name] if "TORCHELASTIC_RUN_ID" in os.environ else alone


def processes(text: str) -> int:
    """A number of processes, as an argument of the command line."""
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(
            f"a number of processes is a whole number from 1 to 1024, not {text!r}"
        )
    return int(text)


def launch(nproc: int, arguments: list[str]) -> int:
    """Run run.py with these arguments in nproc processes on this machine; returns the first one's
    exit code.

    Raises:
        UserError: a process was ended from outside.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.CRITICAL)  # run.py says what happened
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores() // nproc)))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=nproc,
        run_id="run",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
    )
    try:
        elastic_launch(config, sys.executable)(str(RUN), *arguments)
    except ChildFailedError as error:
        # of those that were ended, it is negative
        code = max(failure.exitcode for failure in error.failures.values())
        if code >= 0:
            return code
        signal = -min(error.failures.values(), key=lambda failure: failure.timestamp).exitcode
        raise UserError(
            f"One of the {nproc} processes was ended from outside (signal "
            f"{signal}{', perhaps for want of memory' * (signal == 9)}). The same command with "
            "--resume goes on."
        ) from None
    except SignalException:  # Ctrl-C, of which the processes have told
        return 130
    return 0


@contextlib.contextmanager
def joined(device: str):
    """Join the other processes, if there are any; gives the device of this one.

    Raises:
        UserError: there are fewer GPUs than processes on this machine, the device is none that
            several can train on, or another process is gone.
    """
    if world_size() == 1:
        yield device
        return
    import torch
    from torch import distributed

    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if device == "cuda":
        there = torch.cuda.device_count()
        if int(os.environ["LOCAL_WORLD_SIZE"]) > there:
            raise UserError(
                f"{os.environ['LOCAL_WORLD_SIZE']} processes want a GPU each, and there are "
                f"{there}. Ask for fewer."
            )
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    elif device != "cpu":
        raise UserError(
            f"Several processes train on cpu or on cuda (a GPU each), not on {device}. Leave out "
            "--device or --nproc."
        )
    try:
        distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        yield device
        distributed.barrier()  # what the first one wrote is there when the others go on
    except RuntimeError as error:
        if not isinstance(error, distributed.DistError) and "gloo" not in str(error):
            raise
        time.sleep(10)  # who started the processes is about to end this one, too, and knows more
        raise UserError(
            "Another of the processes is gone. The same command with --resume goes on."
        ) from None
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone: it would train on, and write over what
    another run writes.
    """
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@contextlib.contextmanager
def in_silence():
    """What all processes but the first run in: nothing is printed, and what goes wrong is told only
    if the first one, which met the same, doesn't end them soon.
    """
    sys.stdout = open(os.devnull, "w", encoding="utf-8")
    warnings.simplefilter("ignore")
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        os._exit(130)
    except Exception:
        time.sleep(60)
        raise
