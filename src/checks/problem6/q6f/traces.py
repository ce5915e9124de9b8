"""Traces of trainings for 6f: a healthy one is drawn, and a fault put into it whose onset is known,
since it was put there.
"""

from dataclasses import dataclass

import numpy as np

NAMES = (
    "exploding_loss",
    "repetition",
    "slow_convergence",
    "dead_attention",
    "saturated_attention",
    "vanishing_gradients",
)
# in a column: the record has no such value. All values that there are are at least 0.
MISSING = -1.0


@dataclass
class Trace:
    """The first n records of a training, as columns.

    Attributes:
        name: says what was trained.
        total_steps, reference_loss: what Monitor is told.
        columns: "step", "loss", "lr" and "repetition_rate" are (n,), "grad_norm" (n, layers),
            "attention_entropy" (n, layers, heads); all float64, but for the steps, int64. All but
            the steps may be left out: then no record has them.
    """

    name: str
    total_steps: int
    reference_loss: float | None
    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.columns["step"])

    def only(self, *names: str) -> "Trace":
        """The same trace with the steps and these columns alone."""
        return Trace(
            self.name,
            self.total_steps,
            self.reference_loss,
            {name: self.columns[name] for name in ("step", *names)},
        )

    def first_after(self, share: float) -> int:
        """The first record at which this share of total_steps is over; n if there is none."""
        return int((self.columns["step"] <= share * self.total_steps).sum())


def draw_healthy(
    rng: np.random.Generator,
    n: int = 170,
    whole: int = 400,
    name: str = "healthy",
    n_layer: int | None = None,
    n_head: int | None = None,
) -> Trace:
    """A noisy training in which nothing is wrong: heads that begin evenly spread, warm-up, a bad
    batch now and then, and states of a fault that do not last.

    Args:
        n: records. whole: how many the whole training would have.
    """
    n_layer, n_head, every = (
        n_layer or int(rng.integers(2, 5)),
        n_head or int(rng.integers(2, 4)),
        int(rng.choice([5, 10, 20])),
    )
    index = np.arange(n)
    first, reference = rng.uniform(3, 5), rng.uniform(1, 1.8)
    loss = reference + (first - reference) * np.exp(-index / whole * rng.uniform(8, 14))
    # one at a time,
    bad = rng.choice(np.arange(10, n - 10, 11), size=4, replace=False) + rng.integers(4, size=4)
    spikes = np.ones(n)
    spikes[bad] = rng.uniform(1.8, 4, size=4)
    bump = int(rng.integers(60, 85))
    spikes[bump : bump + 3] = rng.uniform(1.8, 2.2)  # and three in a row
    loss = loss * np.exp(0.03 * rng.standard_normal(n)) * spikes

    layers = np.exp(0.5 * rng.standard_normal(n_layer)) * 10 ** rng.uniform(-5, 2)
    norms = layers * np.exp(0.3 * rng.standard_normal((n, n_layer))) * spikes[:, None] ** 2
    norms[: int(rng.uniform(0.065, 0.085) * whole), 0] *= 1e-5  # as if warm-up let it grow

    settled = rng.uniform(0.3, 0.9, size=(n_layer, n_head))
    wakes = whole * rng.uniform(0.03, 0.085, size=(n_layer, n_head))
    even = 1 / (1 + np.exp((index[:, None, None] - wakes) / 1.5))  # 1: still evenly spread
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
    warm_up = np.minimum(1, (index + 1) / (0.05 * whole))
    return Trace(
        name,
        whole * every,
        reference,
        {
            "step": (index + 1) * every,
            "loss": loss,
            "lr": rng.choice([3e-4, 1e-3]) * warm_up,
            "grad_norm": norms,
            "attention_entropy": entropy,
            "repetition_rate": rate,
        },
    )


# More that is no fault.


def come_near(trace: Trace, rng: np.random.Generator) -> None:
    """All comes near a limit and stays there: a loss of 1.4 times its lowest, two heads, the first
    layer's gradient, and samples. Two other heads take turns in being saturated and dead, and two
    samples of three repeat themselves, the third hardly at all.

    The trace has at least 3 layers and 2 heads. By its loss, it may have covered little of its way,
    so there is no reference.
    """
    columns, n, trace.reference_loss = trace.columns, len(trace), None
    loss, at = columns["loss"], int(rng.integers(100, 111))
    lowest = np.median(np.lib.stride_tricks.sliding_window_view(loss[:at], 5), axis=1).min()
    loss[at : at + 25] = lowest * rng.uniform(1.36, 1.4) * (1 + 0.005 * rng.standard_normal(25))

    norms = columns["grad_norm"][45:]  # after warm-up
    norms[:, 0] = norms[:, -1] * rng.uniform(0.004, 0.006, size=len(norms))
    norms[:, 1] = norms[:, -1] * rng.uniform(8, 12, size=len(norms))  # the last is not the largest

    entropy = columns["attention_entropy"]
    near, turning = rng.permutation(entropy.shape[1])[:2]
    one, other = rng.permutation(entropy.shape[2])[:2]
    entropy[45:, near, one] = rng.uniform(0.025, 0.035, size=n - 45)
    entropy[45:, near, other] = rng.uniform(0.965, 0.975, size=n - 45)
    turn = np.arange(n - 60) // 10 % 2
    entropy[60:, turning, one] = np.where(turn, 0.995, 0.004)
    entropy[60:, turning, other] = np.where(turn, 0.004, 0.995)

    rate = columns["repetition_rate"]
    samples = np.flatnonzero(rate != MISSING)
    rate[samples[:12]] = rng.uniform(0.42, 0.445, size=12)
    rate[samples[12:]] = rng.uniform(0.6, 0.9, size=len(samples) - 12)
    rate[samples[14::3]] = 0.02


