"""Runs small trainings, some broken on purpose, and records what a monitor would read."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from checks.problem6.q6f_traces import MISSING, Trace
from jobs.training_log import repetition_rate

LENGTH = 24  # of a row, in characters
SAMPLE = 40  # of a sampled text
WIDTH = 24  # of the network
EVERY = 2  # steps from one record to the next


@dataclass(frozen=True)
class Setup:
    """A training; the defaults are healthy. Counts are of records, unless they say otherwise."""

    name: str = "healthy"  # says what is special
    n: int = 150
    whole: int = 400  # what the whole training would have
    n_layer: int = 3
    n_head: int = 2
    norm: str = "pre"  # or "post" or "none"
    residual: bool = True
    squash: bool = False  # tanh instead of GELU
    init: float = 0.05  # the standard deviation of all weights
    scale: float = 1.0  # times 1/sqrt(head_dim), on the scores of all heads
    one_head: float = 1.0  # the same for the last head of the middle layer
    optimizer: str = "adam"  # or "sgd"
    lr: float = 3e-3
    clip: float | None = 1.0
    warm_up: float = 0.05  # as a share of the whole
    endless: bool = False  # the warm-up never ends, and the rate keeps rising
    ascent: bool = False  # a wrong sign, so the loss is maximized
    batch: int = 8  # rows
    noise: float = 0.0  # the share of batches that are random characters
    short: bool = False  # the text is a few sentences of the corpus
    temperature: float = 1.0  # of sampled texts; 0: the most probable character
    measured: int = 1  # from one measurement of gradients and entropies to the next; 0: never
    sampled: int = 10  # from one sampled text to the next; 0: never
    # record -> {field: value} from there on
    changes: dict[int, dict[str, object]] = field(default_factory=dict)


class Block(nn.Module):
    """Attention and a feed-forward part; `entropy` is that of the last forward pass, one for each
    head.
    """

    def __init__(self, setup: Setup):
        super().__init__()
        C = WIDTH
        self.norms = nn.ModuleList(
            nn.Identity() if setup.norm == "none" else nn.LayerNorm(C) for _ in range(2)
        )
        self.qkv, self.proj = nn.Linear(C, 3 * C), nn.Linear(C, C)
        bend = nn.Tanh() if setup.squash else nn.GELU()
        self.feed_forward = nn.Sequential(nn.Linear(C, 2 * C), bend, nn.Linear(2 * C, C))
        self.setup, self.factors, self.entropy = setup, None, None

    def forward(self, x):
        """(B, T, C) -> the same."""
        for norm, part in zip(self.norms, (self._attend, self.feed_forward)):
            kept = x if self.setup.residual else 0
            x = norm(kept + part(x)) if self.setup.norm == "post" else kept + part(norm(x))
        return x

    def _attend(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.setup.n_head, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) * self.factors.view(-1, 1, 1)
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, -math.inf).softmax(dim=-1)
        entropy = -(weights * weights.clamp(min=1e-30).log()).sum(-1).mean((0, 2))
        largest = torch.arange(1, T + 1).log().mean()
        self.entropy = (entropy / largest).detach().clamp(max=1)
        return self.proj((weights @ v).transpose(1, 2).reshape(B, T, C))


class Network(nn.Module):
    """A causal language model of characters."""

    def __init__(self, setup: Setup, vocab_size: int):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab_size, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block(setup) for _ in range(setup.n_layer)))
        self.last = nn.LayerNorm(WIDTH) if setup.norm == "pre" else nn.Identity()
        self.head = nn.Linear(WIDTH, vocab_size)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=setup.init)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.head.weight, std=0.02)

    def set_scale(self, setup: Setup) -> None:
        """Set the factors on each head's scores."""
        for block in self.blocks:
            block.factors = torch.full((setup.n_head,), float(setup.scale))
        self.blocks[len(self.blocks) // 2].factors[-1] *= setup.one_head

    def forward(self, x):
        """(B, T) -> logits, (B, T, vocab_size)."""
        x = self.tok(x) + self.pos(torch.arange(x.size(1)))
        return self.head(self.last(self.blocks(x)))


def train(setup: Setup, world: str, seed: int, reference_loss: float) -> Trace:
    """Train, and record a trace; stops at the third record with a loss that isn't finite."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    letters = sorted(set(world))
    read = world[:400] if setup.short else world
    text = torch.tensor([letters.index(letter) for letter in read])
    network = Network(setup, len(letters))
    adam, group = setup.optimizer == "adam", network.parameters()
    optimizer = (
        torch.optim.Adam(group, betas=(0.9, 0.98)) if adam else torch.optim.SGD(group, momentum=0.9)
    )
    changes, records, ended = setup.changes, [], 0
    network.set_scale(setup)
    for step in range(setup.n * EVERY):
        number, recorded = step // EVERY, step % EVERY == 0
        if recorded and number in changes:
            setup = replace(setup, **changes[number])
            network.set_scale(setup)
        lr = rate(setup, step / (setup.whole * EVERY))
        for each in optimizer.param_groups:
            each["lr"], each["maximize"] = lr, setup.ascent
        starts = torch.from_numpy(rng.integers(len(text) - LENGTH - 1, size=setup.batch))
        rows = text[starts[:, None] + torch.arange(LENGTH + 1)]
        if rng.random() < setup.noise:
            rows = torch.from_numpy(rng.integers(len(letters), size=tuple(rows.shape)))
        loss = F.cross_entropy(network(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        if recorded:
            norms, entropies = measure(network, setup, number)
            repeated = sample(network, setup, number, seed)  # after measuring: it changes entropies
            records.append((step, loss.item(), lr, norms, entropies, repeated))
            ended += not math.isfinite(loss.item())
            if ended == 3:
                break
        if setup.clip:
            nn.utils.clip_grad_norm_(network.parameters(), setup.clip)
        optimizer.step()
    names = ("step", "loss", "lr", "grad_norm", "attention_entropy", "repetition_rate")
    columns = {name: np.array(column) for name, column in zip(names, zip(*records))}
    return Trace(setup.name, setup.whole * EVERY, reference_loss, columns)


def rate(setup: Setup, share: float) -> float:
    """The learning rate at this share of the training: warm-up, then a cosine down to a tenth."""
    warm = (share + 1e-3) / setup.warm_up
    if setup.endless:
        return setup.lr * warm
    return setup.lr * min(warm, max(0.1, 0.5 * (1 + math.cos(math.pi * share))))


def measure(network: Network, setup: Setup, number: int) -> tuple[list, list]:
    """The norm of the gradient of each layer, and the entropies of all heads; -1 where they are not
    measured.
    """
    if setup.measured == 0 or number % setup.measured:
        return [MISSING] * setup.n_layer, [[MISSING] * setup.n_head] * setup.n_layer
    norms = [
        math.sqrt(sum(float(p.grad.double().square().sum()) for p in block.parameters()))
        for block in network.blocks
    ]
    return norms, [block.entropy.tolist() for block in network.blocks]


@torch.no_grad()
def sample(network: Network, setup: Setup, number: int, seed: int) -> float:
    """The repetition rate of a text sampled from the network; -1 where none is sampled."""
    if setup.sampled == 0 or number % setup.sampled:
        return MISSING
    generator = torch.Generator().manual_seed(1000 * seed + number)
    x = torch.zeros(1, 1, dtype=torch.long)
    for _ in range(SAMPLE):
        logits = network(x[:, -LENGTH:])[:, -1]
        if setup.temperature and torch.isfinite(logits).all():
            weights = (logits / setup.temperature).softmax(-1)
            drawn = torch.multinomial(weights, 1, generator=generator)
        else:
            drawn = logits.argmax(-1, keepdim=True)
        x = torch.cat((x, drawn), dim=1)
    return repetition_rate(x[0].tolist())
