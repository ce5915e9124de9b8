"""Copiers: models on which copy_task is tested. They have nothing to learn, so their losses and
gaps are known, and they record how they are used.
"""

from dataclasses import asdict, dataclass

import numpy as np

from autograder import Answer, WrongAnswer, probe
from autograder.inside.wire import Array
from checks.problem5.forbidden_builtins import forbid_builtins

LOSS, GAP = 0.01, 1e-4  # the handout's limits: a model below both passes
ROWS = 512
STEPS = 30, 41  # from the one, below the other
LONG = 16**5  # the codes of rows with 6 or more symbols are larger


@dataclass(frozen=True)
class Copier:
    """A model that copies without learning.

    Attributes:
        what: it is, for messages.
        loss: its cross-entropy at every BLANK.
        training: that in training mode; None for the same.
        gap, where: 8 more columns of PAD add `gap` to one logit at the places `where`.
        uneven: the first BLANK of each row, and all in rows of up to 4 symbols, have a tenth of the
            loss.
    """

    what: str
    loss: float = 0.001
    training: float | None = None
    gap: float = 0.0
    where: str = ""
    uneven: bool = False


@probe
def make_copier(log, what, loss, training, gap, where, uneven):
    """Create a model as in Copier, which adds to the lists of `log` how it is used: the codes of
    rows seen in training and of those measured, the latter by the width of their batch.
    """
    import math

    import torch
    import torch.nn as nn

    def spread(loss):
        # How far the right logit of 16 must be above the others.
        return math.log(15) - math.log(math.expm1(loss))

    class Copier(nn.Module):
        def __init__(self):
            super().__init__()
            self.unused = nn.Parameter(torch.rand(4))

        def forward(self, idx, return_weights=False):
            codes = (idx[:, :8] * 16 ** torch.arange(8)).sum(dim=1)
            if self.training:
                log["trained"].append(codes)
            else:
                log["measured" if idx.size(1) == 16 else "padded"].append(codes)
                log["gradients"].append(torch.is_grad_enabled())
            now = training if self.training and training is not None else loss
            height = torch.full(idx.shape, spread(now))
            if uneven:
                height[idx[:, 4] == 0] = spread(loss / 10)
                height[:, 8] = spread(loss / 10)
            copied = torch.cat((torch.zeros_like(idx[:, :8]), idx[:, :-8]), dim=1)
            places = {
                "": idx < 0,
                "pads": idx == 0,
                "blanks": idx == 1,
                "symbols": idx > 1,
                "the last row": (idx > 0) & (torch.arange(len(idx)) == len(idx) - 1)[:, None],
            }[where]
            logits = nn.functional.one_hot(copied, 16) * height[:, :, None]
            logits[..., 5] += places * gap * (idx.size(1) - 16) / 8
            logits = logits + 0 * self.unused.sum()
            return (logits, []) if return_weights else logits

    return Copier()


@probe(uses=(forbid_builtins, make_copier))
def measure_copiers(copiers, steps, seeds):
    """Return copy_task's result for copiers, each with its seed, and how it used each."""
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    with forbid_builtins():
        from submission.problem5.encoder import copy_task
    answers = []
    for case, seed in zip(copiers, seeds):
        log = {"trained": [], "measured": [], "padded": [], "gradients": [], "steps": []}
        hook = register_optimizer_step_pre_hook(lambda *args: log["steps"].append(1))
        try:
            result = copy_task(lambda config: make_copier(log, **case), steps, seed)
        finally:
            hook.remove()
        nothing = torch.zeros(0, dtype=torch.int64)
        answers.append(
            {
                "result": result,
                "steps": len(log["steps"]),
                "gradients": any(log["gradients"]),
                **{
                    name: torch.cat((nothing, *log[name]))
                    for name in ("trained", "measured", "padded")
                },
            }
        )
    return answers


def read_result(answer: Answer) -> tuple[float, float, bool]:
    """Read copy_task's dict: the loss, the gap, and whether they pass.

    Raises:
        WrongAnswer: an entry is missing, has the wrong type, or contradicts another.
    """
    for name in ("loss", "padding_gap"):
        value = answer[name].value
        if isinstance(value, Array) and value.kind == "tensor":
            raise WrongAnswer(f'"{name}" should be a Python float, no tensor. Use .item().')
    loss, gap = (answer[name].named(f'"{name}"').number() for name in ("loss", "padding_gap"))
    passed = answer["passed"].value
    if isinstance(passed, Array):
        passed = bool(passed.data.all())  # np.bool_, from a comparison of NumPy floats
    if passed is not (loss < LOSS and gap < GAP):
        raise WrongAnswer(
            f'"passed" should say whether the loss is under {LOSS} and the gap under {GAP:g}. It '
            f"is {answer['passed'].describe()}, with a loss of {loss:.3g} and a gap of {gap:.3g}."
        )
    return loss, gap, passed


