"""debug_exploding, case i: one head, unscaled scores, a large learning rate, no clipping."""

import math
from collections.abc import Callable, Iterator
from statistics import fmean

import torch
import torch.nn as nn
from torch.nn.utils import get_total_norm

from jobs.errors import says_where

from .broken_training import Characters, characters, descend, look, losses_drawn, print_table, train

D_K, N_LAYER, LENGTH, ROWS = 256, 2, 16, 16
STEPS, LEARNING_RATE = 150, 0.5
SHOWN = (1, 10, 20, 25, 30, 35, 40, 50, 75, 100, 150)


class Head(nn.Module):
    """Causal attention with a single head as wide as the model, which replaces the attention of
    torch's layer. Queries and keys start with entries of variance 1.

    Args:
        scores: computes the input of the softmax from queries and keys.
    """

    def __init__(self, scores: Callable):
        super().__init__()
        self.scores = scores
        self.linears = nn.ModuleList(nn.Linear(D_K, D_K, bias=False) for _ in "qkvo")
        for linear in self.linears:
            nn.init.normal_(linear.weight, std=D_K**-0.5)

    def forward(self, x: torch.Tensor, *same, **options) -> tuple[torch.Tensor, None]:
        """(B, T, D_K) -> the same shape, and no weights; other arguments are ignored."""
        query, key, value, proj = self.linears
        later = torch.full((LENGTH, LENGTH), -math.inf).triu(1)
        weights = torch.softmax(self.scores(query(x), key(x)) + later, dim=-1)
        return proj(weights @ value(x)), None


def losses_of(
    text: torch.Tensor, vocab: int, seed: int, scores: Callable, clip: Callable | None
) -> Iterator[float]:
    """Train a small language model with such heads; clip: as in descend."""
    torch.manual_seed(seed)
    shape = (D_K, 1, 2 * D_K, 0.0, "gelu")
    layers = [
        nn.TransformerEncoderLayer(*shape, batch_first=True, norm_first=True)
        for _ in range(N_LAYER)
    ]
    for layer in layers:
        layer.self_attn = Head(scores)
    head = nn.LayerNorm(D_K), nn.Linear(D_K, vocab)
    model = nn.Sequential(Characters(vocab, LENGTH, D_K), *layers, *head)
    nn.init.normal_(model[-1].weight, std=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    yield from descend(model, optimizer, text, (ROWS, LENGTH), STEPS, seed, clip)


@says_where
def run(fixes, seed: int) -> dict[str, str]:
    """Run debug_exploding: train as in case i, with the student's scores, with the student's
    clipping, and with both. Returns the sections of a page.

    Raises:
        UserError: a function of fixes.py returned something invalid.
    """
    text, vocab = characters()
    guessing = math.log(vocab)
    print(
        f"One head with d_k = d_model = {D_K}, learning rate {LEARNING_RATE}, no gradient "
        "clipping, attention weights softmax(Q K^T).\n"
        f"It learns a text of {vocab} different characters; guessing has a loss of ln "
        f"{vocab} = {guessing:.2f}."
    )
    parameter = nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([3.0, 4.0])
    q, k, norms = torch.ones(2, 3, 5), torch.ones(2, 4, 5), []
    there = look(
        {
            "attention_scores": (
                lambda: fixes.attention_scores(q, k),
                torch.ones(2, 3, 4),
                "queries (2, 3, 5) and keys (2, 4, 5)",
            ),
            "clip_gradients": (
                lambda: fixes.clip_gradients([parameter], 1.0),
                5.0,
                "one gradient; the norm is wanted",
            ),
        }
    )

    def unscaled(q, k):
        return q @ k.mT

    def measure(parameters, max_norm):
        norms.append(float(get_total_norm([each.grad.double() for each in parameters])))

    ways = {"as it was": (unscaled, measure)}
    if "attention_scores" in there:
        ways["attention_scores alone"] = fixes.attention_scores, None
    if "clip_gradients" in there:
        ways["clip_gradients alone"] = unscaled, fixes.clip_gradients
    if len(there) == 2:
        ways["both"] = fixes.attention_scores, fixes.clip_gradients
    runs = train({name: losses_of(text, vocab, seed, *way) for name, way in ways.items()}, STEPS)
    print_table({"as it was": runs["as it was"], "gradient norm": norms, **runs}, SHOWN)
    explain(runs)
    return {"Loss": losses_drawn(runs, guessing=guessing)}


def explain(runs: dict[str, list[float]]) -> None:
    """Print what the losses mean, and where to look."""
    ends = {name: fmean(losses[-10:]) for name, losses in runs.items()}
    worst = max(filter(math.isfinite, runs["as it was"]))
    if math.isfinite(ends["as it was"]):
        print(
            f"As it was, the loss ends at {ends['as it was']:.2f}; at its worst it was {worst:.3g}."
        )
    else:
        steps = len(runs["as it was"]) - 1
        print(f"As it was, the loss rises to {worst:.3g} and is not a number after {steps} steps.")
    if "both" not in runs:
        print("With attention_scores and clip_gradients, this table gets a column that converges.")
    elif not math.isfinite(ends["both"]):
        print(
            "With both of your fixes it still explodes. Look at clip_gradients: one norm over all "
            "parameters, and gradients changed in place."
        )
    elif ends["both"] < 0.9 * ends["clip_gradients alone"]:
        print(
            f"With both of your fixes it trains to {ends['both']:.2f} (mean of the last 10 steps)."
        )
    else:
        print(
            f"With both of your fixes it ends at {ends['both']:.2f}, no better than with clipping "
            "alone. Look at attention_scores: are they divided by the square root of head_dim?"
        )
    if not math.isfinite(ends.get("attention_scores alone", 0)):
        print("Scaling alone still explodes: a learning rate this large needs clipping.")
    if math.isfinite(end := ends.get("clip_gradients alone", math.nan)):
        print(
            f"Clipping alone ends at {end:.2f}: it keeps the steps small, but the softmax stays "
            "saturated."
        )
