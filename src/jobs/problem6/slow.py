"""debug_slow, case iii: 24 layers of post-norm with Xavier initialization."""

import importlib
import math
from collections import OrderedDict
from statistics import fmean

import torch
import torch.nn as nn
from torch.distributions import Categorical

from .broken_training import NO_DROPOUT, Characters, characters, look, losses_drawn, table, train

N_LAYER, D_MODEL, N_HEAD, LENGTH, ROWS = 24, 32, 4, 16, 8
STEPS, LEARNING_RATE = 200, 2e-3
SHOWN = (10, 25, 50, 75, 100, 150, 200)


class PostNormStack(nn.Module):
    """Layers as in case iii, in order: x = norm(x + layer(x)); arguments as PreNormStack."""

    def __init__(self, layers: list[nn.Module], d_model: int):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, d_model) -> the same shape."""
        for layer, norm in zip(self.layers, self.norms):
            x = norm(x + layer(x))
        return x


def feed_forward() -> nn.Module:
    """The feed-forward half of a layer, whose linear layers are in a module named mlp."""
    first, last = nn.Linear(D_MODEL, 4 * D_MODEL), nn.Linear(4 * D_MODEL, D_MODEL)
    return nn.Sequential(OrderedDict(mlp=nn.Sequential(first, nn.ReLU(), last)))


def run(fixes, seed: int) -> dict[str, str]:
    """Train as in case iii, and with those of the student's fixes that are there. Returns the
    sections of a page; raises UserError if a fix returns something invalid.
    """
    text, vocab = characters()
    # the best loss without context
    known = Categorical(torch.bincount(text).double()).entropy().item()
    print(
        f"{N_LAYER} layers of width {D_MODEL}, each x = norm(x + sublayer(x)) twice; Xavier "
        f"initialization of all weights; Adam at {LEARNING_RATE:g}.\nIt learns a text of {vocab} "
        f"different characters. Guessing has a loss of {math.log(vocab):.2f}, knowing only how "
        f"frequent each character is {known:.2f}."
    )
    stack = torch.ones(2, 3, 4), [nn.Linear(4, 4), nn.Linear(4, 4)], 4
    there = look(fixes, {"PreNormStack": stack, "init_depth_scaled": (None, feed_forward(), 2)})
    ways = {"as it was": (PostNormStack, None)}
    fixed = " and ".join(there) + " alone" * (len(there) < 2)
    if there:
        stack = fixes.PreNormStack if "PreNormStack" in there else PostNormStack
        ways[fixed] = stack, fixes.init_depth_scaled if "init_depth_scaled" in there else None
    gpt, attention = (importlib.import_module(f"submission.{x}") for x in ("model", "attention"))
    sizes = {"n_layer": N_LAYER, "n_head": N_HEAD, "n_embd": D_MODEL}
    config, runs = gpt.GPTConfig(1, LENGTH, **sizes, **NO_DROPOUT), {}
    for name, (stack, init) in ways.items():
        torch.manual_seed(seed)
        embeddings, halves = Characters(vocab, LENGTH, D_MODEL), []
        for _ in range(N_LAYER):
            halves += [attention.CausalSelfAttention(config), feed_forward()]
        model = nn.Sequential(embeddings, stack(halves, D_MODEL), nn.Linear(D_MODEL, vocab))
        for parameter in model.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        if init is not None:
            init(model[1], N_LAYER)
        optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
        runs[name] = train(name, model, optimizer, text, (STEPS, ROWS, LENGTH), seed)
    before, *after = (fmean(losses[-10:]) for losses in runs.values())
    stuck = ", about what the characters' frequencies alone give" if before > known - 0.15 else ""
    said = f"As it was, the loss ends at {before:.2f}{stuck}.\n"
    if not there:
        said += "With PreNormStack and init_depth_scaled, this table gets a column that falls."
    elif after[0] < known - 0.5:
        said += f"With {fixed} it has fallen to {after[0]:.2f}, and is still falling."
    else:
        said += f"With {fixed} it ends at {after[0]:.2f}, but should go far below {known:.2f}. "
        said += "Look at the residual path, which must bypass all norms, at the last norm, and at "
        said += "which layers init_depth_scaled scales."
    print(f"\n{table(runs, SHOWN, 10)}\n(means of 10 steps)\n\n{said}")
    return {"Loss": losses_drawn(runs, **{"frequencies alone": known})}
