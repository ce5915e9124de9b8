"""Which device a job takes, and what it says about it."""

import pytest
import torch

from common.files import UserError
from jobs import devices


def test_a_torch_for_cuda_that_finds_no_gpu_says_why(monkeypatch, capsys):
    """As with a driver that is too old."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    assert devices.choose_device(None) == "cpu"
    said = capsys.readouterr().out
    assert (
        "built for CUDA 12.8 and finds no GPU" in said
        and "driver" in said
        and "TORCH_BUILD=cu126" in said
    )
    assert devices.choose_device("cpu") == "cpu" and not capsys.readouterr().out


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UserError, match="finds no such device here. Available: cpu"):
        devices.choose_device("mps")
