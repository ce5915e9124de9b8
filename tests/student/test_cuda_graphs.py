"""Recording steps: what is replayed is what would have been called, and a step that cannot be
recorded is called as it is.
"""

import contextlib

import pytest
import torch


@pytest.fixture
def recorded(submission):
    """A function that makes RecordedSteps of a step whose calls are listed, and the list. What
    records is a stand-in that works on a CPU: like a CUDA graph, it keeps the tensors that it was
    recorded with, and reads them again.
    """
    from submission.given.cuda_graphs import RecordedSteps

    def record(step, x, y, pool):
        x, y = x.clone(), y.clone()

        def replay(new_x, new_y):
            x.copy_(new_x)
            y.copy_(new_y)
            return step(x, y).clone()

        return replay

    def make(record=record, watch=contextlib.nullcontext, error=None):
        calls = []

        def step(x, y):
            calls.append(tuple(x.shape))
            if error is not None and len(calls) == error:
                raise RuntimeError("it waited for the GPU\nmore")
            return (x * y).sum()

        return RecordedSteps(step, record, watch), calls

    return make


def batch(rows, columns):
    return torch.randn(rows, columns), torch.randn(rows, columns)


def test_replays_give_what_steps_give(recorded):
    steps, _ = recorded()
    for n in range(24):
        x, y = batch(*((3, 5), (2, 7), (3, 4))[n % 3])
        assert torch.equal(steps(x, y), (x * y).sum())
    assert set(steps.replays) == {(3, 5), (2, 7), (3, 4)} and not steps.failed


@pytest.mark.parametrize("what", ["waits", "fails to record"])
def test_what_cannot_be_recorded_is_called_as_it_is(recorded, what):
    def record(step, x, y, pool):
        raise RuntimeError("no graph\nmore")

    steps, calls = recorded(record) if what == "fails to record" else recorded(error=3)
    for _ in range(8):
        x, y = batch(2, 3)
        assert torch.equal(steps(x, y), (x * y).sum())
    assert not steps.replays and steps.failed == (
        "no graph" if what == "fails to record" else "it waited for the GPU"
    )
    # the step that waited is called again
    assert len(calls) == (8 if what == "fails to record" else 9)
