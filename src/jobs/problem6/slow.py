"""debug_slow, case iii: 24 layers of post-norm with Xavier initialization."""

import importlib
import math
from collections import Counter

import torch
import torch.nn as nn
from tqdm import tqdm

from jobs.errors import says_where

from .broken_training import (
    batches,
    characters,
    descend,
    is_tensor,
    losses_drawn,
    mean_at,
    table,
    trial,
)

N_LAYER, D_MODEL, N_HEAD, LENGTH, ROWS = 24, 32, 4, 16, 8
STEPS, LEARNING_RATE = 200, 2e-3
SHOWN = (10, 25, 50, 75, 100, 150, 200)


class FeedForward(nn.Module):
    """The feed-forward half of a layer."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.ReLU(), nn.Linear(4 * D_MODEL, D_MODEL)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D_MODEL) -> the same shape."""
        return self.mlp(x)


class PostNorm(nn.Module):
    """A sublayer as in case iii: x = norm(x + sublayer(x))."""

    def __init__(self, sublayer: nn.Module, d_model: int):
        super().__init__()
        self.sublayer, self.norm = sublayer, nn.LayerNorm(d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, d_model) -> the same shape."""
        return self.norm(x + self.sublayer(x))


def post_norm_stack(sublayers: list[nn.Module], d_model: int) -> nn.Module:
    """A stack of post-norm sublayers, in order."""
    return nn.Sequential(*(PostNorm(sublayer, d_model) for sublayer in sublayers))


class Model(nn.Module):
    """A language model around a stack.

    Args:
        vocab: the number of tokens.
        attention: creates the attention half of a layer, a module from (B, T, D_MODEL) to the same.
        stack: creates the stack from a list of sublayers and their width.
        init: called with the stack and the number of layers after Xavier initialization; None for
            Xavier initialization alone.
    """

    def __init__(self, vocab: int, attention, stack, init):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, D_MODEL), nn.Embedding(LENGTH, D_MODEL)
        self.stack = stack(
            [part for _ in range(N_LAYER) for part in (attention(), FeedForward())], D_MODEL
        )
        self.head = nn.Linear(D_MODEL, vocab)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        if init is not None:
            init(self.stack, N_LAYER)

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """(B, T) -> (B, T, vocab)."""
        return self.head(self.stack(self.token(idx) + self.position.weight[: idx.size(1)]))


def train(text: torch.Tensor, vocab: int, attention, stack, init, seed: int, bar) -> list[float]:
    """Train a Model; returns the loss of each step."""
    torch.manual_seed(seed)
    model = Model(vocab, attention, stack, init)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    losses = []
    for loss in descend(model, optimizer, batches(text, ROWS, LENGTH, STEPS, seed)):
        losses.append(loss)
        bar.update()
    return losses


def causal_attention():
    """A factory for the submission's causal attention with N_HEAD heads, without rotations."""
    model, attention = (
        importlib.import_module(f"submission.{name}") for name in ("model", "attention")
    )
    config = model.GPTConfig(
        1,
        LENGTH,
        n_layer=N_LAYER,
        n_head=N_HEAD,
        n_embd=D_MODEL,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
        attn_pdrop=0.0,
    )
    return lambda: attention.CausalSelfAttention(config)


@says_where
def run(fixes, seed: int) -> dict[str, str]:
    """Run debug_slow: train as in case iii, and with those of the student's fixes that are there.

    Returns:
        The sections of a page.

    Raises:
        UserError: a function of fixes.py returned something invalid.
    """
    text, vocab = characters()
    guessing = frequencies_alone(text)
    print(
        f"{N_LAYER} layers of width {D_MODEL}, each x = norm(x + sublayer(x)) twice; Xavier "
        f"initialization of all weights; Adam at {LEARNING_RATE:g}.\n"
        f"It learns a text of {vocab} different characters. Guessing has a loss of "
        f"{math.log(vocab):.2f}, knowing only how frequent each character is {guessing:.2f}.\n"
        "Missing in fixes.py:"
    )
    stack, init = look(fixes)
    if stack and init:
        print("  nothing")
    ways = {"as it was": (post_norm_stack, None)}
    if stack and init:
        ways["PreNormStack and init_depth_scaled"] = fixes.PreNormStack, fixes.init_depth_scaled
    elif stack:
        ways["PreNormStack alone"] = fixes.PreNormStack, None
    elif init:
        ways["init_depth_scaled alone"] = post_norm_stack, fixes.init_depth_scaled
    attention = causal_attention()
    with tqdm(total=len(ways) * STEPS, desc="Training", unit="step", leave=False) as bar:
        runs = {name: train(text, vocab, attention, *way, seed, bar) for name, way in ways.items()}
    rows = [["step", *runs]] + [
        [str(step), *(f"{mean_at(run, step):.2f}" for run in runs.values())] for step in SHOWN
    ]
    print(f"\n{table(rows)}\n(means of 10 steps)\n")
    print(verdict({name: mean_at(run, STEPS) for name, run in runs.items()}, guessing))
    return {"Loss": losses_drawn(runs, {"frequencies alone": guessing})}


def frequencies_alone(text: torch.Tensor) -> float:
    """The entropy of single characters, in nats: the best loss without context."""
    return -sum(
        count / len(text) * math.log(count / len(text)) for count in Counter(text.tolist()).values()
    )


def look(fixes) -> tuple[bool, bool]:
    """Whether PreNormStack and init_depth_scaled are implemented; prints the place if not."""
    return (
        trial(
            "PreNormStack",
            lambda: fixes.PreNormStack([nn.Linear(4, 4), nn.Linear(4, 4)], 4)(torch.ones(2, 3, 4)),
            "a float32 tensor of shape (2, 3, 4) for x of that shape",
            lambda y: is_tensor(y, (2, 3, 4)),
        ),
        trial(
            "init_depth_scaled",
            lambda: fixes.init_depth_scaled(FeedForward(), 2),
            "None",
            lambda result: True,
        ),
    )


def verdict(ends: dict[str, float], guessing: float) -> str:
    """What the final losses mean, and where to look."""
    (_, before), *others = ends.items()
    stuck = (
        ", about what the characters' frequencies alone give" if before > guessing - 0.15 else ""
    )
    line = f"As it was, the loss ends at {before:.2f}{stuck}."
    if not others:
        return (
            f"{line}\nWith PreNormStack and init_depth_scaled, this table gets a column that falls."
        )
    name, after = others[0]
    if math.isnan(after) or after > guessing - 0.5:
        return (
            f"{line}\nWith {name} it ends at {after:.2f}, but should go far below {guessing:.2f}. "
            "Look at the residual path, which must bypass all norms, at the last norm, and at "
            "which layers init_depth_scaled scales."
        )
    return f"{line}\nWith {name} it has fallen to {after:.2f}, and is still falling."
