"""Train in several processes, each with a GPU or a share of the cores:

    torchrun --nproc-per-node 2 src/run.py TARGET

Each process draws the same epochs, which takes no longer than in a single process, and trains on
its share of the rows of each batch. So the batches are those of a single process, and the update is
the same up to the order of summation, and to dropout, which each process draws for its rows. The
first process (rank 0) writes and prints.
"""

import contextlib
import os
import sys
import time

from common.cores import cores
from common.files import Interrupted, UserError


def world_size() -> int:
    """The number of processes that train together, from torchrun; 1 without torchrun."""
    return int(_torchrun("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process is the one that writes and prints."""
    return int(_torchrun("RANK", "0")) == 0


def workers(most: int) -> int:
    """How many of `most` data-loading workers can have a core each, besides the training process;
    at least 1, if any are wanted.
    """
    share = cores() // int(_torchrun("LOCAL_WORLD_SIZE", "1"))
    return min(most, max(1, share - 1))


def _torchrun(name, alone):
    """A variable set by torchrun, else `alone`; clusters use the same names for other purposes."""
    return os.environ[name] if "TORCHELASTIC_RUN_ID" in os.environ else alone


@contextlib.contextmanager
def joined(device: str, begins: str):
    """Join the other processes, if there are any; yields this one's device.

    Args:
        device: "cpu", or "cuda" for a GPU each.
        begins: how this process would begin, which has to be the same for all.

    Raises:
        UserError: the processes differ in how they begin, or cannot train on this device.
    """
    if world_size() == 1:
        yield device
        return
    from torch import distributed

    if device not in ("cpu", "cuda"):
        raise UserError(
            f"Several processes can train on cpu or cuda (a GPU each), not on {device}. Leave out "
            "--device."
        )
    backend = "gloo"
    if device == "cuda":
        device, backend = f"cuda:{os.environ['LOCAL_RANK']}", "nccl"
        _require_gpu(device)
    distributed.init_process_group(backend)
    try:
        everywhere = [""] * world_size()
        distributed.all_gather_object(everywhere, begins)
        if len({*everywhere}) > 1:
            raise UserError(
                "Some of the processes would continue a checkpoint, and others would begin anew. "
                "Use a folder that all machines share: --out."
            )
        yield device
        distributed.barrier()  # the others wait until the first one has written its files
    finally:
        distributed.destroy_process_group()


def _require_gpu(device):
    import torch

    try:
        torch.cuda.set_device(device)
    except RuntimeError:
        raise UserError(
            f"Each process needs a GPU, but there is no {device}: this machine has "
            f"{torch.cuda.device_count()}. Use fewer processes."
        ) from None


@contextlib.contextmanager
def in_silence():
    """Silence a process that is not the first. It reports an error only if the first process, which
    has the same error, does not end soon, and with it all others.
    """
    sys.stdout = open(os.devnull, "w", encoding="utf-8")
    try:
        yield
    except (Interrupted, KeyboardInterrupt):
        os._exit(130)
    except Exception:
        time.sleep(60)
        raise
