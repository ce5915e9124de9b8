"""Helpers shared by the other modules: seeds, settings, generation, scoring."""

import difflib
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tqdm import tqdm


class TrainingError(RuntimeError):
    """Training cannot start or continue; the message says why and what to try."""


def set_seed(seed: int) -> None:
    """Seed Python's, NumPy's and torch's random number generators (all devices)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def set_fields(config, values: dict) -> None:
    """Set attributes of a config object.

    Raises:
        TypeError: the class has no field of that name; the message suggests the closest one.
    """
    known = [name for name in dir(type(config)) if not name.startswith("_")]
    for name, value in values.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{type(config).__name__} has no field '{name}': {hint}")
        setattr(config, name, value)


def choose_hardware(
    device: str | None, precision: str
) -> tuple[torch.device, str, torch.dtype | None]:
    """What to train on.

    Args:
        device: "cpu", "cuda", "cuda:1", "mps"; None takes an NVIDIA GPU if there is one.
        precision: "bf16", "fp16" or "fp32"; "auto" is bf16 on GPUs with hardware for it (Ampere,
            2020, and later), fp16 on older ones with tensor cores (V100, T4), and fp32 elsewhere.

    Returns:
        The device, the precision, and the narrow dtype of its matrix products; None for fp32.
    """
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if precision == "auto":
        is_gpu = device.type == "cuda"
        version = torch.cuda.get_device_capability(device) if is_gpu else (0, 0)
        precision = "bf16" if version >= (8, 0) else "fp16" if version >= (7, 0) else "fp32"
    return device, precision, {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)


def write_state(state: dict, path: str) -> None:
    """Write a checkpoint whole, or say why it could not be written: a full disk may have room again
    by the end of the training.
    """
    try:
        torch.save(state, f"{path}.tmp")
        os.replace(f"{path}.tmp", path)
    except (OSError, RuntimeError) as error:
        Path(f"{path}.tmp").unlink(missing_ok=True)
        why = str(error).splitlines()[0]
        tqdm.write(f"The checkpoint {path} could not be written ({why}); training continues.")


def read_state(path: str, device: torch.device) -> dict:
    """Read a checkpoint onto a device; raise TrainingError if it is damaged."""
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except Exception:  # a damaged file can raise almost anything
        raise TrainingError(
            f"the checkpoint {path} is damaged. Delete it, or leave out --resume, to start at the "
            "beginning."
        ) from None


@torch.no_grad()
def sample(
    model,
    x: torch.Tensor,
    steps: int,
    temperature: float = 1.0,
    sample: bool = False,
    top_k: int | None = None,
) -> torch.Tensor:
    """Extend token sequences one token at a time, re-reading the whole prefix each time (simple but
    slow).

    Args:
        model: a GPT; put it into eval mode first.
        x: int64 prompts of equal length, (B, T).
        steps: the number of tokens to add.
        temperature: divides the logits; below 1 sharpens the distribution, above 1 flattens it.
        sample: draw from the distribution; otherwise take the most likely token.
        top_k: draw from the k most likely tokens only.

    Returns:
        int64, (B, T + steps). Only the last block_size tokens of a longer prefix are read.
    """
    for _ in range(steps):
        logits, _ = model(x[:, -model.get_block_size() :])
        logits = logits[:, -1, :] / temperature
        if top_k is not None:
            kth_largest = torch.topk(logits, min(top_k, logits.size(-1))).values[:, [-1]]
            logits = logits.masked_fill(logits < kth_largest, float("-inf"))
        if sample:
            chosen = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
        else:
            chosen = logits.argmax(dim=-1, keepdim=True)
        x = torch.cat((x, chosen), dim=1)
    return x


def evaluate_places(filepath: str, predicted_places: list[str]) -> tuple[int, int]:
    """Count the correct answers.

    Args:
        filepath: a file of questions, one per line, `Where was NAME born?<TAB>PLACE`.
        predicted_places: one place per line of that file, in order.

    Returns:
        (total, correct), or (0, 0) if the file has questions without answers.

    Raises:
        ValueError: the numbers of predictions and questions differ.
    """
    with open(filepath, encoding="utf-8") as file:
        lines = [line for line in file.read().split("\n") if line.strip()]
    if not lines or "\t" not in lines[0]:
        return 0, 0
    true_places = [line.split("\t")[1] for line in lines]
    if len(predicted_places) != len(true_places):
        raise ValueError(
            f"{len(predicted_places)} predictions for the {len(true_places)} questions of "
            f"{filepath}"
        )
    correct = sum(predicted == true for predicted, true in zip(predicted_places, true_places))
    return len(true_places), correct
