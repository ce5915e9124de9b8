"""What the three set-ups of question 6e share: the text, the training, and what is said of it."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean

import torch
import torch.nn as nn
from tqdm import tqdm

from common.files import UserError, read_documents, write_text
from common.pages import document
from jobs.errors import explain
from jobs.options import ROOT
from jobs.problem6.over_steps import chart
from jobs.targets import Target

TEXT = ROOT / "data" / "laptop" / "wiki.txt"
MAX_NORM = 1.0  # of all gradients together, where they are clipped


def characters() -> tuple[torch.Tensor, int]:
    """The text that two of the set-ups learn: a number for each character, and the number of
    different characters.
    """
    text = read_documents(TEXT)
    numbers = {character: number for number, character in enumerate(sorted(set(text)))}
    return torch.tensor([numbers[character] for character in text]), len(numbers)


class Characters(nn.Module):
    """The embeddings of characters and of exactly `length` positions."""

    def __init__(self, vocab: int, length: int, width: int):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, width), nn.Embedding(length, width)

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """(B, length) -> (B, length, width)."""
        return self.token(idx) + self.position.weight


def descend(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    text: torch.Tensor,
    shape: tuple[int, int],
    steps: int,
    seed: int,
    clip: Callable | None = None,
) -> Iterator[float]:
    """Train to predict the next token, and yield each loss before its step, up to one that is not
    finite.

    Args:
        model: returns logits, (B, T, V), for x, (B, T); or a tuple that begins with them.
        text: tokens, int64. shape: (B, T) of the random pieces of it.
        clip: called with the parameters and MAX_NORM when the gradients are computed.
    """
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        start = torch.randint(len(text) - shape[1], (shape[0], 1), generator=generator)
        pieces = text[start + torch.arange(shape[1] + 1)]
        logits = model(pieces[:, :-1])
        logits = logits[0] if isinstance(logits, tuple) else logits
        loss = nn.functional.cross_entropy(logits.mT, pieces[:, 1:])
        yield loss.item()
        if not loss.isfinite():
            return
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            clip(model.parameters(), MAX_NORM)
        optimizer.step()


def train(ways: dict[str, Iterator[float]], steps: int) -> dict[str, list[float]]:
    """The losses of each way to train, with a bar."""
    bar = {"total": steps, "unit": "step", "leave": False}
    return {name: list(tqdm(losses, f"Training, {name}", **bar)) for name, losses in ways.items()}


def look(trials: dict[str, tuple[Callable, object, str]]) -> list[str]:
    """Call the student's functions on small examples; prints the names and places of those that are
    missing, and returns the names of the others.

    Args:
        trials: by name, a call; what require wants; and the arguments, in words.

    Raises:
        UserError: as require.
    """
    print("Missing in fixes.py:")
    there = []
    for name, (call, right, example) in trials.items():
        try:
            require(name, call(), right, example)
            there.append(name)
        except NotImplementedError as error:
            told = explain(error)
            if told.exit_code != 3:  # not one of our stubs
                raise
            print(f"  {name}: {str(told).rpartition('Where: ')[2]}")
    if len(there) == len(trials):
        print("  nothing")
    return there


def require(name: str, result, right, example: str) -> None:
    """Raise UserError, with the example's words, unless a result is a tensor of the shape and dtype
    of the right one without NaN, or of the right one's type; None: it may be anything.
    """

    def kind(value):
        if not isinstance(value, torch.Tensor):
            return type(value).__name__
        nan = " with NaN in it" if value.isnan().any() else ""
        return (
            f"{str(value.dtype).removeprefix('torch.')} tensor of shape {tuple(value.shape)}{nan}"
        )

    if right is not None and kind(result) != kind(right):
        value = "" if isinstance(result, torch.Tensor) else f" {str(result)[:100]}"
        raise UserError(
            f"{name} of fixes.py returned {kind(result)}{value} for {example}. It should return a "
            f"{kind(right)}."
        )


def print_table(columns: dict[str, list[float]], steps: tuple[int, ...], size: int = 1) -> None:
    """Print means of up to `size` values of each column up to these steps, counted from 1; nan
    after its end.
    """
    rows = [["step", *columns]]
    for step in steps:
        last = [values[max(0, step - size) : step] for values in columns.values()]
        ended = [step > len(values) for values in columns.values()]
        means = [math.nan if over else fmean(values) for over, values in zip(ended, last)]
        rows.append([str(step), *(f"{mean:.4g}" for mean in means)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    print()
    for row in rows:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
    print(f"(means of {size} steps)\n" if size > 1 else "")


def losses_drawn(runs: dict[str, list[float]], **bounds: float) -> str:
    """A plot of the losses of trainings, by name, as HTML; bounds as in chart."""
    lines = {name: enumerate(losses, start=1) for name, losses in runs.items()}
    return chart("loss", "The loss in nats.", lines, max(map(len, runs.values())), bounds)


def write_page(target: Target, seed: int, sections: dict[str, str], out: Path) -> None:
    """Write the page of a set-up, with these sections, into the folder `out`."""
    does = f"{target.does[0].upper()}{target.does[1:]}"
    top = f"<h1>{target.target}</h1>\n<p>{does}; seed {seed}.</p>"
    footer = f"What the numbers mean is printed by ./run.sh {target.target}."
    write_text(out / target.writes, document(target.target, top, sections, footer))
    print(f"\nWrote {out / target.writes}: open it in a browser.")
