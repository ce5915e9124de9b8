"""The device that a job computes on, and why."""

import time

import torch
from torch import nn

from common.files import UserError
from jobs.presets import Preset

TRIAL = 2.0  # seconds on each device


def choose_device(wanted: str | None, trial: Preset | None = None, quiet: bool = False) -> str:
    """The device to compute on: the one that is wanted, else an NVIDIA GPU. On a Mac, the CPU or
    Apple's GPU, whichever trains faster in a trial; elsewhere the CPU. Prints what was chosen where
    that needs an explanation.

    Args:
        trial: the preset of a training, or None: without a training, the CPU is fast enough.
        quiet: print nothing.

    Raises:
        UserError: the device that is wanted is not available.
    """
    if wanted is not None:
        return _require(wanted)
    if torch.cuda.is_available():
        return "cuda"
    if torch.version.cuda and not quiet:
        print(
            f"torch {torch.__version__} was built for CUDA {torch.version.cuda} and finds no GPU, "
            "so this runs on the CPU. If there is one, compare with the driver's CUDA version in "
            "nvidia-smi: an older driver needs an update, or a torch built for its version: "
            "TORCH_BUILD=cu126 ./run.sh python -V, say, makes .venv with one for CUDA 12.6.",
            flush=True,
        )
    if trial is None or not torch.backends.mps.is_available():
        return "cpu"
    rates = {device: steps_per_second(device, trial) for device in ("cpu", "mps")}
    best = max(rates, key=rates.get)
    print(
        f"Device {best}: in {TRIAL:.0f} seconds each, the CPU trained {rates['cpu']:.1f} steps a "
        f"second, Apple's GPU (mps) {rates['mps']:.1f}; --device chooses.",
        flush=True,
    )
    return best


def _require(wanted):
    kind = wanted.split(":")[0] if wanted.startswith("cuda") else wanted
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(kind, False):
        raise UserError(
            f"--device {wanted}: torch {torch.__version__} finds no such device here. "
            f"Available: {', '.join(name for name in there if there[name])}."
        )
    try:
        torch.empty(1, device=wanted)
    except (RuntimeError, AssertionError):
        raise UserError(
            f"--device {wanted}: there is no device with that number. --device {kind} takes the "
            "first one."
        ) from None
    return wanted


def steps_per_second(device: str, preset: Preset) -> float:
    """The rate of training steps of a Transformer of this size, in float32; 0 if the device fails.

    Random numbers are left as they were.
    """
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    try:
        torch.set_num_threads(min(threads, preset.threads or threads))
        layer = nn.TransformerEncoderLayer(
            preset.n_embd, preset.n_head, 4 * preset.n_embd, preset.dropout, batch_first=True
        )
        model = nn.TransformerEncoder(layer, preset.n_layer, enable_nested_tensor=False).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        # half of a row is padding on average, which the trainer cuts off
        rows = preset.pretrain.batch_size or 128
        x = torch.randn(rows, preset.block_size // 2, preset.n_embd).to(device)
        started, steps = 0.0, -2  # two steps to warm up
        while steps < 1 or time.perf_counter() - started < TRIAL:
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()  # waits for the device
            steps += 1
            if steps == 0:
                started = time.perf_counter()
        return steps / (time.perf_counter() - started)
    except RuntimeError:
        return 0.0
    finally:
        torch.set_rng_state(before)
        torch.set_num_threads(threads)
