"""Which device a job takes, and what it says about it."""

import argparse

import pytest
import torch

from common.files import UserError
from jobs import devices
from jobs.options import choose_options
from jobs.presets import PRESETS


@pytest.fixture
def mac(monkeypatch):
    """A machine with Apple's GPU, whose rates are what the returned dict says."""
    rates = {"cpu": 40.0, "mps": 20.0}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(devices, "steps_per_second", lambda device, preset: rates[device])
    return rates


@pytest.mark.parametrize(("mps", "chosen"), [(20.0, "cpu"), (60.0, "mps"), (0.0, "cpu")])
def test_a_mac_takes_what_is_faster_and_says_so(mac, mps, chosen, capsys):
    mac["mps"] = mps
    assert devices.choose_device(None, PRESETS["laptop"]) == chosen
    said = capsys.readouterr().out
    assert said.startswith(f"Device {chosen}: ") and f"{mps:.1f}; --device chooses" in said


@pytest.mark.parametrize(
    ("target", "tried"),
    [
        ("rope_pretrain", True),
        ("all", True),
        ("rope_eval_dev_with_pretrain", False),
        ("look", False),
    ],
)
def test_only_trainings_are_worth_a_trial(mac, target, tried, capsys):
    mac["mps"] = 60.0
    names = ("preset", "data", "submission", "out", "gold", "device")
    flags = {
        "seed": 0,
        "compile": False,
        "resume": False,
        "log": False,
        "graphs": True,
        "precision": "auto",
    }
    args = argparse.Namespace(target=target, **dict.fromkeys(names), **flags)
    options = choose_options(args)
    assert options.device == ("mps" if tried else "cpu") and options.preset.name == "laptop"


def test_a_torch_for_cuda_that_finds_no_gpu_says_why(mac, monkeypatch, capsys):
    """As with a driver that is too old."""
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
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


def test_a_trial_measures_and_leaves_random_numbers_alone(monkeypatch):
    monkeypatch.setattr(devices, "TRIAL", 0.05)
    before = torch.get_rng_state()
    assert devices.steps_per_second("cpu", PRESETS["smoke"]) > 0
    assert torch.equal(before, torch.get_rng_state())
    assert devices.steps_per_second("meta", PRESETS["smoke"]) == 0  # a device that fails
