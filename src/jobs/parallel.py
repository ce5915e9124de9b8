"""Train in several processes, each with a GPU or a share of the cores: `--nproc N`, built on
torchrun.

Each process draws the same epochs, which takes no longer than in a single process, and trains on
its share of the rows of each batch. So the batches are those of a single process, and the update is
the same up to the order of summation. The first process (rank 0) writes and prints; the others are
silent.
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
from jobs.errors import killed

RUN = Path(__file__).resolve().parents[1] / "run.py"


def workers(most: int) -> int:
    """How many of `most` data-loading workers can have a core each, besides the training process;
    at least 1, if any are wanted.
    """
    share = cores() // int(_torchrun("LOCAL_WORLD_SIZE", "1"))
    return min(most, max(1, share - 1))


def world_size() -> int:
    """The number of processes that train together, from torchrun; 1 without torchrun."""
    return int(_torchrun("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process is the one that writes and prints."""
    return int(_torchrun("RANK", "0")) == 0


def _torchrun(name, alone):
    """A variable set by torchrun, else `alone`; clusters use the same names for other purposes."""
    return os.environ[name] if "TORCHELASTIC_RUN_ID" in os.environ else alone


def processes(text: str) -> int:
    """Argument type: a number of processes."""
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(
            f"a number of processes is a whole number from 1 to 1024, not {text!r}"
        )
    return int(text)


def launch(nproc: int, arguments: list[str]) -> int:
    """Run run.py with these arguments in nproc processes on this machine; returns 0, the exit code
    of a process that failed, or 130 after Ctrl-C.

    Raises:
        UserError: a process was killed from outside.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable(logging.CRITICAL)  # run.py reports what happened
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
        # it is negative for a killed process
        code = max(failure.exitcode for failure in error.failures.values())
        if code >= 0:
            return code
        signal = -min(error.failures.values(), key=lambda failure: failure.timestamp).exitcode
        raise killed(f"One of the {nproc} processes", signal) from None
    except SignalException:  # Ctrl-C, which the processes have reported
        return 130
    return 0


@contextlib.contextmanager
def joined(device: str):
    """Join the other processes, if there are any; yields this one's device.

    Raises:
        UserError: there are fewer GPUs than processes on this machine, the device doesn't support
            training in several processes, or another process is gone.
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
                f"{os.environ['LOCAL_WORLD_SIZE']} processes need a GPU each, but there are only "
                f"{there}. Use fewer processes."
            )
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    elif device != "cpu":
        raise UserError(
            f"Several processes can train on cpu or cuda (a GPU each), not on {device}. Leave out "
            "--device or --nproc."
        )
    try:
        distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        yield device
        distributed.barrier()  # the others wait until the first one has written its files
    except RuntimeError as error:
        if not isinstance(error, distributed.DistError) and "gloo" not in str(error):
            raise
        time.sleep(10)  # the parent is about to end this process, too, and reports more
        raise UserError(
            "Another of the processes is gone. The same command with --resume continues."
        ) from None
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: otherwise it would keep training, and overwrite the
    files of another run.
    """
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@contextlib.contextmanager
def in_silence():
    """Silence a process that is not the first. It reports an error only if the first process, which
    has the same error, doesn't end it soon.
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
