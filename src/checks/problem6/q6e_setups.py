"""Question 6e, basic: the three set-ups at a size that takes seconds, with the fixes; without them
only for the message.

The judge trusts no reported loss: it has the trained models predict an unseen text, and computes
the loss itself.
"""

import numpy as np

from autograder import WrongAnswer, check, probe
from checks.problem6.q6e_texts import SPEECH

VOCAB = 24


def draw_language(rng) -> np.ndarray:
    """Draw a language of VOCAB words: the probability of j after i, [i, j]. After each word, three
    are likely. All are equally frequent, so no language is harder to learn than another.
    """
    chances = np.full((VOCAB, VOCAB), 0.05 / VOCAB)
    for chance in (0.6, 0.25, 0.1):
        chances[np.arange(VOCAB), rng.permutation(VOCAB)] += chance
    return chances


def write(rng, chances: np.ndarray, length: int) -> np.ndarray:
    """Write a text in a language, int64."""
    sums, words = chances.cumsum(axis=1), [int(rng.integers(VOCAB))]
    for number in rng.random(length - 1):
        words.append(min(int(np.searchsorted(sums[words[-1]], number)), VOCAB - 1))
    return np.array(words)


@probe
def descend(model, optimizer, text, test, rows, steps, clip=None):
    """For other probes: train a model to predict the next word; the learning rate decreases in the
    second half. Returns its logits for `test`, (n, T).
    """
    import torch

    text, test = torch.as_tensor(text), torch.as_tensor(test)
    objective, window = torch.nn.CrossEntropyLoss(), torch.arange(test.shape[1] + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, 2 * (1 - step / steps))
    )

    for _ in range(steps):
        pieces = text[torch.randint(len(text) - len(window), (rows, 1)) + window]
        model.zero_grad()
        objective(model(pieces[:, :-1]).mT, pieces[:, 1:]).backward()
        if clip is not None:
            clip(model.parameters(), 1 / 3)
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return model(test)


@probe(uses=(descend,))
def train_heads(text, test, steps, seed, fixed):
    """Case i: two layers with one head each, trained with a large learning rate; with
    attention_scores and clip_gradients, or unscaled and not clipped. Returns its logits.
    """
    import torch
    import torch.nn as nn

    from submission.problem6.fixes import attention_scores, clip_gradients

    C, T = 64, test.shape[1]

    class Head(nn.Module):
        """Replaces the attention in torch's layer, which passes x three times."""

        def __init__(self):
            super().__init__()
            self.query, self.key, self.value, self.proj = (
                nn.Linear(C, C, bias=False) for _ in range(4)
            )
            for linear in self.children():
                nn.init.normal_(linear.weight, std=C**-0.5)
            self.value.weight.data *= 2
            self.later = torch.full((T, T), -torch.inf).triu(1)

        def forward(self, x, *same, **options):
            q, k = self.query(x), self.key(x)
            scores = attention_scores(q, k) if fixed else q @ k.mT
            return self.proj(torch.softmax(scores + self.later, dim=-1) @ self.value(x)), None

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(24, C), nn.Embedding(T, C)

        def forward(self, idx):
            return self.token(idx) + self.position.weight

    torch.manual_seed(seed)
    layers = [
        nn.TransformerEncoderLayer(C, 1, 2 * C, 0.0, "gelu", batch_first=True, norm_first=True)
        for _ in range(2)
    ]
    for layer in layers:
        layer.self_attn = Head()
    model = nn.Sequential(Words(), *layers, nn.LayerNorm(C), nn.Linear(C, 24))
    nn.init.normal_(model[-1].weight, std=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=3.0, momentum=0.9)
    return descend(model, optimizer, text, test, 8, steps, clip_gradients if fixed else None)