def barely_converge(trace: Trace, rng: np.random.Generator) -> None:
    """The loss soon covers 15 percent of its way, and stays there. The way is half of the first
    loss.
    """
    loss, index = trace.columns["loss"], np.arange(1, len(trace))
    way = loss[0] * rng.uniform(0.45, 0.55)
    trace.reference_loss = float(loss[0] - way)
    fallen = way * rng.uniform(0.14, 0.16) * np.minimum(1, index / 20)
    loss[1:] = (loss[0] - fallen) * (1 + 0.005 * rng.standard_normal(len(index)))


def be_lucky(trace: Trace, rng: np.random.Generator) -> None:
    """One batch is easy, in the second half of the trace. It is the lowest loss, and no median."""
    at = int(rng.integers(len(trace) // 2, len(trace) - 30))
    trace.columns["loss"][at] *= rng.uniform(0.35, 0.45)


# Each changes a trace from record `at` on, and returns the onset of the fault by the rules of the
# question.


def explode(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """The loss is at once nearly twice as high, and rises slowly from there, so that it is three
    times as high after more than 20 records. It has then covered little of its way, too, so there
    is no reference any more.
    """
    loss, n, trace.reference_loss = trace.columns["loss"], len(trace) - at, None
    level = np.median(loss[at - 5 : at])
    rise = rng.uniform(1.75, 1.85) * rng.uniform(1.016, 1.02) ** np.arange(n)
    loss[at:] = level * rise * np.exp(0.02 * rng.standard_normal(n))
    return at + 2  # the third of five: the median


def climb(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """The loss rises steadily, by a tenth or so a record, to a hundred times what it was."""
    loss, growth, trace.reference_loss = trace.columns["loss"], rng.uniform(1.08, 1.12), None
    n, level = len(trace) - at, np.median(loss[at - 5 : at])
    rise = np.minimum(growth ** np.arange(n), 100)
    loss[at:] = level * rise * np.exp(0.01 * rng.standard_normal(n))
    # or a record or two before: tolerances are wider
    return at + 2 + int(np.ceil(np.log(1.5) / np.log(growth)))


def break_off(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """The loss is NaN from one record to the next, as it stays."""
    trace.columns["loss"][at:] = np.nan
    return at


def overflow(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """The loss is infinite once."""
    trace.columns["loss"][at] = np.inf
    return at


def repeat(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """The sampled texts repeat themselves."""
    rate = trace.columns["repetition_rate"]
    samples = np.flatnonzero((rate != MISSING) & (np.arange(len(trace)) >= at))
    rate[samples[0] - 5] = 0.1
    rate[samples] = rng.uniform(0.55, 0.95, size=len(samples))
    return int(samples[2])


def stall(trace: Trace, rng: np.random.Generator, at: int = 0) -> int:
    """The loss stays where it began, whatever `at` is, but for an early bad batch."""
    loss = trace.columns["loss"]
    loss[1:] = loss[0] * (0.98 + 0.01 * rng.standard_normal(len(trace) - 1))
    loss[rng.integers(6, 20)] *= rng.uniform(2, 4)
    return trace.first_after(1 / 4)


def die(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """One head of the first layer attends to everything alike; from 0 on, it is one of the last
    layer, and never did anything else.
    """
    entropy = trace.columns["attention_entropy"]
    layer = 0 if at else -1
    entropy[at:, layer, rng.integers(entropy.shape[2])] = rng.uniform(
        0.993, 1, size=len(trace) - at
    )
    return max(at + 19, trace.first_after(1 / 10))


def saturate(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """One head attends to single positions."""
    entropy = trace.columns["attention_entropy"]
    entropy[at - 1] = np.maximum(entropy[at - 1], 0.02)
    entropy[at:, rng.integers(entropy.shape[1]), rng.integers(entropy.shape[2])] = rng.uniform(
        0, 0.008, size=len(trace) - at
    )
    return at + 19


def vanish(trace: Trace, rng: np.random.Generator, at: int) -> int:
    """The first layer's gradient nearly vanishes, against the last layer's."""
    norms = trace.columns["grad_norm"]
    norms[at - 1, 0] = norms[at - 1, -1]
    norms[at:, 0] = norms[at:, -1] * rng.uniform(1e-5, 7e-4, size=len(trace) - at)
    return max(at + 19, trace.first_after(1 / 10))


def measure_rarely(trace: Trace, rng: np.random.Generator) -> None:
    """Gradients and entropies are measured in every fourth or fifth record, and a state of a fault
    lasts for 12 measurements: no fault.
    """
    between, at = int(rng.integers(4, 6)), int(rng.integers(76, 91))
    entropy, norms = trace.columns["attention_entropy"], trace.columns["grad_norm"]
    entropy[at : at + 12 * between, rng.integers(entropy.shape[1]), 0] = rng.choice([0.003, 0.997])
    norms[at : at + 12 * between, 0] = norms[at : at + 12 * between, -1] * 1e-4
    thin_out(trace, between)


def leave_out_losses(trace: Trace, at: int) -> None:
    """Every sixth loss is missing, the one before `at` among them."""
    trace.columns["loss"][(at - 1) % 6 :: 6] = MISSING


def thin_out(trace: Trace, between: int) -> None:
    """Gradients and entropies are missing but in every `between`-th record."""
    gone = np.arange(len(trace)) % between > 0
    for name in ("attention_entropy", "grad_norm"):
        trace.columns[name][gone] = MISSING
