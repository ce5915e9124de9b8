"""debug_exploding, case i: one head, unscaled scores, a large learning rate, no clipping."""

import math
from statistics import fmean

import torch
import torch.nn as nn
from torch.nn.utils import get_total_norm

from .broken_training import Characters, characters, look, losses_drawn, table, train

D_K, N_LAYER, LENGTH, ROWS = 256, 2, 16, 16
STEPS, LEARNING_RATE = 150, 0.5
SHOWN = (1, 10, 20, 25, 30, 35, 40, 50, 75, 100, 150)


class Head(nn.Module):
    """Causal attention with a single head as wide as the model, in place of that of torch's layer.
    Queries and keys start with entries of variance 1; `scores` of them is what softmax gets.
    """

    def __init__(self, scores):
        super().__init__()
        self.scores = scores
        self.linears = nn.ModuleList(nn.Linear(D_K, D_K, bias=False) for _ in "qkvo")
        for linear in self.linears:
            nn.init.normal_(linear.weight, std=D_K**-0.5)

    def forward(self, x: torch.Tensor, *same, **options) -> tuple[torch.Tensor, None]:
        """(B, T, D_K) -> the same shape, and no weights; other arguments are ignored."""
        query, key, value, output = self.linears
        later = torch.full((LENGTH, LENGTH), -math.inf).triu(1)
        weights = torch.softmax(self.scores(query(x), key(x)) + later, dim=-1)
        return output(weights @ value(x)), None


def run(fixes, seed: int) -> dict[str, str]:
    """Train as in case i, with the student's scores, with the student's clipping, and with both.
    Returns the sections of a page; raises UserError if a fix returns something invalid.
    """
    text, vocab = characters()
    guessing = math.log(vocab)
    print(
        f"One head with d_k = d_model = {D_K}, learning rate {LEARNING_RATE}, no gradient "
        f"clipping, attention weights softmax(Q K^T).\nIt learns a text of {vocab} different "
        f"characters; guessing has a loss of ln {vocab} = {guessing:.2f}."
    )
    parameter = nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([3.0, 4.0])
    scores = torch.ones(2, 3, 4), torch.ones(2, 3, 5), torch.ones(2, 4, 5)  # of queries and keys
    there = look(fixes, {"attention_scores": scores, "clip_gradients": (5.0, [parameter], 1.0)})
    norms = []

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
    runs, same = {}, {"activation": "gelu", "batch_first": True, "norm_first": True}
    for name, (scores, clip) in ways.items():
        torch.manual_seed(seed)
        layers = [nn.TransformerEncoderLayer(D_K, 1, 2 * D_K, 0.0, **same) for _ in range(N_LAYER)]
        for layer in layers:
            layer.self_attn = Head(scores)
        layers = [Characters(vocab, LENGTH, D_K), *layers, nn.LayerNorm(D_K)]
        model = nn.Sequential(*layers, nn.Linear(D_K, vocab))
        nn.init.normal_(model[-1].weight, std=0.02)
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
        runs[name] = train(name, model, optimizer, text, (STEPS, ROWS, LENGTH), seed, clip)
    columns = {"as it was": runs["as it was"], "its gradient's norm": norms, **runs}
    print(f"\n{table(columns, SHOWN)}\n\n{verdict(runs)}")
    return {"Loss": losses_drawn(runs, guessing=guessing)}


def verdict(runs: dict[str, list[float]]) -> str:
    """What the losses mean, and where to look."""
    ends = {name: fmean(losses[-10:]) for name, losses in runs.items()}
    was, scaled = ends["as it was"], ends.get("attention_scores alone", 0.0)
    clipped, both = ends.get("clip_gradients alone", math.inf), ends.get("both")
    worst = max(filter(math.isfinite, runs["as it was"]))
    end = f"is not a number after {len(runs['as it was']) - 1} steps"
    if math.isfinite(was):
        end = f"ends at {was:.2f}"
    said = f"As it was, the loss rises to {worst:.3g} and {end}.\n"
    if both is None:
        said += "With attention_scores and clip_gradients, this table gets a column that converges."
    elif not math.isfinite(both):
        said += "With both of your fixes it still explodes. Look at clip_gradients: one norm over "
        said += "all parameters, and gradients changed in place."
    elif both < 0.9 * clipped:
        said += f"With both of your fixes it trains to {both:.2f} (mean of the last 10 steps)."
    else:
        said += f"With both of your fixes it ends at {both:.2f}, no better than with clipping "
        said += "alone. Look at attention_scores: are they divided by the square root of head_dim?"
    if not math.isfinite(scaled):
        said += "\nScaling alone still explodes: a learning rate this large needs clipping."
    if math.isfinite(clipped):
        said += f"\nClipping alone ends at {clipped:.2f}: it keeps the steps small, but the "
        said += "softmax stays saturated."
    return said
