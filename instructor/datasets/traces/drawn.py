"""Draws traces without training: noisier than the basic check's, with near-faults, and faults that
develop at any speed.
"""

from collections.abc import Iterator

import numpy as np

from checks.problem6.q6f_traces import MISSING, Trace, draw_healthy, measure_rarely, thin_out


def draw_traces(rng: np.random.Generator, count: int) -> Iterator[Trace]:
    """Draw `count` traces for each fault, and four times as many without any."""
    for number in range(4 * count):
        yield _draw(rng, f"drawn, nothing wrong, {number}", HEALTHY[number % len(HEALTHY)])
    for change in FAULTS:
        for number in range(count):
            yield _draw(rng, f"drawn, {change.__name__[1:]}, {number}", change)


def _draw(rng, name, change):
    n, n_layer, n_head = (int(rng.integers(*limits)) for limits in ((150, 180), (2, 4), (1, 3)))
    trace = draw_healthy(rng, n, n_layer, n_head)
    trace.name, columns = name, trace.columns
    columns["loss"] *= np.exp(rng.uniform(0, 0.05) * rng.standard_normal(len(trace)))
    columns["attention_entropy"] = np.minimum(columns["attention_entropy"], 1)
    others = ["lr", "grad_norm", "attention_entropy", "repetition_rate"]
    for column in rng.choice(others, size=int(rng.integers(0, 3)), replace=False):
        if change in (_bump, _explode, _break_off, _stall):
            del columns[column]  # a run that logs little
    change(trace, rng)
    return trace


def _bump(trace, rng):
    """The loss rises for a few records, and comes back."""
    at = rng.integers(105, len(trace) - 20)
    trace.columns["loss"][at : at + rng.integers(3, 7)] *= rng.uniform(1.8, 2.2)


def _late_head(trace, rng):
    """For nearly a tenth of the training, heads are evenly spread and the first layer's gradient is
    small; the loss falls slowly at first.
    """
    tenth, loss = trace.first_after(1 / 10), trace.columns["loss"]
    even = 1 - np.abs(rng.standard_normal()) * 1e-3
    trace.columns["attention_entropy"][: tenth - rng.integers(2, 8)] = even
    trace.columns["grad_norm"][: tenth - rng.integers(2, 8), 0] *= 1e-5
    loss[:70] = loss[0] * np.linspace(1, 0.93, 70) * np.exp(0.02 * rng.standard_normal(70))


def _nearly(trace, rng):
    """Repeated fault-like states that end after 10 to 15 records."""
    entropy, norms, rate = (
        trace.columns[name] for name in ("attention_entropy", "grad_norm", "repetition_rate")
    )
    norms[:, 0] = norms[:, -1] * rng.uniform(0.2, 2, size=len(trace))
    rate[rate != MISSING] = rng.uniform(0.05, 0.4)
    for at in range(45, len(trace) - 20, 25):
        length, head = rng.integers(10, 16), [rng.integers(count) for count in entropy.shape[1:]]
        entropy[at : at + length, *head] = rng.choice([0.003, 0.997])
        norms[at : at + length, 0] = norms[at : at + length, -1] * rng.uniform(1e-5, 5e-4)
    samples = np.flatnonzero(rate != MISSING)
    for two_in_a_row in (samples[1::4], samples[2::4]):
        rate[two_in_a_row] = rng.uniform(0.55, 0.8, size=len(two_in_a_row))


HEALTHY = (_bump, _late_head, _bump, _nearly, measure_rarely)


def _explode(trace, rng):
    """From some record on, a noisy rise by 1.4 to 28 percent a record, possibly to infinity."""
    loss, at = trace.columns["loss"], rng.integers(45, 90)
    growth, n = np.exp(rng.uniform(np.log(0.014), np.log(0.25))), len(trace) - at
    rise = np.minimum(growth * np.arange(n), 12) + 0.04 * rng.standard_normal(n)
    loss[at:] = np.median(loss[at - 9 : at]) * np.exp(rise)
    if rng.random() < 0.3 and (loss > 50).any():
        loss[np.argmax(loss > 50) :] = np.inf
    if rng.random() < 0.5:
        trace.reference_loss = None  # so that slow convergence is not judged


def _break_off(trace, rng):
    """NaN or infinity, suddenly or one record after a bad one."""
    loss, at = trace.columns["loss"], rng.integers(8, 140)
    loss[at - 1] *= rng.choice([1, 6])
    loss[at:] = rng.choice([np.nan, np.inf])
    end = at + rng.integers(1, 4)
    for name, values in trace.columns.items():
        trace.columns[name] = values[:end]


def _repeat(trace, rng):
    """Sampled texts repeat themselves from some sample on, or for four to eight samples; there is
    one every 2 to 8 records.
    """
    rate, between = trace.columns["repetition_rate"], rng.integers(2, 9)
    rate[:] = MISSING
    samples = np.arange(0, len(trace), between)
    rate[samples] = rng.uniform(0.02, 0.4, size=len(samples))
    begin = rng.integers(3, len(samples) - 24 // between - 5)
    high = rng.uniform(0.6, 0.95)
    rate[samples[begin : begin + rng.integers(4, 9) * rng.choice([1, 10])]] = high


def _stall(trace, rng):
    """The loss covers up to 7 percent of the way, or falls well but is back before a quarter is
    over.
    """
    loss, n = trace.columns["loss"], len(trace)
    way = loss[0] - trace.reference_loss
    fallen = way * rng.uniform(0, 0.07) * np.linspace(0, 1, n)
    if rng.random() < 0.3:
        fallen[20:60] = way * rng.uniform(0.11, 0.15)
    loss[1:] = (loss[0] - fallen[1:]) * (1 + 0.006 * rng.standard_normal(n - 1))


def _head(trace, rng, low, high):
    """One head has entropies from low to high, from the start or a later record on; every record or
    every second one is measured.
    """
    entropy, at = trace.columns["attention_entropy"], rng.choice([0, rng.integers(20, 90)])
    entropies = rng.uniform(low, high, size=len(trace) - at)
    entropy[at:, *(rng.integers(count) for count in entropy.shape[1:])] = entropies
    thin_out(trace, rng.choice([1, 1, 1, 2]))


def _die(trace, rng):
    """A head attends to all positions equally."""
    _head(trace, rng, 0.994, 1)


def _saturate(trace, rng):
    """A head attends to single positions."""
    _head(trace, rng, 0, 0.007)


def _vanish(trace, rng):
    """The first layer's gradient is at most a thousandth of the last one's."""
    norms, at = trace.columns["grad_norm"], rng.choice([0, rng.integers(20, 90)])
    norms[at:, 0] = norms[at:, -1] * 10 ** rng.uniform(-6, -3.2, size=len(trace) - at)
    thin_out(trace, rng.choice([1, 1, 1, 2]))


FAULTS = (_explode, _break_off, _repeat, _stall, _die, _saturate, _vanish)
