"""Data for tests that train, so small that a training takes a moment."""

import torch
from torch.utils.data import Dataset


class Counting(Dataset):
    """Rows that count up, of different lengths drawn from torch's generator, so no two epochs are
    alike.
    """

    def __init__(self, n=37, width=14):
        self.data = list(range(n))
        self.width = width

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        length = int(torch.randint(3, self.width, ()))
        row = (torch.arange(self.width + 1) + idx) % 10 + 1
        row[length + 1 :] = 0
        return row[:-1], row[1:]
