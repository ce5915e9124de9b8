"""debug_slow, case iii: 24 layers of post-norm with Xavier initialization."""

import importlib
import math
from collections import Counter

import torch
import torch.nn as nn
from tqdm import tqdm

from .set_up import batches, characters, descend, is_tensor, mean_at, says_where, table, trial

N_LAYER, D_MODEL, N_HEAD, LENGTH, ROWS = 24, 32, 4, 16, 8
STEPS, LEARNING_RATE = 200, 2e-3
SHOWN = (10, 25, 50, 75, 100, 150, 200)


class FeedForward(nn.Module):
    """The half of a layer that comes after the attention."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.ReLU(), nn.Linear(4 * D_MODEL, D_MODEL)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D_MODEL) -> the same."""
        return self.mlp(x)


class PostNorm(nn.Module):
    """A sublayer as in case iii: x = norm(x + sublayer(x))."""

    def __init__(self, sublayer: nn.Module, d_model: int):
        super().__init__()
        self.sublayer, self.norm = sublayer, nn.LayerNorm(d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, d_model) -> the same."""
        return self.norm(x + self.sublayer(x))


def post_norm_stack(sublayers: list[nn.Module], d_model: int) -> nn.Module:
    """All of them, one after the other."""
    return nn.Sequential(*(PostNorm(sublayer, d_model) for sublayer in sublayers))


class Model(nn.Module):
    """A language model around a stack.

    Args:
        vocab: the number of tokens.
        attention: makes the other half of a layer, a module from (B, T, D_MODEL) to the same.
        stack: makes the stack of a list of sublayers and their width.
        init: called with the stack and the number of layers after Xavier's initialization; None:
            leave it so.
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
    """The loss of each step."""
    torch.manual_seed(seed)
    model = Model(vocab, attention, stack, init)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    losses = []
    for loss in descend(model, optimizer, batches(text, ROWS, LENGTH, STEPS, seed)):
        losses.append(loss)
        bar.update()
    return losses


def causal_attention():
    """What makes the attention of the submission, without rotations: N_HEAD heads, causal."""
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
def run(fixes, seed: int) -> None:
    """debug_slow: train as in case iii, and with as much of the student's fixes as there is.

    Raises:
        UserError: something of fixes.py returns what it should not.
    """
    text, vocab = characters()
    guessing = frequencies_alone(text)
    print(
        f"{N_LAYER} layers of width {D_MODEL}, each x = norm(x + sublayer(x)) twice; Xavier "
        f"initialization of all weights; Adam at {LEARNING_RATE:g}.\n"
        f"It learns a text of {vocab} different characters. Who knows nothing has a loss of "
        f"{math.log(vocab):.2f}, who knows no more than how frequent each is, {guessing:.2f}.\n"
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


def frequencies_alone(text: torch.Tensor) -> float:
    """The entropy of single characters, in nats: the best loss without a look at the others."""
    return -sum(
        count / len(text) * math.log(count / len(text)) for count in Counter(text.tolist()).values()
    )


def look(fixes) -> tuple[bool, bool]:
    """Whether PreNormStack and init_depth_scaled are there; says where those are that are not."""
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
    """What the last losses say, and where to look."""
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
            f"{line}\nWith {name} it ends at {after:.2f}, and should go far below {guessing:.2f}. "
            "Look at the residual path, which no norm may touch, at the last norm, and at which "
            "layers init_depth_scaled scales."
        )
    return f"{line}\nWith {name} it has fallen to {after:.2f}, and is still falling."
