"""The log of a training, made with --log: a header and the records of a Monitor, in JSON lines."""

import contextlib
import importlib
import json
import math
import reprlib
import time
from pathlib import Path

import numpy as np
import torch
from torch.distributions import Categorical
from torch.nn.utils import get_total_norm

from common.files import UserError, read_text, write_text

ROWS = 8  # of the measured batch, which stays the same throughout the training
SAMPLES = 50  # texts sampled per training for the repetition rate
BEYOND = ("seconds", "knowledge", "texts")  # what the log has beyond the records of a Monitor


class RunLog:
    """A `writer` for TrainerConfig that writes a log during the training, with measurements beyond
    the scalars. These do not affect the training: they run without dropout, and the state of random
    numbers is restored.

    Args:
        path: the file, `runs/TARGET.jsonl`. also: another writer, which gets the same scalars.
        resume: continue the existing file; raises UserError if it is not a log.
    """

    def __init__(self, path: Path, also, resume: bool = False):
        self.path, self.also, self.scalars, self.header, self.before = path, also, {}, None, []
        if resume and path.exists():
            self.before = read_log(path, "Move it away for a new log, or leave out --log.")[1]

    def begin(self, header: dict, model, dataset, records: int, knowledge=None) -> None:
        """Write the header; raises UserError if that fails.

        Args:
            header: of the run: "run", "total_steps", "reference_loss" or None, and other facts.
            model, dataset: of the training: a GPT, and items (x, y), with 0 for padding.
            records: their approximate number. knowledge: a Knowledge to measure, or None.
        """
        self.header, self.model, self.knowledge, self.count = header, model, knowledge, 0
        self.between = max(1, records // SAMPLES)  # measurements for a sampled text
        if knowledge:
            knowledge.begin(header["total_steps"])
            self.header = header | knowledge.facts
        self.guard = importlib.import_module("submission.given.epochs").own_random_numbers
        with self.guard(0):
            rows = [dataset[i] for i in torch.randperm(len(dataset)).tolist()[:ROWS]]
        self.batch = [torch.stack(column) for column in zip(*rows)]
        # a resumed training took the time of the one before, too
        earlier = next((each["seconds"] for each in self.before[::-1] if each.get("seconds")), 0)
        self.started = time.monotonic() - earlier
        write_text(self.path, _lines([self.header, *self.before]))

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Add a value of a step. The loss, which our Trainer sends last, completes a record."""
        self.also.add_scalar(name, value, step)
        self.scalars[name] = value
        if name != "loss" or self.header is None:
            return
        measured = self._measure(step) if math.isfinite(value) else {}
        seconds = round(time.monotonic() - self.started, 1)
        try:
            if self.before:  # the training may have resumed at an earlier step
                kept = [record for record in self.before if record["step"] < step]
                write_text(self.path, _lines([self.header, *kept]))
                self.before = []
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(_lines([{"step": step, **self.scalars, **measured, "seconds": seconds}]))
        except (OSError, UserError) as error:
            print(f"\n{self.path} could not be written: {error}.")
            print("The training continues without a log.")
            self.header = None

    def close(self) -> None:
        """Close the other writer."""
        self.also.close()

    def _measure(self, step):
        """What a Monitor reads ("repetition_rate" now and then), and what Knowledge measures.
        Gradients and the random state are left unchanged.
        """
        training, blocks, found = self.model.training, getattr(self.model, "blocks", []), {}
        self.model.eval()
        try:
            with self.guard(self.count):
                if blocks:
                    found = self._gradients_and_entropies(blocks)
                if self.count % self.between == 0:
                    (text,) = sample(self.model, self.batch[0][:1, :1].tolist())
                    found["repetition_rate"] = repetition_rate(text)
                if self.knowledge:
                    found |= self.knowledge.measure(self.model, step, sample)
        finally:
            self.model.train(training)
        self.count += 1
        return found

    def _gradients_and_entropies(self, blocks):
        """Gradient norms by layer, and entropies by layer and head."""
        device, entropies, norms = next(self.model.parameters()).device, [], []
        x, y = (column.to(device) for column in self.batch)

        def look(module, inputs):
            entropies.append(entropy(inputs[0].detach().float(), x != 0).tolist())

        with contextlib.ExitStack() as hooks:
            for block in blocks:
                hooks.callback(block.attn.attn_drop.register_forward_pre_hook(look).remove)
            _, loss = self.model.forward(x, y)  # past what compiles a model
        layers = [list(block.parameters()) for block in blocks]
        gradients = iter(torch.autograd.grad(loss, sum(layers, []), allow_unused=True))
        wide = torch.float32 if device.type == "mps" else torch.float64  # which MPS lacks
        for layer in layers:
            found = [grad.to(wide) for _, grad in zip(layer, gradients) if grad is not None]
            norms.append(float(get_total_norm(found)))
        return {"grad_norm": norms, "attention_entropy": entropies}


def _lines(entries):
    """Entries in JSON, a line each, with floats of six digits."""
    exact = json.loads(
        json.dumps(entries), parse_float=lambda digits: float(f"{float(digits):.6g}")
    )
    return "".join(json.dumps(entry) + "\n" for entry in exact)


def entropy(weights: torch.Tensor, used: torch.Tensor) -> torch.Tensor:
    """The mean entropy of each head's causal attention weights, (B, n_head, T, T), relative to the
    largest possible: (n_head,), from 0 to 1. used: boolean, (B, T): the queries that count.
    """
    # (T,): a query sees no later key
    largest = torch.arange(1, weights.size(-1) + 1, device=weights.device).log()
    rows = -torch.xlogy(weights, weights).sum(dim=-1) * used[:, None]  # (B, n_head, T)
    return (rows.sum(dim=(0, 2)) / (largest * used).sum().clamp(min=1e-9)).clamp(0, 1)


def repetition_rate(tokens: list, n: int = 4) -> float:
    """The share of a text's n-grams that occurred earlier in it; 0 for a text shorter than n."""
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


@torch.no_grad()
def sample(model: torch.nn.Module, starts: list[list[int]]) -> list[list[int]]:
    """Sample texts of block-size length at temperature 1, each from its first tokens. Token 0,
    padding, is never sampled. The texts end early when the model computes no finite logits.
    """
    device, texts = next(model.parameters()).device, [list(start) for start in starts]
    for position in range(min(map(len, texts)), model.get_block_size()):
        x = torch.tensor([text[:position] for text in texts], device=device)
        logits = model.forward(x)[0][:, -1].float().cpu()
        logits[:, 0] = -math.inf
        if not torch.isfinite(logits[:, 1:]).all():
            break
        for text, token in zip(texts, Categorical(logits=logits).sample().tolist()):
            text += [token] * (len(text) == position)
    return texts


# The nesting depth of the lists under a record's key: 0 for a number.
DEPTH = dict.fromkeys(("loss", "lr", "repetition_rate", "seconds", "knowledge"), 0)
DEPTH |= {"grad_norm": 1, "attention_entropy": 2}


def read_log(path: Path, advice="Restart the training with --log.") -> tuple[dict, list[dict]]:
    """The header and the records of a log. An incomplete last line, as while it is written, is
    ignored. Raises UserError, with the advice, if it is not a log.
    """
    try:
        lines = read_text(path).split("\n")[:-1]
    except UserError as error:
        raise UserError(f"{error} {advice}") from None
    if not lines:
        raise UserError(f"{path} has no complete line. {advice}")
    rows, least = [], 1  # of total_steps; 0 of the first step
    for number, line in enumerate(lines, start=1):
        says = "this is not a record of a log with a larger step than the one before"
        try:
            rows.append(json.loads(line))
            step = rows[-1]["step" if number > 1 else "total_steps"]
            if type(step) is not int or not least <= step < 2**53:
                raise ValueError
            for name, depth in (DEPTH if number > 1 else {"reference_loss": 0}).items():
                if (value := rows[-1].get(name)) is not None:
                    kind = ("number", "list of numbers", "list of lists of numbers")[depth]
                    says = f"{name} is {reprlib.repr(value)}, which is not a {kind}"
                    array = np.array(value)
                    # nothing was watched where the list is empty
                    if array.size and (array.ndim != depth or array.dtype.kind not in "iuf"):
                        raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UserError(f"{path}, line {number}: {says}. {advice}") from None
        least = step + 1 if number > 1 else 0
    return rows[0], rows[1:]