@probe(uses=(descend,))
def train_stack(text, test, steps, seed, fixed):
    """Case iii: 12 layers, each a causal mean with a linear map and a feed-forward part; with
    PreNormStack and init_depth_scaled, or with post-norm and Xavier initialization. Returns
    descend's result.
    """
    from collections import OrderedDict

    import torch
    import torch.nn as nn

    from submission.problem6.fixes import PreNormStack, init_depth_scaled

    C, T = 16, test.shape[1]

    class Mean(nn.Module):
        def forward(self, x):
            return x.cumsum(dim=1) / torch.arange(1, T + 1)[:, None]

    class PostNorm(nn.Module):
        def __init__(self, sublayer):
            super().__init__()
            self.sublayer, self.norm = sublayer, nn.LayerNorm(C)

        def forward(self, x):
            return self.norm(x + self.sublayer(x))

    torch.manual_seed(seed)
    parts = []
    for _ in range(12):
        mlp = nn.Sequential(nn.Linear(C, 2 * C), nn.ReLU(), nn.Linear(2 * C, C))
        parts.append(nn.Sequential(OrderedDict(mean=Mean(), proj=nn.Linear(C, C))))
        parts.append(nn.Sequential(OrderedDict(mlp=mlp)))
    stack = PreNormStack(parts, C) if fixed else nn.Sequential(*map(PostNorm, parts))
    model = nn.Sequential(nn.Embedding(24, C), stack, nn.Linear(C, 24))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    if fixed:
        init_depth_scaled(stack, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3, fused=True)
    return descend(model, optimizer, text, test, 16, steps)


def require_learning(student, rng, case: str, train, steps: int, share: float) -> None:
    """Check that a training learns a language with the fixes; if not, run it without them.

    Args:
        case: its name and what it runs, for messages. train: its probe.
        share: the limit of the final loss, from 0 (the language is known) to 1 (only frequencies
            are known).

    Raises:
        WrongAnswer: it does not learn.
    """
    chances = draw_language(rng)
    text, test = write(rng, chances, 4000), write(rng, chances, 32 * 17).reshape(32, 17)
    x, y = test[:, :-1], test[:, 1:]
    frequencies = (np.bincount(text, minlength=VOCAB) + 0.5) / (len(text) + 0.5 * VOCAB)
    best, guess = (-np.log(each).mean() for each in (chances[x, y], frequencies[y]))
    limit = best + share * (guess - best)
    inputs = {"text": text, "test": x, "steps": steps, "seed": int(rng.integers(1 << 30))}

    def loss(fixed):
        answer = student.run(train, **inputs, fixed=fixed).named("the model's logits")
        logits = answer.array("float32", (*y.shape, VOCAB), finite=False).astype(float)
        found = np.inf
        if np.isfinite(logits).all():
            ahead = logits - np.take_along_axis(logits, y[..., None], axis=-1)  # of the right word
            found = float(np.logaddexp.reduce(ahead, axis=-1).mean())
        student.note(f"{case}: {'after' if fixed else 'before'}", found)
        return found

    if (after := loss(True)) > limit:
        raise WrongAnswer(
            f"{case}: without the fixes, the loss on a new text is {loss(False):.3g}; with yours "
            f"it is {after:.3g}, and should be under {limit:.2f} (knowing only the words' "
            f"frequencies gives {guess:.2f}). Do the other checks of these functions pass?"
        )


@check("6e-7-basic")
def test_set_ups(student, rng, calls):
    """An exploding training, a model that repeats itself, and a slow training.

    The reference reaches shares of 0.10 and 0.08; the limits are 5.5 and 6 standard deviations of
    their logarithms away, so that a right submission fails in less than one of a million runs.
    """
    SPEECH.require(student, calls)
    case = "Case i, the exploding loss (attention_scores and clip_gradients)"
    require_learning(student, rng, case, train_heads, 60, 0.6)
    case = "Case iii, the slow training (PreNormStack and init_depth_scaled)"
    require_learning(student, rng, case, train_stack, 70, 0.3)
