"""Training traces for 6f: a healthy one is drawn, and then changed.

A change takes a trace, a generator, and the record at which it begins. It returns the faults that
it makes: name -> (the first record at which the question's condition holds, in how many records in
a row it must hold). Its docstring is what a student reads about such a trace.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from common.alarms import TOLERANCE, in_time

NEEDS = {  # each fault, and the column that shows it
    "exploding_loss": "loss",
    "repetition": "repetition_rate",
    "slow_convergence": "loss",
    "dead_attention": "attention_entropy",
    "saturated_attention": "attention_entropy",
    "vanishing_gradients": "grad_norm",
}
NAMES = tuple(NEEDS)
# in a column: the record lacks this value. Actual values are at least 0.
MISSING = -1.0
WHOLE = 400  # records that a whole training would have


@dataclass
class Trace:
    """The first n records of a training, as columns.

    Attributes:
        name: what was trained, or what happens in it.
        total_steps, reference_loss: Monitor's arguments.
        columns: "step", "loss", "lr" and "repetition_rate" are (n,), "grad_norm" (n, layers),
            "attention_entropy" (n, layers, heads); all float64, except the steps, int64. All but
            the steps may be left out: then no record has them.
        faults: name -> its onset, the first record at which it is one.
    """

    name: str
    total_steps: int
    reference_loss: float | None
    columns: dict[str, np.ndarray]
    faults: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["step"])

    def first_after(self, share: float) -> int:
        """The first record after this share of total_steps; n if there is none."""
        return int((self.columns["step"] <= share * self.total_steps).sum())

    def in_time(self, name: str, record: int) -> bool:
        """Whether an alarm at this record is in time for a fault."""
        bad = np.flatnonzero(~np.isfinite(self.columns.get("loss", [])))
        ends = int(bad[0]) if name == "exploding_loss" and len(bad) else None
        return in_time(record, self.faults[name], ends)

    def missed(self, raised: dict[str, int]) -> list[str]:
        """The faults that were not reported in time, where each alarm was raised at a record."""
        return [n for n in self.faults if n not in raised or not self.in_time(n, raised[n])]

    def false(self, raised: dict[str, int]) -> list[str]:
        """The alarms without a fault, or long before it."""
        return [n for n, at in raised.items() if at < self.faults.get(n, np.inf) - TOLERANCE]


def draw_healthy(
    rng: np.random.Generator, n: int = 180, n_layer: int | None = None, n_head: int | None = None
) -> Trace:
    """Draw a noisy but healthy training of n records: heads with initially uniform attention,
    warm-up, occasional bad batches, and faulty states that do not last.
    """
    n_layer, n_head = n_layer or int(rng.integers(2, 5)), n_head or int(rng.integers(2, 4))
    every = int(rng.choice([5, 10, 20]))
    index = np.arange(n)
    first, reference = rng.uniform(3, 5), rng.uniform(1, 1.8)
    loss = reference + (first - reference) * np.exp(-index / WHOLE * rng.uniform(8, 14))
    # one at a time,
    bad = rng.choice(np.arange(10, n - 10, 11), size=4, replace=False) + rng.integers(4, size=4)
    spikes = np.ones(n)
    spikes[bad] = rng.uniform(1.8, 4, size=4)
    bump = int(rng.integers(60, 85))
    spikes[bump : bump + 3] = rng.uniform(1.8, 2.2)  # and three in a row
    loss = loss * np.exp(0.03 * rng.standard_normal(n)) * spikes

    layers = np.exp(0.5 * rng.standard_normal(n_layer)) * 10 ** rng.uniform(-5, 2)
    norms = layers * np.exp(0.3 * rng.standard_normal((n, n_layer))) * spikes[:, None] ** 2
    norms[: int(rng.uniform(0.065, 0.085) * WHOLE), 0] *= 1e-5  # as if warm-up let it grow

    settled = rng.uniform(0.3, 0.9, size=(n_layer, n_head))
    wakes = WHOLE * rng.uniform(0.03, 0.085, size=(n_layer, n_head))
    even = 1 / (1 + np.exp((index[:, None, None] - wakes) / 1.5))  # 1: still uniform
    entropy = (
        settled
        + (1 - settled) * even
        - np.abs(rng.standard_normal((n, n_layer, n_head))) * (0.001 + 0.03 * (1 - even))
    )

    rate = rng.uniform(0.02, 0.25, size=n)
    begin = int(rng.integers(n // 3, n // 2))
    norms[begin : begin + 9, 0] = 1e-4 * norms[begin : begin + 9, -1]
    entropy[begin + 12 : begin + 21, rng.integers(n_layer), rng.integers(n_head)] = 0.004
    begin += -begin % 5
    # every fifth is a sample: two in a row, and one
    rate[[begin, begin + 5, begin + 15]] = rng.uniform(0.55, 0.9, size=3)
    rate[index % 5 > 0] = MISSING
    columns = {
        "step": (index + 1) * every,
        "loss": loss,
        "lr": rng.choice([3e-4, 1e-3]) * np.minimum(1, (index + 1) / (0.05 * WHOLE)),
        "grad_norm": norms,
        "attention_entropy": entropy,
        "repetition_rate": rate,
    }
    return Trace("healthy", WHOLE * every, reference, columns)


def thin_out(trace: Trace, between: int) -> None:
    """Keep gradients and entropies only in every `between`-th record."""
    gone = np.arange(len(trace)) % between > 0
    for name in {"attention_entropy", "grad_norm"}.intersection(trace.columns):
        trace.columns[name][gone] = MISSING


def draw_trace(rng: np.random.Generator, change: Callable, gaps: bool = False) -> Trace:
    """Draw a trace and change it. Before, no record is exactly at a quarter or a tenth of
    total_steps, and one head would be dead if it were not so early.

    Args:
        gaps: keep nothing but what shows its faults, and not in every record.
    """
    trace = draw_healthy(rng, n_layer=int(rng.integers(3, 5)))
    early = trace.columns["attention_entropy"][:25]
    _, layer, head = np.unravel_index(early.argmax(), early.shape)
    early[:, layer, head] = np.maximum(early[:, layer, head], 0.995)
    # The original is a multiple of 2000, and steps are multiples of 5.
    trace.total_steps += int(rng.integers(10, 20))
    at = 2 * int(rng.integers(56, 60))
    holds = change(trace, rng, at) or {}
    trace.name = " ".join(change.__doc__.split())
    if gaps:
        needed = {"step", *(NEEDS[name] for name in holds)}
        trace.columns = {name: trace.columns[name] for name in needed}
        thin_out(trace, 2)
        if "loss" in needed:
            trace.columns["loss"][(at - 1) % 6 :: 6] = MISSING  # also just before a rise
    for name, (since, row) in holds.items():
        column = trace.columns[NEEDS[name]].reshape(len(trace), -1)
        there = np.flatnonzero((column != MISSING).all(axis=1))
        trace.faults[name] = int(there[there >= since][row - 1])
    return trace


def rise(trace, rng, at, jump, growth):
    """Let the loss rise, a hundredfold at most; it may not have got far, so without a reference."""
    loss, trace.reference_loss = trace.columns["loss"], None
    rises = np.minimum(jump * growth ** np.arange(len(trace) - at), 100)
    noise = np.exp(0.02 * rng.standard_normal(len(rises)))
    loss[at:] = np.median(loss[at - 5 : at]) * rises * noise


def explode(trace, rng, at):
    """The loss nearly doubles at once and then rises slowly: it triples after 20 records."""
    rise(trace, rng, at, rng.uniform(1.75, 1.85), rng.uniform(1.016, 1.02))
    return {"exploding_loss": (at, 3)}  # the third of five: the median


def climb(trace, rng, at):
    """The loss rises by about a tenth per record; its lowest value is before the rise."""
    growth = rng.uniform(1.08, 1.12)
    rise(trace, rng, at, 1, growth)
    # or a record or two earlier: tolerances are wider
    return {"exploding_loss": (at + int(np.ceil(np.log(1.5) / np.log(growth))), 3)}


def break_off(trace, rng, at):
    """The loss becomes NaN. Every comparison with NaN is False."""
    trace.columns["loss"][at:] = np.nan
    return {"exploding_loss": (at, 1)}


def repeat(trace, rng, at):
    """Sampled texts repeat themselves. Records between samples lack repetition_rate."""
    rate = trace.columns["repetition_rate"]
    samples = np.flatnonzero((rate != MISSING) & (np.arange(len(trace)) >= at))
    rate[samples[0] - 5] = 0.1
    rate[samples] = rng.uniform(0.55, 0.95, size=len(samples))
    return {"repetition": (at, 3)}


def cover(trace, rng, share):
    """Let the loss go a share of the way from the first one to reference_loss, in each record."""
    loss, reference = trace.columns["loss"], trace.reference_loss
    noise = 1 + 0.005 * rng.standard_normal(len(trace) - 1)
    loss[1:] = ((1 - share) * loss[0] + share * reference)[1:] * noise


def stall(trace, rng, at):
    """The loss stays where it started, except for one bad batch."""
    cover(trace, rng, np.zeros(len(trace)))
    trace.columns["loss"][rng.integers(6, 20)] *= rng.uniform(2, 4)
    return {"slow_convergence": (trace.first_after(1 / 4), 1)}


def relapse(trace, rng, at):
    """The loss covers a sixth of the way in time, and is back where it started later."""
    share = np.minimum(np.arange(len(trace)) / 20, 1) / 6
    share[at:] = 0
    cover(trace, rng, share)
    return {"slow_convergence": (at, 3)}


def die(trace, rng, at, layer=0):
    """One head of the first layer attends evenly; all others are healthy."""
    entropy = trace.columns["attention_entropy"][at:, layer]
    entropy[:, rng.integers(entropy.shape[1])] = rng.uniform(0.993, 1, size=len(entropy))
    return {"dead_attention": (at, 20)}


def saturate(trace, rng, at):
    """One head of one layer attends to single positions; all others are healthy."""
    entropy = trace.columns["attention_entropy"][at:]
    head = rng.integers(entropy.shape[1:])
    entropy[:, *head] = rng.uniform(0, 0.007, size=len(entropy))
    return {"saturated_attention": (at, 20)}


def vanish(trace, rng, at):
    """The gradient of the layer nearest to the input, the first of grad_norm, nearly vanishes."""
    norms = trace.columns["grad_norm"]
    norms[at:, 0] = norms[at:, -1] * rng.uniform(1e-5, 7e-4, size=len(trace) - at)
    return {"vanishing_gradients": (at, 20)}


def start_badly(trace, rng, at):
    """From the beginning, a head of the last layer is even and the first gradient small."""
    begun = die(trace, rng, 0, layer=-1) | vanish(trace, rng, 0)
    return dict.fromkeys(begun, (trace.first_after(1 / 10), 1))


FAULTS = explode, climb, break_off, repeat, stall, relapse, die, saturate, vanish, start_badly


def stall_unjudged(trace, rng, at):
    """The loss stays, but for an easy batch, and there is no reference_loss."""
    stall(trace, rng, at)
    trace.columns["loss"][at] *= rng.uniform(0.35, 0.45)
    trace.reference_loss = None


def measure_rarely(trace, rng, at=0):
    """Gradients and entropies are rare; states of 12 measurements are no faults."""
    between, at = int(rng.integers(4, 6)), int(rng.integers(76, 91))
    entropy, norms = trace.columns["attention_entropy"], trace.columns["grad_norm"]
    entropy[at : at + 12 * between, rng.integers(entropy.shape[1]), 0] = rng.choice([0.003, 0.997])
    norms[at : at + 12 * between, 0] = norms[at : at + 12 * between, -1] * 1e-4
    thin_out(trace, between)


def barely_converge(trace, rng, at):
    """The loss soon covers 16% of the way, which is half of the first loss, and stays there. The
    gradient of the second of at least three layers is small.
    """
    norms = trace.columns["grad_norm"]
    norms[:, 1] = 1e-4 * norms[:, -1]
    trace.reference_loss = float(trace.columns["loss"][0] * rng.uniform(0.45, 0.55))
    cover(trace, rng, rng.uniform(0.157, 0.167) * np.minimum(np.arange(len(trace)) / 20, 1))


def come_near(trace, rng, at):
    """Values stay near a limit: the loss at 1.4 times its lowest for 25 records, the entropies of
    two heads at 0.97 and 0.03, the first layer's gradient at 0.005 of the last one's, and samples
    at 0.43. Two other heads take turns at 0.004 and 0.995, for 10 records each.
    """
    columns, trace.reference_loss = trace.columns, None  # it may not have got far
    loss, rate = columns["loss"], columns["repetition_rate"]
    lowest = np.median(np.lib.stride_tricks.sliding_window_view(loss[:at], 5), axis=1).min()
    loss[at : at + 25] = lowest * rng.uniform(1.36, 1.4) * (1 + 0.005 * rng.standard_normal(25))
    rate[rate != MISSING] = rng.uniform(0.42, 0.445, size=(rate != MISSING).sum())

    norms, entropy = columns["grad_norm"][45:], columns["attention_entropy"][45:]  # after warm-up
    norms[:, 0] = norms[:, -1] * rng.uniform(0.004, 0.006, size=len(norms))
    norms[:, 1] = norms[:, -1] * rng.uniform(8, 12, size=len(norms))  # the last is not the largest
    near, turning = rng.permutation(entropy.shape[1])[:2]
    one, other = rng.permutation(entropy.shape[2])[:2]
    entropy[:, near, one] = rng.uniform(0.025, 0.035, size=len(entropy))
    entropy[:, near, other] = rng.uniform(0.965, 0.975, size=len(entropy))
    turn = np.arange(len(entropy)) // 10 % 2
    entropy[:, turning, one] = np.where(turn, 0.995, 0.004)
    entropy[:, turning, other] = np.where(turn, 0.004, 0.995)


NEAR = stall_unjudged, measure_rarely, barely_converge, come_near


def be_rare(trace, rng, at):
    """The first loss is NaN, the others stay near the first finite one, and reference_loss is 0.0,
    which is not None. Two samples of 0.6 to 0.9 take turns with one of 0.0, which is not None. In
    one record, all gradients are 0.
    """
    trace.columns["grad_norm"][50] = 0.0
    trace.reference_loss = 0.0
    slow = stall(trace, rng, at)
    trace.columns["loss"][0] = np.nan
    rates = trace.columns["repetition_rate"]
    rates[rates != MISSING] = rng.uniform(0.6, 0.9, size=(rates != MISSING).sum())
    rates[::15] = 0.0  # of every fifth
    return {"exploding_loss": (0, 1), **slow}
