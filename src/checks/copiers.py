"""The models of the judge's own on which copy_task is tried out: copiers, and encoders that are broken on purpose."""
from autograder import probe
from checks.encoder import own_work

SLOWLY = 0.995          # what a copier that learns slowly has of its loss after each forward pass of the training


@probe
def make_copier(config, log, loss, training, unseen, gap, where, kind, slowly):
    """A model that copies without having learned it, and writes down how it is used.

    Args:
        loss: its cross-entropy at every BLANK.
        training, unseen: that in training mode, and in evaluation mode for rows that it was not trained on; None for the same.
        gap, where: 8 more columns of PAD add `gap` to one logit at the places `where`.
        kind: "slow", where each forward pass of the training multiplies the loss, in both modes, by `slowly`; "uneven", where the
            first BLANK of each row, and all of rows of up to 4 symbols, have a tenth of the loss.
    """
    import math
    import torch
    import torch.nn as nn

    def spread(loss):
        chance = math.exp(-loss)
        return math.log(15 * chance / (1 - chance))     # as far as the right one of 16 logits is above the others

    def touch(gradient):
        """Writes down to which of the 16 places and 16 classes the loss of the training has a gradient."""
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
            places = {"": idx < 0, "pads": idx == 0, "blanks": idx == 1, "symbols": idx > 1,
                      "full rows": (idx > 0) & (idx[:, 7:8] > 0),
                      "the last row": (idx > 0) & (torch.arange(len(idx)) == len(idx) - 1)[:, None]}[where]
            added = places * gap * (idx.size(1) - 16) / 8
            logits = torch.cat((logits[..., :5], logits[..., 5:6] + added[..., None], logits[..., 6:]), dim=-1)
            logits = logits + 0 * self.unused.sum()
            if self.training and logits.requires_grad:
                logits.register_hook(touch)
            names = ("vocab_size", "max_len", "n_classes", "pooling", "n_embd", "n_layer")
            log["fields"] = {name: getattr(config, name, None) for name in names}
            return (logits, []) if return_weights else logits
    return Copier()


@probe(uses=(own_work, make_copier))
def measure_copiers(cases, steps, seed):
    """What copy_task returns for copiers, and how it used each."""
    import time
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    with own_work():
        from submission.encoder import copy_task
    answers = []
    for case in cases:
        log = {"made": 0, "steps": 0, "forward": 0, "long": [], "measured": [], "gradients": False, "fields": {}, "draw": None,
               "touched": torch.zeros(16, 16, dtype=torch.bool)}

        def make(config):
            log["made"] += 1
            log["draw"] = torch.rand(()).item()
            return make_copier(config, log, **case)
        torch.rand(len(answers) + 1)        # whatever was drawn before
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


@probe
def make_broken(config, fault):
    """An encoder of two layers, without "residuals" or "positions", or one that ignores the "mask", or has it "inverted"."""
    import math
    import torch
    import torch.nn as nn

    def norm(x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(32, 96), nn.Linear(32, 32)
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x, hidden):
            heads = self.qkv(norm(x)).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            scores = (heads[0] @ heads[1].transpose(-2, -1) / math.sqrt(8)).masked_fill(hidden[:, None, None], -1e9)
            attended = self.proj((scores.softmax(-1) @ heads[2]).transpose(1, 2).flatten(2))
            x = attended if fault == "residuals" else x + attended
            y = self.down(torch.relu(self.up(norm(x))))
            return y if fault == "residuals" else x + y

    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = config
            self.tokens = nn.Embedding(16, 32)
            self.layers = nn.ModuleList([Layer(), Layer()])
            self.head = nn.Linear(32, 16)
            angles = torch.outer(torch.arange(24), 10000.0 ** (-torch.arange(0, 32, 2) / 32))
            self.register_buffer("table", torch.cat((angles.sin(), angles.cos()), dim=-1) * (fault != "positions"))

        def forward(self, idx, return_weights=False):
            x = self.tokens(idx) + self.table[:idx.size(1)]
            hidden = {"mask": idx < 0, "inverted": idx != 0}.get(fault, idx == 0)
            for part in self.layers:
                x = part(x, hidden)
            logits = self.head(norm(x))
            return (logits, []) if return_weights else logits
    return Broken()


@probe(uses=(own_work, make_broken))
def measure_broken(faults, steps, seed):
    """What copy_task returns for broken encoders."""
    with own_work():
        from submission.encoder import copy_task
        return [copy_task(make_model=lambda config: make_broken(config, fault), steps=steps, seed=seed) for fault in faults]
