"""Training in several processes, each with a GPU or a share of the cores: given, and of no effect
in one process.
"""

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel


class Processes:
    """The processes that train together, as torchrun started them: this one is number `rank` of
    `world`. All draw the same batches, and each trains on its share of the rows.
    """

    def __init__(self):
        self.rank, self.world = 0, 1
        if distributed.is_available() and distributed.is_initialized():
            self.rank, self.world = distributed.get_rank(), distributed.get_world_size()

    def replicate(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model to call in training: its gradients are averaged over the processes."""
        if self.world == 1:
            return model
        return DistributedDataParallel(model, static_graph=True)

    def mean(self, loss: torch.Tensor) -> torch.Tensor:
        """The mean of the processes' losses."""
        if self.world > 1:
            distributed.all_reduce(loss)
        return loss / self.world

    def differ_in(self, step: int, device: torch.device) -> tuple[int, int] | None:
        """The least and the largest step of all processes, unless these are equal. A process that
        does not see the others' checkpoint would wait forever.
        """
        if self.world == 1:
            return None
        least, most = (torch.tensor(step, device=device) for _ in range(2))
        distributed.all_reduce(least, distributed.ReduceOp.MIN)
        distributed.all_reduce(most, distributed.ReduceOp.MAX)
        return None if least == most else (int(least), int(most))
