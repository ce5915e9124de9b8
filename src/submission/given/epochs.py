"""Training examples, drawn a whole epoch at a time: given, and not needed to
understand the trainer.
"""

import contextlib
import ctypes
import random
import signal
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


@contextlib.contextmanager
def own_random_numbers(seed: int):
    """Seed Python's, NumPy's and torch's CPU random number generators within the block, and restore
    them afterwards.
    """
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed would change dropout on the GPUs
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])


def draw(dataset: Dataset, seed: int, epoch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw the rows of an epoch, in training order. They depend only on the seed and the epoch, not
    on the process that draws them.

    Returns:
        x and y, int32, (rows, T), and for each row the length up to its last target.
    """
    with own_random_numbers(hash((seed, epoch)) % 2**63):
        rows = [dataset[i] for i in torch.randperm(len(dataset)).tolist()]
    # Tensors would go between processes in shared memory, of which many containers have 64 MB;
    # arrays go through a pipe, which takes milliseconds.
    x, y = (torch.stack(column).int().numpy() for column in zip(*rows))
    return x, y, ((y != 0) * np.arange(1, y.shape[1] + 1)).max(1).clip(1)


def epochs_ahead(dataset: Dataset, config, first: int, device: torch.device):
    """The epochs of a training from number `first` on, each a list of batches (x, y), int64, on the
    device. On Linux, config.num_workers processes draw them ahead.

    A batch is cut after its last target, to which no position before it attends. Batches of rows of
    similar length would need less padding, but the model learns less from them.
    """
    workers = config.num_workers if sys.platform.startswith("linux") else 0
    ahead = {"multiprocessing_context": "fork", "prefetch_factor": 1}
    is_gpu = device.type == "cuda"
    loader = DataLoader(
        range(first, config.max_epochs),
        batch_size=None,
        collate_fn=lambda epoch: draw(dataset, config.seed, epoch),
        num_workers=workers,
        worker_init_fn=_end_with_parent,
        pin_memory=is_gpu,  # in effect: receive them in a thread, so that this one never waits
        **(ahead if workers else {}),
    )
    # a few more columns cost a GPU almost no time, and each new width costs it some
    multiple = 1 if device.type == "cpu" else 16
    for x, y, lengths in loader:
        columns = [torch.from_numpy(tokens) for tokens in (x, y)]
        if is_gpu:  # only CUDA keeps the memory that it copies from until the copy is done
            columns = [tokens.pin_memory() for tokens in columns]
        columns = [tokens.to(device, non_blocking=is_gpu).long() for tokens in columns]
        size = config.batch_size
        widths = [
            -(-max(lengths[i : i + size]) // multiple) * multiple for i in range(0, len(x), size)
        ]
        yield [
            (xs[:, :width], ys[:, :width])
            for xs, ys, width in zip(*(tokens.split(size) for tokens in columns), widths)
        ]


def _end_with_parent(_):
    """Have a worker end when this process does: one that writes an epoch into a pipe that nobody
    reads would wait forever. Ctrl-C, which a terminal sends to all, is for this process alone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
