"""Training examples, drawn a whole epoch at a time, and batches in pieces: given."""

import contextlib
import random

import numpy as np
import torch
from torch.utils.data import Dataset


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


# What a second piece costs, as a number of tokens: measured with the preset laptop.
PIECE = 100


def in_pieces(x: torch.Tensor, y: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """A batch, (B, T), as one or two pieces, whichever is less work. Rows are sorted by length, and
    each piece is cut to its last target: nothing before it attends to what comes after.
    """
    lengths = ((y != 0) * torch.arange(1, y.size(1) + 1)).amax(1)
    lengths, order = lengths.sort(descending=True, stable=True)
    longest, *others = lengths.tolist()
    work = {0: len(y) * longest}  # of a first piece with this many rows, and a second
    for rows, length in enumerate(others, start=1):
        if length:  # there is no loss without targets
            work[rows] = rows * longest + (len(y) - rows) * length + PIECE
    first = min(work, key=work.get)
    return [
        (x[rows, : max(1, width)], y[rows, : max(1, width)])
        for rows, width in ((order[:first], longest), (order[first:], int(lengths[first])))
        if len(rows)
    ]
