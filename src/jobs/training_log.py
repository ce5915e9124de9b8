"""The log of a training, made with --log: JSON lines, a header and then records as a
Monitor gets them.
"""

import contextlib
import importlib
import json
import math
import reprlib
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.distributions import Categorical
from torch.nn.utils import get_total_norm

from common.files import UserError, read_text, writing
from common.ngrams import repetition_rate

ROWS = 8  # of the measured batch, which stays the same throughout the training
SAMPLES = 50  # texts sampled per training for the repetition rate
BEYOND = ("seconds", "knowledge", "texts")  # what the log has beyond the records of a Monitor


class RunLog:
    """A `writer` for TrainerConfig that writes a log during the training, with measurements beyond
    the scalars.

    The log does not affect the training: measurements run without dropout, and the state of random
    numbers is restored.

    Args:
        path: the file, `runs/TARGET.jsonl`.
        also: another writer, which gets the same scalars.
        resume: continue the existing file.

    Raises:
        UserError: the existing file is not a log.
    """

    def __init__(self, path: Path, also, resume: bool = False):
        self.path, self.also, self.scalars, self.probe, self.file = path, also, {}, None, None
        self.before = []
        if resume and path.exists():
            self.before = read_log(
                path,
                "Move this file away to continue the training with a new log, or leave out --log.",
            )[1]

    def begin(
        self, header: dict, model: torch.nn.Module, dataset, records: int, knowledge=None
    ) -> None:
        """Open the file.

        Args:
            header: of the run: "run", "total_steps", "reference_loss" or None, and any other
                facts.
            model, dataset: of the training.
            records: their approximate number.
            knowledge: a Knowledge to measure, or None.

        Raises:
            UserError: the file cannot be written.
        """
        self.header, self.probe = header, Probe(model, dataset, max(1, records // SAMPLES))
        if knowledge:
            knowledge.begin(header["total_steps"])
            self.header, self.probe.knowledge = header | knowledge.facts, knowledge
        # a resumed training took the time of the one before, too
        earlier = next((each["seconds"] for each in self.before[::-1] if each.get("seconds")), 0)
        self.started = time.monotonic() - earlier
        self._begin_with(self.before)

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Add a value of a step. The loss, which our Trainer sends last, completes a record."""
        self.also.add_scalar(name, value, step)
        self.scalars[name] = value
        if name == "loss" and self.file:
            measured = self.probe.measure(step) if math.isfinite(value) else {}
            seconds = round(time.monotonic() - self.started, 1)
            try:
                self._append({"step": step, **self.scalars, **measured, "seconds": seconds})
            except (OSError, UserError) as error:
                print(
                    f"\n{self.path} could not be written ({error}); the training continues without "
                    "a log."
                )
                self.file = None

    def close(self) -> None:
        """Close the file."""
        if self.file:
            self.file.close()
        self.also.close()

    def _append(self, line):
        # the training has resumed at an earlier step
        if self.before and self.before[-1]["step"] >= line["step"]:
            self.file.close()
            self._begin_with([kept for kept in self.before if kept["step"] < line["step"]])
        self.before = []
        self._write(line)

    def _begin_with(self, records):
        """Write the header and these records atomically, replacing the old file."""
        with writing(self.path) as temporary:
            temporary.write_text(
                "".join(_line(each) for each in [self.header, *records]),
                encoding="utf-8",
                newline="\n",
            )
        self.file = self.path.open("a", encoding="utf-8", newline="\n")

    def _write(self, line):
        self.file.write(_line(line))
        self.file.flush()


def _line(entry):
    return json.dumps(_rounded(entry)) + "\n"


def _rounded(value):
    """Floats to six digits, also in lists and dicts."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return (
        {key: _rounded(item) for key, item in value.items()} if isinstance(value, dict) else value
    )


class Probe:
    """Measures a model in training on one fixed batch.

    Args:
        model: a GPT. dataset: of the training; items are (x, y), with 0 for padding.
        between: how many measurements per sampled text.
    """

    def __init__(self, model: torch.nn.Module, dataset, between: int):
        self.model, self.between, self.count, self.knowledge = model, between, 0, None
        self.guard = importlib.import_module("submission.given.epochs").own_random_numbers
        with self.guard(0):
            rows = [dataset[i] for i in torch.randperm(len(dataset)).tolist()[:ROWS]]
        self.x, self.y = (torch.stack(column) for column in zip(*rows))

    def measure(self, step: int) -> dict:
        """Measure what a Monitor reads ("repetition_rate" occasionally), and what Knowledge
        measures. Gradients and the random state are left unchanged.
        """
        training = self.model.training
        self.model.eval()
        try:
            with self.guard(self.count):
                norms, entropies = self._gradients_and_entropies()
                found = {"grad_norm": norms, "attention_entropy": entropies} if norms else {}
                if self.count % self.between == 0:
                    (text,) = sample(self.model, self.x[:1, :1].tolist())
                    found["repetition_rate"] = repetition_rate(text)
                if self.knowledge:
                    found |= self.knowledge.measure(self.model, step, sample)
        finally:
            self.model.train(training)
        self.count += 1
        return found

    def _gradients_and_entropies(self):
        """Gradient norms by layer, and entropies by layer and head. The forward pass bypasses a
        compiled model.
        """
        blocks = list(getattr(self.model, "blocks", []))
        device = next(self.model.parameters()).device
        x, y = self.x.to(device), self.y.to(device)
        entropies = []

        def look(module, inputs):
            entropies.append(entropy(inputs[0].detach().float(), x != 0).tolist())

        with contextlib.ExitStack() as hooks:
            for block in blocks:
                hooks.callback(block.attn.attn_drop.register_forward_pre_hook(look).remove)
            _, loss = self.model.forward(x, y)
        parameters = [list(block.parameters()) for block in blocks]
        gradients = (
            iter(torch.autograd.grad(loss, sum(parameters, []), allow_unused=True))
            if blocks
            else iter(())
        )
        wide = torch.float32 if device.type == "mps" else torch.float64  # which MPS lacks
        norms = [
            float(get_total_norm([g.to(wide) for _, g in zip(layer, gradients) if g is not None]))
            for layer in parameters
        ]
        return norms, entropies


def entropy(weights: torch.Tensor, used: torch.Tensor) -> torch.Tensor:
    """The mean entropy of each head's causal attention weights, relative to the largest possible.

    Args:
        weights: (B, n_head, T, T). used: boolean, (B, T): the queries that count.

    Returns:
        (n_head,), from 0 to 1.
    """
    # (T,): a query sees no later key
    largest = torch.arange(1, weights.size(-1) + 1, device=weights.device).log()
    # The largest entropy minus the entropy is the divergence from uniform weights; that of rows of
    # zeros is 0.
    uniform, rows = -largest[:, None].expand_as(weights), weights * used[:, None, :, None]
    missing = F.kl_div(uniform, rows, reduction="none").sum(dim=(0, 2, 3))  # (n_head,)
    return (1 - missing / largest.expand_as(used)[used].sum().clamp(min=1e-9)).clamp(0, 1)


@torch.no_grad()
def sample(model: torch.nn.Module, starts: list[list[int]]) -> list[list[int]]:
    """Sample texts of block-size length at temperature 1, each from its first tokens. Token 0,
    padding, is never sampled. The texts end early when the model computes no finite logits.
    """
    device = next(model.parameters()).device
    lengths = torch.tensor([len(start) for start in starts])
    x = torch.zeros(len(starts), model.get_block_size(), dtype=torch.long)
    for row, start in zip(x, starts):
        row[: len(start)] = torch.tensor(start)
    for position in range(min(lengths), x.size(1)):
        logits = model.forward(x[:, :position].to(device))[0][:, -1].float().cpu()
        logits[:, 0] = -math.inf
        if not torch.isfinite(logits[:, 1:]).all():
            return [row[: max(position, len(start))].tolist() for row, start in zip(x, starts)]
        drawn = Categorical(logits=logits).sample()
        x[:, position] = drawn.where(position >= lengths, x[:, position])
    return x.tolist()


# The nesting depth of the lists under a record's key: 0 for a number.
DEPTH = dict.fromkeys(("loss", "lr", "repetition_rate", "seconds", "knowledge"), 0)
DEPTH |= {"grad_norm": 1, "attention_entropy": 2}


def read_log(
    path: Path, advice: str = "Restart the training with --log."
) -> tuple[dict, list[dict]]:
    """The header and the records of a log. An incomplete last line, as while it is written, is
    ignored.

    Args:
        advice: what to do if it is not a log.

    Raises:
        UserError: it is not a log.
    """
    try:
        lines = read_text(path).split("\n")[:-1]
    except UserError as error:
        raise UserError(f"{error} {advice}") from None
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(json.loads(line))
            step = rows[-1]["step" if number > 1 else "total_steps"]
            if (
                type(step) is not int
                or not (number == 1) <= step < 2**53
                or number > 2
                and step <= rows[-2]["step"]
            ):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UserError(
                f"{path}, line {number}: this is not a record of a log with a larger step than the "
                f"one before. {advice}"
            ) from None
        wanted = {"reference_loss": 0} if number == 1 else DEPTH
        if wrong := [
            name for name, depth in wanted.items() if not _is_number(rows[-1].get(name), depth)
        ]:
            raise UserError(
                f"{path}, line {number}: {wrong[0]} is {reprlib.repr(rows[-1][wrong[0]])}, which "
                "is not a "
                f"{('number', 'list of numbers', 'list of lists of numbers')[wanted[wrong[0]]]}. "
                f"{advice}"
            )
    if not rows:
        raise UserError(f"{path} has no complete line. {advice}")
    return rows[0], rows[1:]


def _is_number(value, depth):
    """Whether it is None, or numbers in the range of a float, in lists nested to this depth."""
    if depth and value is not None:
        return isinstance(value, list) and all(
            item is not None and _is_number(item, depth - 1) for item in value
        )
    return value is None or type(value) is float or type(value) is int and abs(value) < 2**1000
