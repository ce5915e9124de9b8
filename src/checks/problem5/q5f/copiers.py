"""Copiers: models on which copy_task is tested. They are not Transformers, but look up their
answers.
"""

from autograder import probe
from checks.problem5.forbidden_builtins import forbid_builtins


@probe
def make_copier(config, log, loss, training, unseen, gap, where, kind, slowly):
    """Create a model that copies without learning and records how it is used.

    Args:
        loss: its cross-entropy at every BLANK.
        training, unseen: the loss in training mode, and in evaluation mode for rows that it was not
        trained on; None for the same.
        gap, where: 8 more columns of PAD add `gap` to one logit at the places `where`.
        kind: "slow", each forward pass in training multiplies the loss, in both modes, by `slowly`;
            "uneven": the first BLANK of each row, and all in rows of up to 4 symbols, have a tenth
            of the loss.
    """
    import math

    import torch
    import torch.nn as nn

    def spread(loss):
        # How far the right logit of 16 must be above the others.
        return math.log(15) - math.log(math.expm1(loss))

    def touch(gradient):
        """Record for which of the 16 places and 16 classes the training loss has a gradient."""
        if gradient.shape[1:] == log["touched"].shape:
            log["touched"] |= (gradient != 0).any(dim=0)

    class Copier(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = config
            self.unused = nn.Parameter(torch.rand(4))
            self.register_buffer("seen", torch.zeros(0, dtype=torch.int64))

        def forward(self, idx, return_weights=False):
            rows = (idx[:, :8] * 16 ** torch.arange(8)).sum(dim=1)
            now = loss * slowly ** log["forward"] if kind == "slow" else loss
            if self.training:
                self.seen = torch.cat((self.seen, rows))
                log["forward"] += 1
                log["wide"] = log["wide"] or idx.size(1) == 24
                log["long"] += rows[idx[:, 5] > 0].tolist()
                height = torch.full((len(idx),), spread(now if training is None else training))
            else:
                log["measured"] += [idx.size(1)] * len(idx)
                log["gradients"] = log["gradients"] or torch.is_grad_enabled()
                height = torch.full((len(idx),), spread(now))
                if unseen is not None:
                    height[~torch.isin(rows, self.seen)] = spread(unseen)
            copied = torch.cat((torch.zeros_like(idx[:, :8]), idx[:, :-8]), dim=1)
            height = height[:, None].repeat(1, idx.size(1))
            if kind == "uneven":
                height[idx[:, 4] == 0] = spread(loss / 10)
                height[:, 8] = spread(loss / 10)
            logits = nn.functional.one_hot(copied, 16) * height[:, :, None]
            places = {
                "": idx < 0,
                "pads": idx == 0,
                "blanks": idx == 1,
                "symbols": idx > 1,
                "full rows": (idx > 0) & (idx[:, 7:8] > 0),
                "the last row": (idx > 0) & (torch.arange(len(idx)) == len(idx) - 1)[:, None],
            }[where]
            added = places * gap * (idx.size(1) - 16) / 8
            logits = torch.cat(
                (logits[..., :5], logits[..., 5:6] + added[..., None], logits[..., 6:]), dim=-1
            )
            logits = logits + 0 * self.unused.sum()
            if self.training and logits.requires_grad:
                logits.register_hook(touch)
            names = ("vocab_size", "max_len", "n_classes", "pooling", "n_embd", "n_layer")
            log["fields"] = {name: getattr(config, name, None) for name in names}
            return (logits, []) if return_weights else logits

    return Copier()


@probe(uses=(forbid_builtins, make_copier))
def measure_copiers(cases, steps, seed):
    """Return copy_task's result for copiers, and how it used each."""
    import time

    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    with forbid_builtins():
        from submission.problem5.encoder import copy_task
    answers = []
    for case in cases:
        log = {
            "made": 0,
            "steps": 0,
            "forward": 0,
            "long": [],
            "measured": [],
            "gradients": False,
            "fields": {},
            "draw": None,
            "wide": False,
            "touched": torch.zeros(16, 16, dtype=torch.bool),
        }

        def make(config):
            log["made"] += 1
            log["draw"] = torch.rand(()).item()
            return make_copier(config, log, **case)

        torch.rand(len(answers) + 1)  # independent of earlier draws
        hook = register_optimizer_step_pre_hook(lambda *args: log.update(steps=log["steps"] + 1))
        started = time.perf_counter()
        try:
            result = copy_task(make_model=make, steps=steps, seed=seed)
        finally:
            hook.remove()
        log["seconds"] = time.perf_counter() - started
        log["distinct"], log["long"] = len(set(log["long"])), len(log["long"])
        log["measured"] = [log["measured"].count(width) for width in (16, 24)]
        answers.append({"result": result, "log": log})
    return answers
