"""Training examples, drawn a whole epoch at a time: given."""

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


class Epochs(Dataset):
    """A dataset whose item e is the whole epoch e. It depends only on the seed and e, not on the
    process that draws it.

    A batch is cut to its longest row. Batches of rows of similar length would need less padding,
    but the model learns less from them.
    """

    def __init__(self, dataset: Dataset, batch_size: int, seed: int, multiple: int = 1):
        self.dataset = dataset
        self.batch_size = batch_size
        self.seed = seed
        self.multiple = multiple  # batch widths are multiples of this, which means fewer shapes

    def __len__(self) -> int:
        return 2**31  # there is always another epoch

    def __getitem__(self, epoch: int) -> tuple[torch.Tensor, torch.Tensor, list[tuple[int, int]]]:
        """Draw an epoch, without changing the state of any random number generator.

        Returns:
            x and y, int16 (int32 if tokens need it), (rows of the dataset, T), in training order,
            and the batches to cut them into, (rows, columns) each. Only padding is cut off.
        """
        with own_random_numbers(hash((self.seed, epoch)) % 2**63):
            rows = [self.dataset[i] for i in torch.randperm(len(self.dataset)).tolist()]
        x, y = (torch.stack(column) for column in zip(*rows))
        # the data is copied between processes, so keep it small
        dtype = torch.int16 if max(x.max(), y.max()) < 2**15 else torch.int32
        # Trailing columns where both x and y are padding can be cut: no earlier position attends to
        # them.
        used = ((x != 0) | (y != 0)).int()
        batches = (x.size(1) - used.flip(1).argmax(1)).split(self.batch_size)
        widths = [-(-int(lengths.max()) // self.multiple) * self.multiple for lengths in batches]
        return (
            x.to(dtype),
            y.to(dtype),
            [(len(lengths), min(width, x.size(1))) for lengths, width in zip(batches, widths)],
        )


def epochs_ahead(epochs: Epochs, first: int, last: int, workers: int, in_thread: bool):
    """The epochs from `first` up to, not including, `last`, as Epochs has them.

    Args:
        workers: processes that draw epochs ahead, on Linux; elsewhere this process draws them.
        in_thread: receive them in a thread, so that this one, which launches the work of a GPU,
            does not wait.
    """
    number = workers if sys.platform.startswith("linux") else 0
    ahead = {
        "num_workers": number,
        "multiprocessing_context": "fork",
        "prefetch_factor": 1,
        "worker_init_fn": _end_with_parent,
    }
    loader = DataLoader(
        epochs,
        batch_size=None,
        sampler=range(first, last),
        collate_fn=_as_arrays,
        pin_memory=in_thread,
        **(ahead if number else {}),
    )
    for x, y, batches in loader:
        yield torch.from_numpy(x), torch.from_numpy(y), batches


def _end_with_parent(_):
    """Have a worker end when this process does: one that writes an epoch into a pipe that nobody
    reads would wait forever. Ctrl-C, which a terminal sends to all, is for this process alone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _as_arrays(epoch):
    """Tensors go between processes in shared memory, of which many containers have 64 MB; arrays
    go through a pipe, which takes milliseconds.
    """
    x, y, batches = epoch
    return x.numpy(), y.numpy(), batches
