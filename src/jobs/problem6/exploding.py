"""debug_exploding, case i: one head, unscaled scores, a large learning rate, no clipping."""

import math
from collections.abc import Callable

import torch
import torch.nn as nn
from tqdm import tqdm

from jobs.errors import says_where

from .broken_training import batches, characters, descend, is_tensor, losses_drawn, table, trial

D_K, N_LAYER, LENGTH, ROWS = 256, 2, 16, 16
STEPS, LEARNING_RATE, MAX_NORM = 150, 0.5, 1.0
SHOWN = (1, 10, 20, 25, 30, 35, 40, 50, 75, 100, 150)


class Head(nn.Module):
    """Causal attention with a single head as wide as the model, which replaces the attention of
    torch's layer.

    Queries and keys start with entries of variance 1.

    Args:
        scores: computes the input of the softmax from queries and keys.
    """

    def __init__(self, scores: Callable):
        super().__init__()
        self.query, self.key, self.value, self.proj = (
            nn.Linear(D_K, D_K, bias=False) for _ in range(4)
        )
        for linear in (self.query, self.key, self.value, self.proj):
            nn.init.normal_(linear.weight, std=D_K**-0.5)
        self.scores = scores
        self.register_buffer("later", torch.full((LENGTH, LENGTH), -math.inf).triu(1))

    def forward(self, x: torch.Tensor, *same, **options) -> tuple[torch.Tensor, None]:
        """(B, T, D_K) -> the same shape, and no weights. Queries, keys and values come from the
        same x; options are ignored.
        """
        weights = torch.softmax(self.scores(self.query(x), self.key(x)) + self.later, dim=-1)
        return self.proj(weights @ self.value(x)), None


class Characters(nn.Module):
    """The embeddings of characters and of exactly LENGTH positions."""

    def __init__(self, vocab: int):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, D_K), nn.Embedding(LENGTH, D_K)

    def forward(self, idx: torch.Tensor) -> torch.Tensor:
        """(B, LENGTH) -> (B, LENGTH, D_K)."""
        return self.token(idx) + self.position.weight


def make_model(vocab: int, scores: Callable) -> nn.Module:
    """A small language model with such heads: (B, LENGTH) -> (B, LENGTH, vocab)."""
    layers = [
        nn.TransformerEncoderLayer(D_K, 1, 2 * D_K, 0.0, "gelu", batch_first=True, norm_first=True)
        for _ in range(N_LAYER)
    ]
    for layer in layers:
        layer.self_attn = Head(scores)
    model = nn.Sequential(Characters(vocab), *layers, nn.LayerNorm(D_K), nn.Linear(D_K, vocab))
    nn.init.normal_(model[-1].weight, std=0.02)
    return model


