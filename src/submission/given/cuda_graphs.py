"""A training step as one CUDA graph: given, and used on NVIDIA GPUs only.

A step of a small model is a few hundred operations of a few microseconds each. Python takes longer
to launch them one by one than the GPU to run them. A graph is recorded once per batch shape, and
launched as a whole.
"""

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable

import torch
from tqdm import tqdm


def record_on_gpu(step: Callable, x: torch.Tensor, y: torch.Tensor, pool) -> Callable:
    """Record step(x, y) without running it, and return a function that runs it on inputs of the
    same shape.

    Args:
        step: launches the same operations on the same tensors whenever x and y have this shape, and
            never waits for the GPU; returns the loss.
        pool: memory shared by all graphs, from torch.cuda.graph_pool_handle(): only one runs at a
            time.
    """
    x, y = x.clone(), y.clone()  # a graph always uses the addresses of its recording
    graph = torch.cuda.CUDAGraph()
    try:
        # thread_local: the thread that receives the next epochs may keep running.
        with torch.cuda.graph(
            graph, pool=pool, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"
        ):
            loss = step(x, y)
    except RuntimeError:
        renew_generator(x.device)
        raise

    def replay(new_x, new_y):
        x.copy_(new_x)
        y.copy_(new_y)
        graph.replay()
        return loss.clone()  # the next graph may overwrite it

    return replay


def renew_generator(device: torch.device) -> None:
    """Give a GPU's random number generator a new state, seeded as before.

    After a recording that failed, torch before 2.13 may leave it in the state of a recording, in
    which dropout raises "Offset increment outside graph capture".
    """
    generator = torch.cuda.default_generators[device.index or 0]
    fresh = torch.Generator(device)
    fresh.manual_seed(torch.initial_seed())
    generator.graphsafe_set_state(fresh)


@contextlib.contextmanager
def no_waiting():
    """Within the block, operations that wait for the GPU (.item(), `if tensor:`, printing a tensor)
    raise RuntimeError.
    """
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "this is a prototype feature"
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


class RecordedSteps:
    """Calls step(x, y) directly a few times per shape, then records it and replays the recording.

    If a step cannot be recorded (e.g. because the model inspects values), `failed` says why, and
    all steps are called directly.

    Args:
        step: as for record_on_gpu; a step that waits for the GPU may be called a second time for
            the same batch.
        record, watch: for tests; how to record, and a context in which a step that waits raises
            RuntimeError.
    """

    FIRST = 3  # direct calls: libraries choose their algorithms, and Adam creates its state
    MOST = 64  # shapes; each graph takes some megabytes

    def __init__(
        self, step: Callable, record: Callable = record_on_gpu, watch: Callable = no_waiting
    ):
        self.step, self.record, self.watch = step, record, watch
        self.pool = None
        self.seen = Counter()
        self.replays = {}
        self.failed = ""

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Run one step; returns the loss, which stays on the GPU."""
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
            # the first error in the chain is the most informative
            while isinstance(error.__context__, RuntimeError):
                error = error.__context__
            self.failed = str(error).splitlines()[0]
            self.replays.clear()
            tqdm.write(
                f"CUDA graphs are off: a step could not be recorded ({self.failed}). Training "
                "continues without them, which is slower."
            )
            return self.step(x, y)
