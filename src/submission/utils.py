"""Helpers shared by the other modules: seeds, settings, generation, scoring."""

import difflib
import random

import numpy as np
import torch
import torch.nn.functional as F


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
