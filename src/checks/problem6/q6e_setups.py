"""The two trainings of question 6e at a size that takes seconds: probes that run them with and
without fixes.py, and the verdict.

The judge trusts no reported loss: it has the trained models predict an unseen text, and computes
the loss itself.
"""

from dataclasses import dataclass

import numpy as np

from autograder import Answer, WrongAnswer, check, probe
from checks.problem6.q6e.sampled_texts import judge_texts

VOCAB = 24
ROWS_OF_TEST = 32


@dataclass(frozen=True)
class Language:
    """A random language of VOCAB words, in which a word depends on the one before: chances[i, j] is
    the probability of j after i.
    """

    chances: np.ndarray

    def write(self, rng, length: int) -> np.ndarray:
        """Write a text, int64."""
        sums, words = self.chances.cumsum(axis=1), [int(rng.integers(VOCAB))]
        for number in rng.random(length - 1):
            words.append(min(int(np.searchsorted(sums[words[-1]], number)), VOCAB - 1))
        return np.array(words)

    def ideal(self, x: np.ndarray, y: np.ndarray) -> float:
        """The loss with all probabilities known."""
        return float(-np.log(self.chances[x, y]).mean())


def draw_language(rng) -> Language:
    """Draw a language in which three words are likely after each word. All words are equally
    frequent, so no language is harder to learn than another.
    """
    chances = np.full((VOCAB, VOCAB), 0.05 / VOCAB)
    for chance in (0.6, 0.25, 0.1):
        chances[np.arange(VOCAB), rng.permutation(VOCAB)] += chance
    return Language(chances)


@probe
def descend(model, optimizer, text, test, rows, steps, schedule=None, clip=None):
    """For other probes: train a model to predict the next word until its loss is no longer finite.
    Returns its logits for `test`, (n, T), and the number of steps with a finite loss.
    """
    import torch

    text, test = torch.as_tensor(text), torch.as_tensor(test)
    objective, window = torch.nn.CrossEntropyLoss(), torch.arange(test.shape[1] + 1)

    def closure():
        pieces = text[torch.randint(len(text) - len(window), (rows, 1)) + window]
        loss = objective(model(pieces[:, :-1]).mT, pieces[:, 1:])
        model.zero_grad()
        loss.backward()
        if clip is not None:
            clip(model.parameters(), 1.0)
        return loss

    finite = 0
    while finite < steps and optimizer.step(closure).isfinite():
        finite += 1
        if schedule is not None:
            schedule.step()
    with torch.no_grad():
        return {"logits": model(test), "finite": finite}


@probe(uses=(descend,))
def train_heads(text, test, steps, seed, fixed):
    """Case i: two layers with one head each, trained with a large learning rate; unscaled and not
    clipped, or with those of attention_scores and clip_gradients that `fixed` names. Returns
    descend's result.
    """
    import torch
    import torch.nn as nn

    from submission.problem6 import fixes

    C, T = 64, test.shape[1]

    class Head(nn.Module):
        """Replaces the attention in torch's layer; queries, keys and values come from the same
        x.
        """

        def __init__(self):
            super().__init__()
            self.query, self.key, self.value, self.proj = (
                nn.Linear(C, C, bias=False) for _ in range(4)
            )
            for linear in (self.query, self.key, self.value, self.proj):
                nn.init.normal_(linear.weight, std=(2 if linear is self.value else 1) * C**-0.5)
            self.later = torch.full((T, T), -torch.inf).triu(1)

        def forward(self, x, *same, **options):
            q, k = self.query(x), self.key(x)
            scores = fixes.attention_scores(q, k) if "attention_scores" in fixed else q @ k.mT
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
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, 2 * (1 - step / steps))
    )
    return descend(
        model,
        optimizer,
        text,
        test,
        8,
        steps,
        schedule,
        fixes.clip_gradients if "clip_gradients" in fixed else None,
    )


@probe(uses=(descend,))
def train_stack(text, test, steps, seed, fixed):
    """Case iii: 12 layers, each a causal mean with a linear map and a feed-forward part; with
    post-norm and Xavier initialization, or with those of PreNormStack and init_depth_scaled that
    `fixed` names. Returns descend's result.
    """
    import torch
    import torch.nn as nn

    from submission.problem6 import fixes

    C = 16

    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(C, C)

        def forward(self, x):
            return self.proj(x.cumsum(dim=1) / torch.arange(1, x.size(1) + 1)[:, None])

    class FeedForward(nn.Module):
        def __init__(self):
            super().__init__()
            self.mlp = nn.Sequential(nn.Linear(C, 2 * C), nn.ReLU(), nn.Linear(2 * C, C))

        def forward(self, x):
            return self.mlp(x)

    class PostNorm(nn.Module):
        def __init__(self, sublayer):
            super().__init__()
            self.sublayer, self.norm = sublayer, nn.LayerNorm(C)

        def forward(self, x):
            return self.norm(x + self.sublayer(x))

    torch.manual_seed(seed)
    parts = [part for _ in range(12) for part in (Mean(), FeedForward())]
    stack = (
        fixes.PreNormStack(parts, C)
        if "PreNormStack" in fixed
        else nn.Sequential(*map(PostNorm, parts))
    )
    model = nn.Sequential(nn.Embedding(24, C), stack, nn.Linear(C, 24))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    if "init_depth_scaled" in fixed:
        fixes.init_depth_scaled(stack, 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3, fused=True)
    return descend(model, optimizer, text, test, 16, steps)


