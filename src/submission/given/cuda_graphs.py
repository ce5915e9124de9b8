"""A training step as one CUDA graph: given, and used on NVIDIA GPUs alone.

A step of a small model is some hundred operations of a few microseconds each, and Python takes
longer to launch them one by one than the GPU to run them. A graph is recorded once for each shape
of batch, and launched as a whole.
"""

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable

import torch
from tqdm import tqdm


def record_on_gpu(step: Callable, x: torch.Tensor, y: torch.Tensor, pool) -> Callable:
    """Record step(x, y) without running it; returns a function of (x, y) of the same shape that
    runs it.

    Args:
        step: launches the same operations on the same tensors whenever x and y have this shape, and
            never waits for the GPU; returns the loss.
        pool: the memory that all graphs share, from torch.cuda.graph_pool_handle(): only one runs
            at a time.
    """
    x, y = x.clone(), y.clone()  # a graph reads and writes where it did when it was recorded
    graph = torch.cuda.CUDAGraph()
    # The thread that pins the next epochs' memory may go on meanwhile.
    with torch.cuda.graph(
        graph, pool=pool, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"
    ):
        loss = step(x, y)

    def replay(new_x, new_y):
        x.copy_(new_x)
        y.copy_(new_y)
        graph.replay()
        return loss.clone()  # the next graph may write over it

    return replay


@contextlib.contextmanager
def no_waiting():
    """Within the block, what waits for the GPU (.item(), `if tensor:`, printing a tensor) raises
    RuntimeError.
    """
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


class RecordedSteps:
    """Calls step(x, y) as it is a few times for each shape, then records it, and replays the record
    from then on.

    If a step cannot be recorded (a model that looks at numbers on the way, say), `failed` says why,
    and all steps are called as they are.

    Args:
        step: as for record_on_gpu; called as it is, it may be called a second time for the same
            batch if it waits.
        record, watch: for tests; how to record, and a context in which a step that waits raises
            RuntimeError.
    """

    FIRST = 3  # steps as they are: libraries choose their algorithms, and Adam makes its state
    MOST = 64  # shapes: each graph takes some megabytes

    def __init__(
        self, step: Callable, record: Callable = record_on_gpu, watch: Callable = no_waiting
    ):
        self.step, self.record, self.watch = step, record, watch
        self.pool = None
        self.seen = Counter()
        self.replays = {}
        self.failed = ""

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """One step; returns the loss, which stays on the GPU."""
        shape = tuple(x.shape)
        self.seen[shape] += 1
        if self.failed or self.seen[shape] < self.FIRST:
            return self.step(x, y)
        try:
            if shape in self.replays:
                return self.replays[shape](x, y)
            if self.seen[shape] > self.FIRST and len(self.replays) < self.MOST:
                if self.pool is None and torch.cuda.is_available():
                    self.pool = torch.cuda.graph_pool_handle()
                self.replays[shape] = self.record(self.step, x, y, self.pool)
                return self.replays[shape](x, y)
            with self.watch():
                return self.step(x, y)
        except RuntimeError as error:
            # the end of a record that failed says less than its cause
            while isinstance(error.__context__, RuntimeError):
                error = error.__context__
            self.failed = str(error).splitlines()[0]
            self.replays.clear()
            tqdm.write(
                "Steps run operation by operation, which is slower: they cannot be recorded as a "
                f"CUDA graph ({self.failed})."
            )
            return self.step(x, y)
