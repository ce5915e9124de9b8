"""Recording steps: what is replayed is what would have been called, and a step that cannot be
recorded says what to do. A GPU is stood in for: no graph can be recorded without one.
"""

import contextlib
import weakref
from types import SimpleNamespace

import pytest
import torch


@pytest.fixture
def cuda_graphs(submission, monkeypatch):
    """The module, with a stand-in for what it calls in torch.cuda. Like a CUDA graph, what it
    records keeps the tensors that it was recorded with, and reads them again.
    """
    from submission.given import cuda_graphs

    stream = SimpleNamespace(wait_stream=lambda other: None)
    fakes = {
        "Stream": lambda device: stream,
        "current_stream": lambda device=None: stream,
        "stream": contextlib.nullcontext,
        "graph_pool_handle": lambda: "pool",
        "CUDAGraph": lambda: "graph",
        "graph": lambda *_, **__: ends_with_an_error(),
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    return cuda_graphs


@contextlib.contextmanager
def ends_with_an_error():
    """As after an error in a recording: its end fails, too, and says less."""
    try:
        yield
    except BaseException:
        raise RuntimeError("the recording had failed")  # noqa: B904


def batch(rows, columns):
    return torch.randn(rows, columns), torch.randn(rows, columns)


def test_replays_give_what_steps_give(cuda_graphs, monkeypatch):
    calls, freed = [], []

    def step(x, y):
        calls.append(tuple(x.shape))
        return (x * y).sum()

    def record(step, x, y, pool):
        x, y = x.clone(), y.clone()

        def replay(new_x, new_y):
            x.copy_(new_x)
            y.copy_(new_y)
            return (x * y).sum()

        weakref.finalize(replay, freed.append, tuple(x.shape))
        return replay

    monkeypatch.setattr(cuda_graphs, "record", record)
    shapes = [(3, 5), (2, 7), (3, 4)]
    with cuda_graphs.recorded(step, torch.device("cuda")) as steps:
        for n in range(24):
            x, y = batch(*shapes[n % 3])
            assert torch.equal(steps(x, y), (x * y).sum())
        assert sorted(calls) == sorted(3 * shapes) and not freed
    assert sorted(freed) == sorted(shapes)


def fails(error):
    def step(x, y):
        raise error

    return step


def test_a_step_that_cannot_be_recorded_says_where_and_what_to_do(cuda_graphs):
    from submission.trainer import TrainingError

    with pytest.raises(
        TrainingError, match=r"graph \(it waited\): .*test_cuda_graphs.py, line \d+"
    ) as e:
        cuda_graphs.record(fails(RuntimeError("it waited\nmore")), *batch(2, 3), "pool")
    assert "--no-graphs" in str(e.value)


def test_no_memory_is_no_fault_of_recording(cuda_graphs):
    with pytest.raises(torch.OutOfMemoryError, match="^CUDA out of memory"):
        error = torch.OutOfMemoryError("CUDA out of memory")
        cuda_graphs.record(fails(error), *batch(2, 3), "pool")
