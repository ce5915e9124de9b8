"""Deliberately broken encoders, which copy_task must fail."""

from autograder import probe
from checks.problem5.forbidden_builtins import forbid_builtins


@probe
def make_broken(config, fault):
    """Create an encoder of two layers, without "residuals" or "positions", or one that ignores the
    "mask" or has it "inverted".
    """
    import math

    import torch
    import torch.nn as nn

    def norm(x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(
            x.var(-1, unbiased=False, keepdim=True) + 1e-5
        )

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(32, 96), nn.Linear(32, 32)
            self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

        def forward(self, x, hidden):
            heads = self.qkv(norm(x)).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
            scores = (heads[0] @ heads[1].transpose(-2, -1) / math.sqrt(8)).masked_fill(
                hidden[:, None, None], -1e9
            )
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
            self.register_buffer(
                "table", torch.cat((angles.sin(), angles.cos()), dim=-1) * (fault != "positions")
            )

        def forward(self, idx, return_weights=False):
            x = self.tokens(idx) + self.table[: idx.size(1)]
            hidden = {"mask": idx < 0, "inverted": idx != 0}.get(fault, idx == 0)
            for part in self.layers:
                x = part(x, hidden)
            logits = self.head(norm(x))
            return (logits, []) if return_weights else logits

    return Broken()


@probe(uses=(forbid_builtins, make_broken))
def measure_broken(faults, steps, seed):
    """Run copy_task on broken encoders."""
    with forbid_builtins():
        from submission.problem5.encoder import copy_task

        return [
            copy_task(make_model=lambda config: make_broken(config, fault), steps=steps, seed=seed)
            for fault in faults
        ]