@dataclass(frozen=True)
class Way:
    """Some of the fixes, and their expected effect.

    enough: the limit of the final loss, from 0 (the language is known) to 1 (only frequencies are
    known), at least 4 standard deviations (of the logarithm) from the reference's. cause: the
    likely cause if it is exceeded.
    """

    fixes: tuple[str, ...]
    enough: float
    cause: str


@dataclass(frozen=True)
class SetUp:
    """A training setup.

    Attributes:
        name: for messages.
        probe: trains the model.
        length: the number of tokens that the model reads.
        steps: of the training.
        ways: the combinations of fixes to try.
        exploded: the likely cause if the loss still explodes.
        runs: how often it is trained with fixes. The mean of the losses counts, since a single run
            may be unlucky.
    """

    name: str
    probe: object
    length: int
    steps: int
    ways: tuple[Way, ...]
    exploded: str
    runs: int = 1


EXPLODING = SetUp(
    "Case i, the exploding loss",
    train_heads,
    16,
    60,
    (
        Way(
            ("attention_scores", "clip_gradients"),
            0.22,
            "attention_scores should scale the scores, or the softmax stays saturated; and "
            "clip_gradients should keep the gradients' direction.",
        ),
    ),
    "clip_gradients should keep each step small: is it one norm over all "
    "parameters, and are gradients changed in place?",
    runs=3,
)
SLOW = SetUp(
    "Case iii, the slow training",
    train_stack,
    8,
    70,
    (
        Way(
            ("PreNormStack", "init_depth_scaled"),
            0.4,
            "no norm may touch the residual path of PreNormStack, and init_depth_scaled should "
            "scale only the layers that write into it.",
        ),
        # Each alone: either is enough to learn more than frequencies (without both, 0.98 and
        # more).
        Way(
            ("PreNormStack",),
            0.8,
            "no norm may touch the residual path, and each sublayer gets a normalized x.",
        ),
        Way(("init_depth_scaled",), 0.45, "the last layers of the branches are not scaled down."),
    ),
    "does PreNormStack end with a norm, and does each sublayer get a normalized x?",
)


def judge_training(student, rng, setup: SetUp) -> None:
    """Check that the setup learns a language with the fixes. Without them it does not, which is
    measured only for the message.

    Raises:
        WrongAnswer: it does not learn.
    """
    language = draw_language(rng)
    text = language.write(rng, 4000)
    test = language.write(rng, ROWS_OF_TEST * (setup.length + 1)).reshape(ROWS_OF_TEST, -1)
    x, y = test[:, :-1], test[:, 1:]
    frequencies = (np.bincount(text, minlength=VOCAB) + 0.5) / (len(text) + 0.5 * VOCAB)
    best, guess = language.ideal(x, y), float(-np.log(frequencies[y]).mean())
    inputs = {"text": text, "test": x, "steps": setup.steps}
    seeds = [int(seed) for seed in rng.integers(1 << 30, size=setup.runs)]

    def run(*fixed):
        loss = float(
            np.mean(
                [
                    _loss(
                        student.run(setup.probe, **inputs, seed=seed, fixed=list(fixed)), setup, y
                    )
                    for seed in (seeds if fixed else seeds[:1])
                ]
            )
        )
        student.note(f"{setup.name}: {' and '.join(fixed) or 'before'}", loss)
        return loss

    for way in setup.ways:
        loss, limit = run(*way.fixes), best + way.enough * (guess - best)
        if loss <= limit:
            continue
        before = run()
        was = (
            f"{setup.name}: Before, the loss on a new text is {_words(before)}; with your "
            f"{' and '.join(way.fixes)}{'' if len(way.fixes) > 1 else ' alone'} it is "
            f"{_words(loss)}"
        )
        if loss > 2 * guess:
            raise WrongAnswer(f"{was}. It still explodes.\nLikely cause: {setup.exploded}")
        raise WrongAnswer(
            f"{was}, and should be under {limit:.2f} (knowing only the words' frequencies "
            f"gives {guess:.2f}).\n"
            f"Likely cause: {way.cause}"
        )


def _words(loss: float) -> str:
    return f"{loss:.3g}" if np.isfinite(loss) else "not finite"


def _loss(answer: Answer, setup, y):
    """Compute the loss from logits for a text; infinite if they are not finite."""
    logits = (
        answer["logits"]
        .named("the model's logits")
        .array("float32", (*y.shape, VOCAB), finite=False)
        .astype(float)
    )
    if not np.isfinite(logits).all() or answer["finite"].number() < setup.steps:
        return np.inf
    ahead = logits - np.take_along_axis(logits, y[..., None], axis=-1)  # of the right word
    return float(np.logaddexp.reduce(ahead, axis=-1).mean())


@check("6e-7-basic")
def test_set_ups(student, rng, cases):
    """Each at a size that takes seconds: an exploding training, a model that repeats itself, a slow
    training.
    """
    for case in cases:
        judge_texts(student, case)
    judge_training(student, rng, EXPLODING)
    judge_training(student, rng, SLOW)
