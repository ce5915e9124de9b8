"""Shared code of the three set-ups: texts, finding what is missing in fixes.py, tables, plots."""

import math
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch
import torch.nn as nn

from common.files import UserError, read_documents, write_text
from common.pages import document
from jobs.problem6.over_steps import Run, chart, finite
from jobs.targets import Target

TEXT = Path(__file__).resolve().parents[3] / "data" / "laptop" / "wiki.txt"


def characters() -> tuple[torch.Tensor, int]:
    """The text that two of the set-ups learn: a number for each character, and the number of
    different characters.
    """
    text = read_documents(TEXT)
    numbers = {character: number for number, character in enumerate(sorted(set(text)))}
    return torch.tensor([numbers[character] for character in text]), len(numbers)


def batches(
    text: torch.Tensor, rows: int, length: int, steps: int, seed: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Random pieces of a text: `steps` pairs of x and y, (rows, length), where y has the next token
    for each token of x.
    """
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        start = torch.randint(len(text) - length, (rows, 1), generator=generator)
        pieces = text[start + torch.arange(length + 1)]
        yield pieces[:, :-1], pieces[:, 1:]


def descend(
    model: Callable,
    optimizer: torch.optim.Optimizer,
    pairs: Iterable[tuple[torch.Tensor, torch.Tensor]],
    after_backward: Callable | None = None,
) -> Iterator[float]:
    """Train on pairs of x and y, and yield each loss before its step, so that a caller who stops
    iterating ends the training.

    Args:
        model: returns logits, (B, T, V), for x, (B, T).
        after_backward: called when the gradients are computed.
    """
    objective = nn.CrossEntropyLoss()
    for x, y in pairs:
        loss = objective(model(x).mT, y)
        yield loss.item()
        optimizer.zero_grad()
        loss.backward()
        if after_backward is not None:
            after_backward()
        optimizer.step()


def trial(what: str, call: Callable, expected: str, fits: Callable) -> bool:
    """Call a student's function on a small example; returns whether it is implemented.

    If not, its name and place are printed.

    Raises:
        UserError: its result is not the `expected` one, as decided by `fits`.
    """
    try:
        result = call()
    except NotImplementedError as error:
        if not re.match(r"\d\w+: ", str(error)):  # not one of our stubs
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        print(f"  {what}: {frame.filename}, line {frame.lineno}")
        return False
    if not fits(result):
        raise UserError(
            f"{what} of fixes.py returned {describe(result)}. It should return {expected}."
        )
    return True


def describe(value) -> str:
    """A short description of what a student's function returned."""
    if isinstance(value, torch.Tensor):
        text = (
            f"a tensor of shape {tuple(value.shape)} and dtype "
            f"{str(value.dtype).removeprefix('torch.')}"
        )
        return f"{text} with NaN in it" if value.isnan().any() else text
    return f"{type(value).__name__} {str(value)[:100]}" if value is not None else "None"


def is_tensor(value, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> bool:
    """Whether it is a tensor of this shape and dtype, without NaN."""
    return (
        isinstance(value, torch.Tensor)
        and value.shape == shape
        and value.dtype == dtype
        and not value.isnan().any()
    )


def mean_at(losses: list[float], step: int, size: int = 10) -> float:
    """The mean of up to `size` losses up to this step, counted from 1; NaN if the training ended
    before.
    """
    return (
        math.nan
        if step > len(losses)
        else sum(losses[max(0, step - size) : step]) / min(step, size)
    )


def table(rows: list[list[str]]) -> str:
    """The rows as aligned columns; the first row has the names."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows
    )


def losses_drawn(runs: dict[str, list[float]], bounds: dict[str, float]) -> str:
    """A plot of the losses of trainings, by name, as HTML; bounds: as chart."""
    lines = {name: list(enumerate(losses, start=1)) for name, losses in runs.items()}
    ends = [f"{name}: {ending(line)}" for name, line in lines.items()]
    says = f"The loss in nats. At the end: {', '.join(ends)}."
    values = [value for line in lines.values() for value in finite(line)]
    if len(values) < sum(map(len, runs.values())):
        says = f"{says[:-1]}; a cross above the plot is a loss that is not finite."
    run = Run({}, [{"step": max(map(len, runs.values()))}], [])
    return chart(run, "loss", lines, says, bounds, log=max(values) > 20 * min(values) > 0)


def ending(line: list[tuple[int, float]]) -> str:
    """The last loss, or from where on it is not finite."""
    if math.isfinite(line[-1][1]):
        return f"{line[-1][1]:.3g}"
    known = [step for step, loss in line if math.isfinite(loss)]
    return f"not finite from step {max(known, default=0) + 1} on"


def write_page(target: Target, seed: int, sections: dict[str, str], out: Path) -> None:
    """Write the page of a set-up, with these sections, into the folder `out`."""
    does = f"{target.does[0].upper()}{target.does[1:]}"
    top = f"<h1>{target.target}</h1>\n<p>{does}; seed {seed}.</p>"
    footer = f"What the numbers mean is printed by ./run.sh {target.target}."
    write_text(out / target.writes, document(target.target, top, sections, footer))
    print(f"\nWrote {out / target.writes}: open it in a browser.")
