"""The device that a job computes on, and why."""

import torch

from common.files import UserError


def choose_device(wanted: str | None, quiet: bool = False) -> str:
    """The device to compute on: the one that is wanted, else an NVIDIA GPU, else the CPU. Unless
    quiet, prints a hint where torch should have found a GPU.

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
    return "cpu"


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
