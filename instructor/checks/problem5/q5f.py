"""Question 5f, hidden: the copy task on encoders that are broken on purpose."""

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem5.forbidden_builtins import forbid_builtins
from checks.problem5.q5f import draw_rows, read_logits, run_copy_task
from checks.problem5.q5f_copiers import read_result

# Too few for any encoder to learn the task: it must fail, for whatever reason. Learning would take
# longer, and depend on the optimizer.
STEPS = 20, 31  # from the one, below the other
# How far loss and gap may be from those on 512 other rows. With the reference and three others, 20
# times each, ratios of losses had standard deviations of at most 0.01, and logarithms of ratios of
# gaps of at most 0.08: these are 15 and 13 of them.
LOSS_WITHIN, GAP_WITHIN = 0.15, 3
FAULTS = {
    "residuals": "without residuals",
    "positions": "without positions",
    "mask": "that ignores the padding mask",
    "inverted": "that has the padding mask inverted",
}


@probe
def make_broken(config, fault):
    """Create an encoder of one layer, without "residuals" or "positions", or one that ignores the
    "mask" or has it "inverted".
    """
    import math

    import torch
    import torch.nn as nn

    def norm(x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(
            x.var(-1, unbiased=False, keepdim=True) + 1e-5
        )

    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.config = config
            self.tokens = nn.Embedding(16, 32)
            self.qkv, self.proj = nn.Linear(32, 96), nn.Linear(32, 32)
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)
            self.head = nn.Linear(32, 16)
            angles = torch.outer(torch.arange(24), 10000.0 ** (-torch.arange(0, 32, 2) / 32))
            self.register_buffer(
                "table", torch.cat((angles.sin(), angles.cos()), dim=-1) * (fault != "positions")
            )

        def forward(self, idx, return_weights=False):
            x = self.tokens(idx) + self.table[: idx.size(1)]
            hidden = {"mask": idx < 0, "inverted": idx != 0}.get(fault, idx == 0)
            heads = self.qkv(norm(x)).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            scores = heads[0] @ heads[1].transpose(-2, -1) / math.sqrt(8)
            weights = scores.masked_fill(hidden[:, None, None], -1e9).softmax(-1)
            attended = self.proj((weights @ heads[2]).transpose(1, 2).flatten(2))
            x = attended if fault == "residuals" else x + attended
            y = self.down(torch.relu(self.up(norm(x))))
            logits = self.head(norm(y if fault == "residuals" else x + y))
            return (logits, [weights]) if return_weights else logits

    return Broken()


@probe(uses=(forbid_builtins, make_broken, run_copy_task))
def copy_broken(faults, rows, steps, seed):
    """Run copy_task on broken encoders."""
    with forbid_builtins():
        from submission.problem5.encoder import copy_task

        return [
            run_copy_task(
                copy_task,
                lambda config, fault=fault: make_broken(config, fault),
                rows,
                steps=steps,
                seed=seed,
            )
            for fault in faults
        ]


@check("5f-1-hidden")
def test_broken_encoders(student, rng):
    """copy_task fails encoders with a broken part, and measures what they do."""
    steps, seed = int(rng.integers(*STEPS)), int(rng.integers(1000))
    x, _ = rows = draw_rows(rng)
    answers = student.run(copy_broken, faults=list(FAULTS), rows=rows, steps=steps, seed=seed)
    for fault, answer in zip(FAULTS.values(), answers.items(len(FAULTS))):
        loss, gap, passed = read_result(answer["result"])
        logits, padded = (part.astype(float) for part in read_logits(answer, rows))
        chances = np.exp(logits - logits.max(axis=2, keepdims=True))
        chances /= chances.sum(axis=2, keepdims=True)
        picked = np.take_along_axis(chances[:, 8:], x[:, :8, None], axis=2)[..., 0]
        expected = -np.log(picked[x[:, 8:] > 0]).mean()
        change = np.abs(padded[:, :16] - logits)[x > 0].max()
        found = f"For an encoder {fault}, after {steps} steps, copy_task"
        if passed:
            raise WrongAnswer(
                f"{found} passes, with a loss of {loss:.3g} and a gap of {gap:.3g}; on other rows, "
                f"they are {expected:.3g} and {change:.3g}."
            )
        if abs(loss - expected) > LOSS_WITHIN * expected + 0.05:  # if one learns after all
            raise WrongAnswer(
                f"{found} measures a loss of {loss:.3g}; on other rows, it is {expected:.3g}."
            )
        if not change / GAP_WITHIN - 1e-5 < gap < change * GAP_WITHIN + 1e-5:
            raise WrongAnswer(
                f"{found} measures a padding gap of {gap:.3g}; on other rows, it is {change:.3g}."
            )
