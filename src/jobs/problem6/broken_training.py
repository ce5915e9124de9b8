"""What the three set-ups of question 6e share: the text, the training, and what is shown of it."""

import math
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
import torch.nn as nn
from tqdm import tqdm

from common.files import read_text, write_text
from common.pages import document
from jobs.errors import explain, is_stub
from jobs.options import ROOT
from jobs.problem6.over_steps import chart
from jobs.returned import kind, require_like
from jobs.targets import Target

NO_DROPOUT = dict.fromkeys(("embd_pdrop", "resid_pdrop", "attn_pdrop"), 0.0)  # of a GPTConfig


class Characters(nn.Module):
    """The embeddings of characters and of exactly `length` positions."""

    def __init__(self, vocab: int, length: int, width: int):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, width), nn.Embedding(length, width)

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """(B, length) -> (B, length, width)."""
        return self.token(idx) + self.position.weight


def characters() -> tuple[torch.Tensor, int]:
    """A text as int64, a number for each character, and how many different characters it has."""
    text = read_text(ROOT / "data" / "laptop" / "wiki.txt").rstrip("\n")
    different, numbers = np.unique([*text], return_inverse=True)
    return torch.from_numpy(numbers), len(different)


def train(
    name: str, model: nn.Module, optimizer, text: torch.Tensor, shape: tuple, seed: int, clip=None
) -> list[float]:
    """Train to predict the next token, with a bar, until a loss is not finite; returns the losses,
    each before its step.

    Args:
        name: of the training, beside the bar.
        model: returns logits, (B, T, V), for x, (B, T); or a tuple that begins with them.
        text: tokens, int64. shape: the number of steps, B and T of the random pieces of the text.
        clip: called with the parameters and the largest norm, 1, when the gradients are computed.
    """
    steps, rows, length = shape
    generator, losses = torch.Generator().manual_seed(seed), []
    for _ in tqdm(range(steps), f"Training, {name}", unit="step", leave=False):
        start = torch.randint(len(text) - length, (rows, 1), generator=generator)
        pieces = text[start + torch.arange(length + 1)]
        logits = model(pieces[:, :-1])
        logits = logits[0] if isinstance(logits, tuple) else logits
        loss = nn.functional.cross_entropy(logits.mT, pieces[:, 1:])
        losses.append(loss.item())
        if not loss.isfinite():
            break
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            clip(model.parameters(), 1.0)
        optimizer.step()
    return losses


def look(fixes, trials: dict[str, tuple]) -> list[str]:
    """Try the student's functions, each with a right result and arguments as `checked` gets them.
    Prints the names and places of those that are missing, and returns the names of the others.
    """
    print("Missing in fixes.py:")
    there = []
    for name, trial in trials.items():
        try:
            checked(fixes, name, *trial)
            there.append(name)
        except NotImplementedError as error:
            if not is_stub(error):
                raise
            print(f"  {name}: {str(explain(error)).rpartition('Where: ')[2]}")
    if len(there) == len(trials):
        print("  nothing")
    return there


def checked(fixes, name: str, right, *arguments, **options):
    """What a student's function returns; a module that it returns is called with the right result.

    Raises:
        UserError: it is not like the right result; None is right for a function that returns
            nothing of interest.
    """
    result = getattr(fixes, name)(*arguments, **options)
    if right is not None:
        result = result(right) if callable(result) else result
        when = f" for these arguments: {', '.join(map(kind, arguments))}"
        require_like(f"{name} of fixes.py", result, right, when)
    return result


def table(columns: dict[str, list[float]], steps: tuple[int, ...], size: int = 1) -> str:
    """Means of up to `size` values of each column up to these steps, counted from 1; nan after its
    end.
    """
    lines = ["  ".join(["step", *(f"{name:>9}" for name in columns)])]
    for step in steps:
        cells = [f"{step:4}"]
        for name, values in columns.items():
            mean = fmean(values[max(0, step - size) : step]) if step <= len(values) else math.nan
            cells.append(f"{mean:{max(9, len(name))}.4g}")
        lines.append("  ".join(cells))
    return "\n".join(lines)


def losses_drawn(runs: dict[str, list[float]], **bounds: float) -> str:
    """A plot of the losses of trainings, by name, as HTML; bounds as in chart."""
    lines = {name: enumerate(losses, start=1) for name, losses in runs.items()}
    return chart("loss", "The loss in nats.", lines, max(map(len, runs.values())), bounds)


def write_page(target: Target, seed: int, sections: dict[str, str], out: Path) -> None:
    """Write the page of a set-up, with these sections, into the folder `out`."""
    top = (
        f"<h1>{target.target}</h1>\n<p>Question {target.question}: {target.does}; seed {seed}.</p>"
    )
    footer = f"What the numbers mean is printed by ./run.sh {target.target}."
    write_text(out / target.writes, document(target.target, top, sections, footer))
    print(f"\nWrote {out / target.writes}: open it in a browser.")
