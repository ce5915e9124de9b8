"""Training steps as CUDA graphs, on NVIDIA GPUs: given, and not needed to understand the trainer.

A step of a small model is a few hundred operations of a few microseconds each. Python takes longer
to launch them one by one than the GPU to run them. A graph is recorded once per batch shape, and
launched as a whole. Python code in the model that does not call torch, such as counting, printing
or drawing from `random`, then runs only in the first steps. What a model computes in a recorded
step and keeps (a table, say), later steps may overwrite: compute it in __init__.
"""

import contextlib
import traceback
import warnings
from collections import Counter
from collections.abc import Callable

import torch

from ..utils import TrainingError

FIRST = 3  # direct calls: libraries choose their algorithms, and Adam creates its state
MOST = 64  # shapes; each graph takes some megabytes


@contextlib.contextmanager
def recorded(step: Callable, device: torch.device, enabled: bool = True):
    """Yield a function that does what step(x, y) does, and frees the graphs at the block's end.

    Args:
        step: launches the same operations on the same tensors whenever x and y have the same shape,
            and never waits for the GPU; returns the loss.
        enabled: otherwise, yield step itself.

    Raises:
        TrainingError: a step could not be recorded; not so where memory ran out.
    """
    if not enabled:
        yield step
        return
    # before anything is recorded, AdamW warns that this is useless
    warnings.filterwarnings("ignore", message="This instance was constructed with capturable")
    seen, replays, pool = Counter(), {}, torch.cuda.graph_pool_handle()

    def step_or_replay(x, y):
        shape = tuple(x.shape)
        seen[shape] += 1
        if shape not in replays:
            if seen[shape] <= FIRST or len(replays) >= MOST:
                return step(x, y)
            replays[shape] = record(step, x, y, pool)
        return replays[shape](x, y)

    # graphs cannot be recorded on the default stream
    stream, shared = torch.cuda.Stream(device), torch.cuda.current_stream(device)
    stream.wait_stream(shared)
    try:
        with torch.cuda.stream(stream):
            yield step_or_replay
    finally:
        shared.wait_stream(stream)
        replays.clear()


def record(step: Callable, x: torch.Tensor, y: torch.Tensor, pool) -> Callable:
    """Record step(x, y) without running it; returns a function that runs it on inputs of the same
    shape. All graphs share the memory `pool`: only one runs at a time.
    """
    x, y = x.clone(), y.clone()  # a graph always uses the addresses of its recording
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        # thread_local: the thread that receives the next epochs may keep running
        with torch.cuda.graph(graph, pool, stream, capture_error_mode="thread_local"):
            loss = step(x, y)
    except RuntimeError as error:
        while isinstance(error.__context__, RuntimeError):
            error = error.__context__  # the first error says most
        if isinstance(error, torch.OutOfMemoryError):
            raise error from None
        frames = traceback.extract_tb(error.__traceback__)
        why = (str(error).splitlines() or [type(error).__name__])[0]
        last = [f for f in frames if not f.filename.startswith(torch.__path__[0])][-1]
        raise TrainingError(
            f"a step cannot be recorded as a CUDA graph ({why}): "
            f"{last.filename}, line {last.lineno}. Perhaps the model reads a value from the GPU "
            "there, by .item(), print or `if tensor`. Use --no-graphs, which is slower."
        ) from error

    def replay(new_x, new_y):
        x.copy_(new_x)
        y.copy_(new_y)
        graph.replay()
        return loss.clone()  # the next graph may overwrite it

    return replay
