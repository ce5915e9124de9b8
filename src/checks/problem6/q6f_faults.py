"""The traces that the basic checks of 6f draw: faults at known onsets, and healthy ones."""

import numpy as np

from checks.problem6.q6f_runs import (
    MISSING,
    Trace,
    barely_converge,
    be_lucky,
    come_near,
    draw_healthy,
    measure_rarely,
    thin_out,
)

# Each changes a trace from record `at` on, and enters the fault, with its onset by the question's
# rules and a hint.


def explode(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Nearly double the loss at once, and let it rise slowly, so that it triples after more than 20
    records. It has then made little progress, too, so the reference is removed.
    """
    loss, n, trace.reference_loss = trace.columns["loss"], len(trace) - at, None
    level = np.median(loss[at - 5 : at])
    rise = rng.uniform(1.75, 1.85) * rng.uniform(1.016, 1.02) ** np.arange(n)
    loss[at:] = level * rise * np.exp(0.02 * rng.standard_normal(n))
    hint = "The median of the last 5 losses is above 1.5 times its lowest from there on, and rises."
    trace.faults["exploding_loss"] = at + 2, hint  # the third of five: the median


def climb(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Let the loss rise steadily, by about a tenth per record, a hundredfold."""
    loss, growth, trace.reference_loss = trace.columns["loss"], rng.uniform(1.08, 1.12), None
    n, level = len(trace) - at, np.median(loss[at - 5 : at])
    rise = np.minimum(growth ** np.arange(n), 100)
    loss[at:] = level * rise * np.exp(0.01 * rng.standard_normal(n))
    hint = "The loss rises steadily from there on; its lowest value is before the rise."
    # or a record or two earlier: tolerances are wider
    onset = at + 2 + int(np.ceil(np.log(1.5) / np.log(growth)))
    trace.faults["exploding_loss"] = onset, hint


def break_off(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Make the loss NaN from here on."""
    trace.columns["loss"][at:] = np.nan
    hint = "The loss is NaN there: that is enough. Every comparison with NaN is False."
    trace.faults["exploding_loss"] = at, hint


def overflow(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Make the loss infinite once."""
    trace.columns["loss"][at] = np.inf
    trace.faults["exploding_loss"] = at, "The loss is infinite there: that is enough."


def repeat(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Make the sampled texts repeat themselves."""
    rate = trace.columns["repetition_rate"]
    samples = np.flatnonzero((rate != MISSING) & (np.arange(len(trace)) >= at))
    rate[samples[0] - 5] = 0.1
    rate[samples] = rng.uniform(0.55, 0.95, size=len(samples))
    hint = "Records between two samples have no repetition_rate: they don't end a run."
    trace.faults["repetition"] = int(samples[2]), hint


def stall(trace: Trace, rng: np.random.Generator, at: int = 0) -> None:
    """Keep the loss where it started, whatever `at` is, except for an early bad batch."""
    loss = trace.columns["loss"]
    loss[1:] = loss[0] * (0.98 + 0.01 * rng.standard_normal(len(trace) - 1))
    loss[rng.integers(6, 20)] *= rng.uniform(2, 4)
    hint = (
        "The loss stays where it started, except for one bad batch: progress is measured from the "
        "first loss."
    )
    trace.faults["slow_convergence"] = trace.first_after(1 / 4), hint


def relapse(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Let the loss cover a sixth of the way, which is enough at a quarter of the training, and be
    back where it started from `at` on.
    """
    loss, n = trace.columns["loss"], len(trace)
    fallen = np.minimum(np.arange(1, n) / 20, 1) * (loss[0] - trace.reference_loss) / 6
    fallen[at - 1 :] = 0
    loss[1:] = (loss[0] - fallen) * (0.99 + 0.005 * rng.standard_normal(n - 1))
    hint = (
        "The loss has fallen at first, and is back where it started from there on: progress is "
        "judged at every record after a quarter of total_steps, not at one alone."
    )
    trace.faults["slow_convergence"] = at + 2, hint


def die(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Make one head of the first layer attend uniformly."""
    entropy = trace.columns["attention_entropy"]
    dead = rng.uniform(0.993, 1, size=len(trace) - at)
    entropy[at:, 0, rng.integers(entropy.shape[2])] = dead
    hint = "It is one head of the first layer; all others are healthy."
    trace.faults["dead_attention"] = at + 19, hint


def saturate(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Make one head attend to single positions."""
    entropy = trace.columns["attention_entropy"]
    entropy[at - 2 : at] = np.maximum(entropy[at - 2 : at], 0.02)  # two: one may be left out
    head = rng.integers(entropy.shape[1]), rng.integers(entropy.shape[2])
    entropy[at:, *head] = rng.uniform(0, 0.008, size=len(trace) - at)
    hint = "It is one head of one layer; all others are healthy."
    trace.faults["saturated_attention"] = at + 19, hint


def vanish(trace: Trace, rng: np.random.Generator, at: int) -> None:
    """Make the first layer's gradient nearly vanish, relative to the last layer's."""
    norms = trace.columns["grad_norm"]
    norms[at - 1, 0] = norms[at - 1, -1]
    norms[at:, 0] = norms[at:, -1] * rng.uniform(1e-5, 7e-4, size=len(trace) - at)
    hint = "The layer nearest to the input is the first of grad_norm."
    trace.faults["vanishing_gradients"] = at + 19, hint


def fail_early(trace: Trace, rng: np.random.Generator) -> None:
    """Make one head of the last layer dead, and the first layer's gradient small, from the
    beginning.
    """
    entropy, norms = trace.columns["attention_entropy"], trace.columns["grad_norm"]
    entropy[:, -1, rng.integers(entropy.shape[2])] = rng.uniform(0.993, 1, size=len(trace))
    norms[:, 0] = norms[:, -1] * rng.uniform(1e-5, 7e-4, size=len(trace))
    hint = (
        "It is so from the beginning. Records before a tenth of total_steps count, too; only the "
        "alarm waits."
    )
    tenth = trace.first_after(1 / 10)
    trace.faults |= dict.fromkeys(("dead_attention", "vanishing_gradients"), (tenth, hint))


FAULTS = explode, climb, break_off, overflow, repeat, stall, relapse, die, saturate, vanish


def draw_fresh(rng, name: str = "healthy", **sizes) -> Trace:
    """Draw a healthy trace. No record is exactly at a quarter or a tenth of total_steps, and one
    head would be dead if it were not so early.
    """
    trace = draw_healthy(rng, name=name, **sizes)
    early = trace.columns["attention_entropy"][:25]
    _, layer, head = np.unravel_index(early.argmax(), early.shape)
    early[:, layer, head] = np.maximum(early[:, layer, head], 0.995)
    # The original is a multiple of 2000, and steps are multiples of 5.
    trace.total_steps += int(rng.integers(10, 20))
    return trace


def draw_faulty(rng, put) -> Trace:
    """Draw a trace with a fault that `put` inserts."""
    trace = draw_fresh(rng)
    put(trace, rng, int(rng.integers(112, 121)))
    trace.name = f"a trace with {', '.join(trace.faults)}"
    return trace


def draw_gaps(rng) -> list[Trace]:
    """Draw faults that are measured in some records only."""
    explode, *_, die, saturate, vanish = FAULTS
    hint = "It is measured in every second record: a record without the value doesn't end a run."
    traces = []
    for put in (die, saturate, vanish):
        trace = draw_fresh(rng, n=200)
        at = 2 * int(rng.integers(55, 61))
        put(trace, rng, at)
        trace.faults = dict.fromkeys(trace.faults, (at + 38, hint))  # the 20th that is measured
        traces.append(trace)
    early = draw_fresh(rng)
    fail_early(early, rng)
    for trace in [*traces, early]:
        thin_out(trace, 2)
        faults = " and ".join(trace.faults)
        trace.name = f"a trace with {faults}, and gradients and entropies in every second record"

    unsteady = draw_fresh(rng, "a trace with exploding_loss, and no loss in every sixth record")
    at = int(rng.integers(112, 121))
    explode(unsteady, rng, at)
    unsteady.columns["loss"][(at - 1) % 6 :: 6] = MISSING  # also just before the rise
    hint = "A record without a loss neither ends a run nor counts in one."
    unsteady.faults["exploding_loss"] = at + 2, hint
    return [*traces, early, unsteady]


def draw_near(rng) -> list[Trace]:
    """Draw healthy traces: plain, with values only in some records, without a reference, near the
    limits.
    """
    plain, rarely, unknown, bare = (draw_fresh(rng) for _ in range(4))
    rarely.name = "a healthy trace with gradients and entropies in some records only"
    measure_rarely(rarely, rng)
    unknown.name = "a trace with a loss that stays where it started, but no reference_loss"
    stall(unknown, rng)
    unknown.faults, unknown.reference_loss = {}, None
    n_head = int(rng.integers(2, 4))
    near = draw_fresh(rng, "a healthy trace near the limits", n_layer=3, n_head=n_head)
    come_near(near, rng)
    slow = draw_fresh(rng, "a trace that converges rather slowly")
    barely_converge(slow, rng)
    lucky = draw_fresh(rng, "a healthy trace with one easy batch")
    be_lucky(lucky, rng)
    return [plain, rarely, unknown, bare.only(), lucky, near, slow]


def draw_rare(rng) -> list[Trace]:
    """Draw traces with values that are falsy in Python, or NaN."""
    zero = draw_fresh(rng, "a trace with a reference_loss of 0.0, and a loss that stays")
    zero.reference_loss = 0.0
    stall(zero, rng)
    onset, _ = zero.faults["slow_convergence"]
    hint = "0.0 is a valid reference; only None means there is none."
    zero.faults["slow_convergence"] = onset, hint

    first = draw_fresh(rng, "a trace whose first loss is NaN, with losses that stay")
    stall(first, rng)
    loss = first.columns["loss"]
    loss[:2] = np.nan, 0.98 * loss[0]  # the first finite one is like those that follow
    onset, _ = first.faults["slow_convergence"]
    hint = "A loss that is not finite is reported in its own record, also the first."
    first.faults["exploding_loss"] = 0, hint
    hint = "Progress is measured from the first finite loss: NaN minus anything is NaN."
    first.faults["slow_convergence"] = onset, hint

    name = "a healthy trace in which two samples of 0.6 to 0.9 and one of 0.0 take turns"
    turns = draw_fresh(rng, name)
    rates = turns.columns["repetition_rate"]
    samples = np.flatnonzero(rates != MISSING)
    rates[samples] = rng.uniform(0.6, 0.9, size=len(samples))
    rates[samples[::3]] = 0.0
    turns.near = {
        "repetition": "A rate of 0.0 is a sample, and ends the run; None is not a sample."
    }
    return [zero, first, turns]
