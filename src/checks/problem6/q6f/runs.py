"""The traces for the basic checks of question 6f, and which alarms are expected when."""

from dataclasses import dataclass, field

import numpy as np

from checks.problem6.q6f import traces
from checks.problem6.q6f.monitor import Raised
from checks.problem6.q6f.traces import MISSING, Trace
from common.alarms import TOLERANCE, in_time

# The fault, the function that puts it into a trace, and a hint if it is not reported.
FAULTS = (
    (
        "exploding_loss",
        traces.explode,
        "The median of the last 5 losses is above 1.5 times its lowest from there on, and rises.",
    ),
    (
        "exploding_loss",
        traces.climb,
        "The loss rises steadily from there on; its lowest value is before the rise.",
    ),
    (
        "exploding_loss",
        traces.break_off,
        "The loss is NaN there: that is enough. Every comparison with NaN is False.",
    ),
    ("exploding_loss", traces.overflow, "The loss is infinite there: that is enough."),
    (
        "repetition",
        traces.repeat,
        "Records between two samples have no repetition_rate: they don't end a run.",
    ),
    (
        "slow_convergence",
        traces.stall,
        "The loss stays where it started, except for one bad batch: progress is measured from the "
        "first loss.",
    ),
    ("dead_attention", traces.die, "It is one head of the first layer; all others are healthy."),
    (
        "saturated_attention",
        traces.saturate,
        "It is one head of one layer; all others are healthy.",
    ),
    (
        "vanishing_gradients",
        traces.vanish,
        "The layer nearest to the input is the first of grad_norm.",
    ),
)
MEASURED_RARELY = (
    ("dead_attention", traces.die),
    ("saturated_attention", traces.saturate),
    ("vanishing_gradients", traces.vanish),
)
NEEDS = {
    "exploding_loss": "loss",
    "slow_convergence": "loss",
    "repetition": "repetition_rate",
    "dead_attention": "attention_entropy",
    "saturated_attention": "attention_entropy",
    "vanishing_gradients": "grad_norm",
}
# What a healthy trace near the limits has in place of each fault.
NEAR = {
    "exploding_loss": "For 25 records, the loss is about 1.4 times its lowest.",
    "repetition": "There are samples of about 0.43 in a row; later, two of 0.6 to 0.9 alternate "
    "with one of 0.02.",
    "dead_attention": "One head stays at 0.97; two others take turns at 0.995, for 10 records "
    "each.",
    "saturated_attention": "One head stays at 0.03; two others take turns at 0.004, for 10 records "
    "each.",
    "vanishing_gradients": "The first layer's gradient is about 0.005 of the last layer's.",
    "slow_convergence": "A quarter into training, the loss has covered about 15% of the way.",
}


@dataclass
class Run:
    """A trace, and the alarms expected in it.

    Attributes:
        onsets: the first record of each of its faults, by name.
        hints: by name, for a fault not reported, or an alarm without a fault.
    """

    trace: Trace
    onsets: dict[str, int] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)

    def __str__(self):
        trace, columns = self.trace, self.trace.columns
        alone = f" with nothing but {', '.join(columns)}" if len(columns) < 4 else ""
        length = f"{len(trace)} records of a training of {trace.total_steps} steps"
        return f"{trace.name}, {length}{alone}"

    def missed(self, raised: dict[str, int]) -> str:
        """Return a sentence on a fault that was not reported in time; "" if there is none.

        Args:
            raised: the record of each alarm, by name.
        """
        loss = self.trace.columns.get("loss", np.zeros(1))
        for name, onset in self.onsets.items():
            begins = f"In {self}, the fault begins at record {onset} (counted from 0)"
            if name not in raised:
                return f"{begins}, and {name} was not reported. {self.hints[name]}"
            ends = name == "exploding_loss" and not np.isfinite(loss).all()
            if not in_time(raised[name], onset, onset if ends else None):
                early = "more than 20 records too early" if raised[name] < onset else "too late"
                return (
                    f"{begins}. {name} was reported at record {raised[name]}, which is {early}. "
                    f"{self.hints[name]}"
                )
        return ""

    def false(self, raised: dict[str, int]) -> str:
        """Return a sentence on an alarm that is false, or long before its fault; "" if there is
        none.
        """
        for name, record in sorted(raised.items()):
            advice = "For how long must a rule hold, and starting when?"
            if name not in self.onsets:
                there, advice = "there is no such fault", self.hints.get(name, advice)
            elif record < self.onsets[name] - TOLERANCE:
                there = f"that fault begins at record {self.onsets[name]}"
            else:
                continue
            return f"In {self}, {name} was raised at record {record}, and {there}. {advice}"
        return ""


def by_name(alarms: list[Raised]) -> dict[str, int]:
    """Return the record that raised each alarm, by name."""
    return {alarm.name: alarm.record for alarm in alarms}