def judge_copiers(student, rng, copiers: list[Copier]) -> None:
    """Check that copy_task measures each copier correctly and uses it as it should.

    Raises:
        WrongAnswer: it does not; names the likely cause.
    """
    steps = int(rng.integers(*STEPS))
    seeds = (1 + rng.choice(1000, size=len(copiers), replace=False)).tolist()
    given = [asdict(copier) for copier in copiers]
    answers = student.run(measure_copiers, copiers=given, steps=steps, seeds=seeds)
    drawn = []
    for copier, answer in zip(copiers, answers.items(len(copiers))):
        loss, gap, _ = read_result(answer["result"])
        trained, measured, padded = (
            answer[name].array("int64", (None,)) for name in ("trained", "measured", "padded")
        )
        _require_use(answer, trained, measured, padded, steps)
        _require_loss(copier, loss)
        _require_gap(copier, gap)
        drawn.append((trained[:64], measured[-64:]))
    for does, first, second in zip(("trains", "measures"), *drawn[:2]):
        if len(first) and np.array_equal(first, second):
            raise WrongAnswer(
                f"With another seed, copy_task {does} on the same rows. Draw all rows from "
                "`generator`, in each call."
            )


def _require_use(answer, trained, measured, padded, allowed):
    if len(measured) < ROWS or len(padded) < ROWS:
        raise WrongAnswer(
            f"copy_task runs the model of make_model in evaluation mode on {len(measured)} rows of "
            f"16 places and {len(padded)} of 24. It should measure the loss on {ROWS} new rows and "
            "the padding gap on the same rows with 8 columns of PAD appended."
        )
    if answer["gradients"].flag():
        raise WrongAnswer(
            "copy_task measures with gradients enabled. Measure within torch.no_grad()."
        )
    if (steps := answer["steps"].number()) > allowed:
        raise WrongAnswer(f"With steps={allowed}, copy_task makes {steps} steps of the optimizer.")
    # Of rows with 6 or more symbols, two in 10 ** 7 are equal, and batches of 4 have 50 of them.
    long, last = (rows[rows >= LONG] for rows in (trained, measured[-ROWS:]))
    if len(long) >= 40 and len({*long.tolist()}) < 0.25 * len(long):
        raise WrongAnswer(
            f"copy_task trains on the same rows repeatedly: only {len({*long.tolist()})} of "
            f"{len(long)} long rows are different. Draw a new batch for each step, from one "
            "generator that is seeded once."
        )
    if np.isin(last, long).sum() > 0.4 * len(last):
        raise WrongAnswer("copy_task measures on rows that it was trained on. Draw new ones.")


def _require_loss(copier, loss):
    expected, within = copier.loss, 0.02
    if copier.uneven:
        # Of 36 BLANKs, in rows of all lengths, 14 have a tenth of the loss. For 512 rows that
        # varies by 2.2%.
        expected, within = copier.loss * (14 * 0.1 + 22) / 36, 0.14
    if abs(loss - expected) <= within * expected + 1e-5:
        return
    ratio, blanks = loss / expected, 4.5 * ROWS  # blanks vary by 2%
    causes = {
        "it is the mean over all places, also those whose target is -100.": 0.25 < ratio < 0.31,
        "it is the sum over the BLANKs, not their mean.": 0.9 < ratio / blanks < 1.1,
        "F.cross_entropy takes the second axis for the classes. There are 16 places and 16 "
        "classes, so F.cross_entropy(model(x), y) runs, but treats places as classes. Flatten "
        "both, in the training, too: logits to (N, 16), targets to (N).": ratio > 50,
        "not all BLANKs count equally.": copier.uneven,
    }
    raise WrongAnswer(
        f"For {copier.what}, the loss should be {expected:.4g}; it is {loss:.4g}.{_first(causes)}"
    )


def _require_gap(copier, gap):
    expected = 0.0 if copier.where == "pads" else abs(copier.gap)
    if abs(gap - expected) <= 0.02 * expected + 2e-6:
        return
    causes = {
        "places that are PAD are counted; compare only where x is not PAD.": copier.where == "pads",
        "the largest difference is taken without .abs(), or not at all places of all rows where x "
        "is not PAD.": gap == 0,
        "it is a mean, or the difference of two losses. The largest difference of a logit is asked "
        "for.": gap < 0.5 * expected,
    }
    raise WrongAnswer(
        f"For {copier.what}, the padding gap should be {expected:.3g}; it is {gap:.3g}."
        f"{_first(causes)}"
    )


def _first(causes):
    """The line that names the first cause that applies, or ""."""
    return next((f"\nLikely cause: {cause}" for cause, applies in causes.items() if applies), "")