def unscaled(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """The scores of case i."""
    return q @ k.transpose(-2, -1)


def train(
    text: torch.Tensor, vocab: int, scores: Callable, clip: Callable | None, seed: int, bar
) -> tuple[list[float], list[float]]:
    """Train until the loss is no longer finite.

    Returns:
        The loss of each step, and the gradient norm before clipping.
    """
    torch.manual_seed(seed)
    model = make_model(vocab, scores)
    losses, norms, sizes = [], [], []
    for each in model.parameters():  # the size of each gradient, as soon as it is computed
        each.register_post_accumulate_grad_hook(lambda p: sizes.append(p.grad.double().norm()))

    def look_and_clip():
        norms.append(math.hypot(*sizes))
        sizes.clear()
        if clip is not None:
            clip(model.parameters(), MAX_NORM)

    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    for loss in descend(model, optimizer, batches(text, ROWS, LENGTH, STEPS, seed), look_and_clip):
        losses.append(loss)
        bar.update()
        if not math.isfinite(loss):
            break
    bar.update(STEPS - len(losses))
    return losses, norms


@says_where
def run(fixes, seed: int) -> dict[str, str]:
    """Run debug_exploding: train as in case i, with the student's scores, with the student's
    clipping, and with both.

    Returns:
        The sections of a page.

    Raises:
        UserError: a function of fixes.py returned something invalid.
    """
    text, vocab = characters()
    print(
        f"One head with d_k = d_model = {D_K}, learning rate {LEARNING_RATE}, no gradient "
        "clipping, attention weights softmax(Q K^T).\n"
        f"It learns a text of {vocab} different characters; guessing has a loss of ln "
        f"{vocab} = {math.log(vocab):.2f}.\nMissing in fixes.py:"
    )
    scaled, clips = look(fixes)
    if scaled and clips:
        print("  nothing")
    ways = {"as it was": (unscaled, None)}
    if scaled:
        ways["attention_scores alone"] = fixes.attention_scores, None
    if clips:
        ways["clip_gradients alone"] = unscaled, fixes.clip_gradients
    if scaled and clips:
        ways["both"] = fixes.attention_scores, fixes.clip_gradients
    with tqdm(total=len(ways) * STEPS, desc="Training", unit="step", leave=False) as bar:
        runs = {name: train(text, vocab, *way, seed, bar) for name, way in ways.items()}
    rows = [["step", "as it was: loss", "gradient norm", *list(runs)[1:]]]
    for step in SHOWN:
        losses = [show(run, step) for run, _ in runs.values()]
        rows.append([str(step), losses[0], show(runs["as it was"][1], step), *losses[1:]])
    print(f"\n{table(rows)}\n")
    losses = {name: losses for name, (losses, _) in runs.items()}
    print(verdict(losses))
    return {"Loss": losses_drawn(losses, {"guessing": math.log(vocab)})}


def look(fixes) -> tuple[bool, bool]:
    """Whether attention_scores and clip_gradients are implemented; prints the place if not."""

    def clip():
        parameter = nn.Parameter(torch.zeros(2))
        parameter.grad = torch.tensor([3.0, 4.0])
        return fixes.clip_gradients([parameter], 1.0)

    return (
        trial(
            "attention_scores",
            lambda: fixes.attention_scores(torch.ones(2, 3, 5), torch.ones(2, 4, 5)),
            "scores of shape (2, 3, 4) for queries (2, 3, 5) and keys (2, 4, 5)",
            lambda scores: is_tensor(scores, (2, 3, 4)),
        ),
        trial("clip_gradients", clip, "the norm, a float", lambda norm: isinstance(norm, float)),
    )


def show(values: list[float], step: int) -> str:
    """The value at a step, counted from 1; nan after the end."""
    return f"{values[step - 1]:.4g}" if step <= len(values) else "nan"


def verdict(runs: dict[str, list[float]]) -> str:
    """What the losses mean, and where to look."""

    def last(name):
        return sum(runs[name][-10:]) / 10

    finite = [loss for loss in runs["as it was"] if math.isfinite(loss)]
    lines = [
        f"As it was, the loss rises to {max(finite):.3g} and is not a number after "
        f"{len(finite)} steps."
        if len(finite) < STEPS
        else f"As it was, the loss ends at {last('as it was'):.2f}; at its worst it was "
        f"{max(finite):.3g}."
    ]
    if "both" not in runs:
        lines.append(
            "With attention_scores and clip_gradients, this table gets a column that converges."
        )
    elif not math.isfinite(last("both")):
        lines.append(
            "With both of your fixes it still explodes. Look at clip_gradients: one norm over all "
            "parameters, and gradients changed in place."
        )
    elif last("both") < 0.9 * last("clip_gradients alone"):
        lines.append(
            f"With both of your fixes it trains to {last('both'):.2f} (mean of the last 10 steps)."
        )
    else:
        lines.append(
            f"With both of your fixes it ends at {last('both'):.2f}, no better than with clipping "
            "alone. Look at attention_scores: are they divided by the square root of head_dim?"
        )
    if "attention_scores alone" in runs and not math.isfinite(last("attention_scores alone")):
        lines.append("Scaling alone still explodes: a learning rate this large needs clipping.")
    if "clip_gradients alone" in runs and math.isfinite(last("clip_gradients alone")):
        lines.append(
            f"Clipping alone ends at {last('clip_gradients alone'):.2f}: it keeps the steps small, "
            "but the softmax stays saturated."
        )
    return "\n".join(lines)