def draw_fresh(rng, name: str = "healthy", **sizes) -> Trace:
    """Draw a healthy trace. No record is exactly at a quarter or a tenth of total_steps, and one
    head would be dead if it were not so early.
    """
    trace = traces.draw_healthy(rng, name=name, **sizes)
    early = trace.columns["attention_entropy"][:25]
    _, layer, head = np.unravel_index(early.argmax(), early.shape)
    early[:, layer, head] = np.maximum(early[:, layer, head], 0.995)
    # The original is a multiple of 2000, and steps are multiples of 5.
    trace.total_steps += int(rng.integers(10, 20))
    return trace


def draw_faults(rng) -> list[Run]:
    """Draw each fault in a whole trace and in one with nothing else; then faults in traces that
    have some values only in some records.
    """
    runs = []
    for name, put, hint in FAULTS:
        trace = draw_fresh(rng, name=f"a trace with {name}")
        onset = put(trace, rng, at=int(rng.integers(112, 121)))
        whole_and_alone = trace, trace.only(NEEDS[name])
        runs += [Run(each, {name: onset}, {name: hint}) for each in whole_and_alone]

    rarely = "gradients and entropies in every second record"
    hint = "It is measured in every second record: a record without the value doesn't end a run."
    for name, put in MEASURED_RARELY:
        trace = draw_fresh(rng, name=f"a trace with {name}, and {rarely}", n=200)
        onset = put(trace, rng, at=2 * int(rng.integers(55, 61)))
        traces.thin_out(trace, 2)
        runs.append(Run(trace, {name: onset + 19}, {name: hint}))  # 20 of every second record

    trace = draw_fresh(rng, name="a trace with exploding_loss, and no loss in every sixth record")
    at = int(rng.integers(112, 121))
    onset = traces.explode(trace, rng, at=at)
    traces.leave_out_losses(trace, at)
    hint = "A record without a loss neither ends a run nor counts in one."
    runs.append(Run(trace, {"exploding_loss": onset}, {"exploding_loss": hint}))

    trace = draw_fresh(rng, name=f"a trace with dead_attention from the beginning, and {rarely}")
    onset = traces.die(trace, rng, at=0)
    traces.thin_out(trace, 2)
    hint = (
        "One head of the last layer is dead throughout. Records before a tenth of total_steps "
        "count, too; only the alarm waits."
    )
    return [*runs, Run(trace, {"dead_attention": onset}, {"dead_attention": hint})]


def draw_no_faults(rng) -> list[Run]:
    """Draw healthy traces: plain, with values only in some records, without a reference, near the
    limits.
    """
    plain, rarely, unknown, bare = (draw_fresh(rng) for _ in range(4))
    rarely.name = "a healthy trace with gradients and entropies in some records only"
    traces.measure_rarely(rarely, rng)
    unknown.name = "a trace with a loss that stays where it started, but no reference_loss"
    traces.stall(unknown, rng)
    unknown.reference_loss = None
    n_head = int(rng.integers(2, 4))
    near = draw_fresh(rng, name="a healthy trace near the limits", n_layer=3, n_head=n_head)
    traces.come_near(near, rng)
    slow = draw_fresh(rng, name="a trace that converges rather slowly")
    traces.barely_converge(slow, rng)
    lucky = draw_fresh(rng, name="a healthy trace with one easy batch")
    traces.be_lucky(lucky, rng)
    hint = "One loss is less than half of its neighbors. The lowest value is also a median."
    healthy = [Run(trace) for trace in (plain, rarely, unknown, bare.only())]
    healthy.append(Run(lucky, hints={"exploding_loss": hint}))
    return healthy + [Run(trace, hints=NEAR) for trace in (near, slow)]


def draw_rare(rng) -> list[Run]:
    """Draw traces with values that are falsy in Python, or NaN."""
    zero = draw_fresh(rng, name="a trace with a reference_loss of 0.0, and a loss that stays")
    zero.reference_loss, onset = 0.0, traces.stall(zero, rng)
    hints = {"slow_convergence": "0.0 is a valid reference; only None means there is none."}
    runs = [Run(zero, {"slow_convergence": onset}, hints)]

    first = draw_fresh(rng, name="a trace whose first loss is NaN, with losses that stay")
    onset, loss = traces.stall(first, rng), first.columns["loss"]
    loss[:2] = np.nan, 0.98 * loss[0]  # the first finite one is like those that follow
    hints = {
        "exploding_loss": "A loss that is not finite is reported in its own record, also the "
        "first.",
        "slow_convergence": "Progress is measured from the first finite loss: NaN minus anything "
        "is NaN.",
    }
    runs.append(Run(first, {"exploding_loss": 0, "slow_convergence": onset}, hints))

    name = "a healthy trace in which two samples of 0.6 to 0.9 and one of 0.0 take turns"
    turns = draw_fresh(rng, name=name)
    rates = turns.columns["repetition_rate"]
    samples = np.flatnonzero(rates != MISSING)
    rates[samples] = rng.uniform(0.6, 0.9, size=len(samples))
    rates[samples[::3]] = 0.0
    hints = {"repetition": "A rate of 0.0 is a sample, and ends the run; None is not a sample."}
    return [*runs, Run(turns, hints=hints)]
