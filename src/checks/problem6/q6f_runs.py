"""Training traces for 6f: a healthy one is drawn, and brought near its limits."""

from dataclasses import dataclass, field, replace

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


@dataclass
class Trace:
    """The first n records of a training, as columns.

    Attributes:
        name: what was trained.
        total_steps, reference_loss: Monitor's arguments.
        columns: "step", "loss", "lr" and "repetition_rate" are (n,), "grad_norm" (n, layers),
            "attention_entropy" (n, layers, heads); all float64, except the steps, int64. All but
            the steps may be left out: then no record has them.
        faults: those that were inserted: name -> its onset, and a hint if it is not reported.
        near: name -> a hint if a fault is reported that the trace only comes near.
    """

    name: str
    total_steps: int
    reference_loss: float | None
    columns: dict[str, np.ndarray]
    faults: dict[str, tuple[int, str]] = field(default_factory=dict)
    near: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.columns["step"])

    def __str__(self) -> str:
        alone = f" with nothing but {', '.join(self.columns)}" if len(self.columns) < 4 else ""
        length = f"{len(self)} records of a training of {self.total_steps} steps"
        return f"{self.name}, {length}{alone}"

    def only(self, *names: str) -> "Trace":
        """The trace with only the steps and these columns."""
        columns = {name: self.columns[name] for name in ("step", *names)}
        return replace(self, columns=columns)

    def first_after(self, share: float) -> int:
        """The first record after this share of total_steps; n if there is none."""
        return int((self.columns["step"] <= share * self.total_steps).sum())

    def missed(self, raised: dict[str, int]) -> str:
        """Return a sentence on a fault that was not reported in time; "" if there is none.

        Args:
            raised: the record of each alarm, by name.
        """
        loss = self.columns.get("loss", np.zeros(1))
        for name, (onset, hint) in self.faults.items():
            begins = f"In {self}, the fault begins at record {onset} (counted from 0)"
            if name not in raised:
                return f"{begins}, and {name} was not reported. {hint}"
            ends = name == "exploding_loss" and not np.isfinite(loss).all()
            if not in_time(raised[name], onset, onset if ends else None):
                early = "more than 20 records too early" if raised[name] < onset else "too late"
                at = f"{name} was reported at record {raised[name]}"
                return f"{begins}. {at}, which is {early}. {hint}"
        return ""

    def false(self, raised: dict[str, int]) -> str:
        """Return a sentence on an alarm that is false, or long before its fault; "" if there is
        none.
        """
        for name, record in sorted(raised.items()):
            advice = "For how long must a rule hold, and starting when?"
            if name not in self.faults:
                there, advice = "there is no such fault", self.near.get(name, advice)
            elif record < self.faults[name][0] - TOLERANCE:
                there = f"that fault begins at record {self.faults[name][0]}"
            else:
                continue
            return f"In {self}, {name} was raised at record {record}, and {there}. {advice}"
        return ""


def draw_healthy(
    rng: np.random.Generator,
    n: int = 170,
    whole: int = 400,
    name: str = "healthy",
    n_layer: int | None = None,
    n_head: int | None = None,
) -> Trace:
    """Draw a noisy but healthy training: heads with initially uniform attention, warm-up,
    occasional bad batches, and faulty states that do not last.

    Args:
        n: records. whole: the number of records of the whole training.
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


# More states that are not faults.


def come_near(trace: Trace, rng: np.random.Generator) -> None:
    """Bring all values near a limit and keep them there: a loss of 1.4 times its lowest, two heads,
    the first layer's gradient, and samples. Two other heads alternate between saturated and dead;
    of three samples, two repeat themselves and the third hardly does.

    The trace has at least 3 layers and 2 heads. Its loss may have made little progress, so there is
    no reference.
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
    take_turns = "two others take turns at"
    trace.near = {
        "exploding_loss": "For 25 records, the loss is about 1.4 times its lowest.",
        "repetition": "There are samples of about 0.43 in a row; later, two of 0.6 to 0.9 "
        "alternate with one of 0.02.",
        "dead_attention": f"One head stays at 0.97; {take_turns} 0.995, for 10 records each.",
        "saturated_attention": f"One head stays at 0.03; {take_turns} 0.004, for 10 records each.",
        "vanishing_gradients": "The first layer's gradient is about 0.005 of the last layer's.",
    }


def barely_converge(trace: Trace, rng: np.random.Generator) -> None:
    """Make the loss soon cover 15 percent of the way, and stay there. The whole way is half of the
    first loss.
    """
    loss, index = trace.columns["loss"], np.arange(1, len(trace))
    way = loss[0] * rng.uniform(0.45, 0.55)
    trace.reference_loss = float(loss[0] - way)
    fallen = way * rng.uniform(0.14, 0.16) * np.minimum(1, index / 20)
    loss[1:] = (loss[0] - fallen) * (1 + 0.005 * rng.standard_normal(len(index)))
    hint = "A quarter into training, the loss has covered about 15% of the way."
    trace.near = {"slow_convergence": hint}


def be_lucky(trace: Trace, rng: np.random.Generator) -> None:
    """Add an easy batch in the second half of the trace. Its loss is the lowest, but not a
    median.
    """
    at = int(rng.integers(len(trace) // 2, len(trace) - 30))
    trace.columns["loss"][at] *= rng.uniform(0.35, 0.45)
    hint = "One loss is less than half of its neighbors. The lowest value is also a median."
    trace.near = {"exploding_loss": hint}


def measure_rarely(trace: Trace, rng: np.random.Generator) -> None:
    """Keep gradients and entropies only in every fourth or fifth record, with faulty states of 12
    measurements, too few for a fault.
    """
    between, at = int(rng.integers(4, 6)), int(rng.integers(76, 91))
    entropy, norms = trace.columns["attention_entropy"], trace.columns["grad_norm"]
    entropy[at : at + 12 * between, rng.integers(entropy.shape[1]), 0] = rng.choice([0.003, 0.997])
    norms[at : at + 12 * between, 0] = norms[at : at + 12 * between, -1] * 1e-4
    thin_out(trace, between)


def thin_out(trace: Trace, between: int) -> None:
    """Keep gradients and entropies only in every `between`-th record."""
    gone = np.arange(len(trace)) % between > 0
    for name in ("attention_entropy", "grad_norm"):
        trace.columns[name][gone] = MISSING
