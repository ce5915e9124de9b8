"""Question 6f, hidden: recorded traces, their file, and where by the question's table their faults
begin. (Unlike a monitor, that may look ahead.)
"""

import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autograder import WrongAnswer, check
from checks.problem6.q6f import find_alarms
from checks.problem6.q6f_runs import MISSING, NAMES, Trace
from common.alarms import TOLERANCE, in_time

FOUND, FALSE = 0.95, 0.02  # the recall needed, and the share of false alarms allowed
# The recall needed for the points on false alarms: a Monitor that reports nothing has none.
SPOKE = 0.5
FILE = "traces/traces.json.gz"
# Significant digits kept.
FIELDS = {"loss": 3, "lr": 2, "grad_norm": 2, "attention_entropy": 3, "repetition_rate": 2}


def pack(traces: list[Trace]) -> bytes:
    """Pack traces into a file's bytes; floats are rounded."""
    kept = [
        {
            "name": trace.name,
            "total_steps": trace.total_steps,
            "reference_loss": trace.reference_loss,
            "columns": {
                name: np.moveaxis(values, 0, -1).tolist()
                for name, values in rounded(trace).columns.items()
            },
        }
        for trace in traces
    ]
    return gzip.compress(json.dumps(kept, separators=(",", ":")).encode(), mtime=0)


def rounded(trace: Trace) -> Trace:
    """Round a trace as in the file."""
    columns = {
        name: round_to(values, FIELDS[name]) if name in FIELDS else values
        for name, values in trace.columns.items()
    }
    return Trace(trace.name, trace.total_steps, trace.reference_loss, columns)


def round_to(values: np.ndarray, digits: int) -> np.ndarray:
    """Round to significant digits."""
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"), otypes=[float])(values)


def read_traces(path: Path) -> list[Trace]:
    """Read the traces of a file made by `pack`."""
    traces = []
    for entry in json.loads(gzip.decompress(path.read_bytes())):
        columns = {
            name: np.ascontiguousarray(
                np.moveaxis(np.array(values, dtype=np.int64 if name == "step" else float), -1, 0)
            )
            for name, values in entry["columns"].items()
        }
        traces.append(Trace(entry["name"], entry["total_steps"], entry["reference_loss"], columns))
    return traces


@check("6f-2-hidden")
def test_recall(student, context):
    """Nearly all faults are reported in time, in the traces that have one."""
    faulty, _ = read_kept(context)
    tally(student, faulty).require_recall(FOUND)


@check("6f-3-hidden")
def test_false_alarms(student, context):
    """There are hardly any false alarms in traces without a fault and in some with one, and in
    these enough right ones.
    """
    faulty, healthy = read_kept(context)
    result = tally(student, healthy + faulty[::3])
    result.require_recall(SPOKE)
    result.require_silence(FALSE)


def read_kept(context) -> tuple[list, list]:
    """Read the recorded traces with a fault, and those without any: (trace, its onsets)."""
    traces = [(trace, find_onsets(trace)) for trace in read_traces(context.gold_path(FILE))]
    return [each for each in traces if each[1]], [each for each in traces if not each[1]]


def tally(student, traces: list[tuple[Trace, dict[str, int]]]) -> "Tally":
    """Count the alarms of a submission's Monitor."""
    result = Tally()
    found = find_alarms(student, [trace for trace, _ in traces])
    for (trace, onsets), raised in zip(traces, found):
        result.add(trace, onsets, raised)
    return result


@dataclass
class Tally:
    """Counts over traces, by name: faults, those reported in time, pairs of a trace and a name
    without that fault, and false alarms in these.
    """

    faults: Counter = field(default_factory=Counter)
    found: Counter = field(default_factory=Counter)
    pairs: Counter = field(default_factory=Counter)
    false: Counter = field(default_factory=Counter)

    @property
    def recall(self) -> float:
        """The share of faults reported in time."""
        return self.found.total() / self.faults.total()

    @property
    def false_alarms(self) -> float:
        """The share of pairs with a false alarm."""
        return self.false.total() / self.pairs.total()

    def add(self, trace: Trace, onsets: dict[str, int], raised: dict[str, int]) -> None:
        """Count the alarms in a trace. A fault so late that its alarm may still be pending doesn't
        count.

        Args:
            onsets, raised: the record of each fault, and of each alarm, by name.
        """
        ends = loss_ends(trace)
        for name in NAMES:
            if name not in onsets:
                self.pairs[name] += 1
                self.false[name] += name in raised
            elif (name == "exploding_loss" and ends is not None) or onsets[name] + TOLERANCE < len(
                trace
            ):
                self.faults[name] += 1
                self.found[name] += name in raised and in_time(
                    raised[name], onsets[name], ends if name == "exploding_loss" else None
                )

    def require_recall(self, least: float) -> None:
        """Raise WrongAnswer if fewer faults were reported in time."""
        if self.recall < least:
            missed = [
                f"{name} {self.found[name]} of {self.faults[name]}"
                for name in NAMES
                if self.found[name] < self.faults[name]
            ]
            raise WrongAnswer(
                f"Of the {self.faults.total()} faults in recorded traces, {self.recall:.1%} were "
                f"reported in time; {least:.0%} are needed. In time: {', '.join(missed)}."
            )

    def require_silence(self, most: float) -> None:
        """Raise WrongAnswer if there were more false alarms."""
        if self.false_alarms > most:
            where = [
                f"{name} {self.false[name]} of {self.pairs[name]}"
                for name in NAMES
                if self.false[name]
            ]
            raise WrongAnswer(
                f"Of the {self.pairs.total()} pairs of a recorded trace and a fault that it does "
                f"not have, {self.false_alarms:.1%} had an alarm; {most:.0%} are allowed. False "
                f"alarms: {', '.join(where)}."
            )


@dataclass(frozen=True)
class Rules:
    """The table's numbers. Other values reveal which traces are borderline cases.

    Attributes:
        rise, far: of an exploding loss: its median over the lowest one, where a rise begins, and
            where it is a fault.
        repeated, samples: of repetition: the rate exceeded, in so many samples in a row.
        way, stays: of slow convergence: the share of the way to the reference's loss that is not
            reached, in so many records in a row.
        even, sure: entropies above and below which a head is dead or saturated.
        ratio: of vanishing gradients: the first layer's norm over the last one's.
        row: records in a row, for entropies and gradients.
    """

    rise: float = 1.5
    far: float = 3.0
    repeated: float = 0.5
    samples: int = 3
    way: float = 0.1
    stays: int = 1
    even: float = 0.99
    sure: float = 0.01
    ratio: float = 0.001
    row: int = 20


def find_onsets(trace: Trace, rules: Rules = Rules()) -> dict[str, int]:
    """Return a trace's faults: name -> first record at which the table's condition holds."""
    columns = trace.columns
    found = {"exploding_loss": _exploding(columns, rules), "slow_convergence": _slow(trace, rules)}
    if (rate := columns.get("repetition_rate")) is not None:
        found["repetition"] = _first_row(
            rate > rules.repeated, np.flatnonzero(rate != MISSING), rules.samples
        )
    if (entropy := columns.get("attention_entropy")) is not None:
        there = np.flatnonzero((entropy != MISSING).all(axis=(1, 2)))
        heads = entropy.reshape(len(entropy), -1).T
        tenth = trace.first_after(1 / 10)
        found["dead_attention"] = _least(
            _first_row(head > rules.even, there, rules.row, tenth) for head in heads
        )
        found["saturated_attention"] = _least(
            _first_row(head < rules.sure, there, rules.row) for head in heads
        )
    if (norms := columns.get("grad_norm")) is not None:
        small, there = (
            norms[:, 0] < rules.ratio * norms[:, -1],
            np.flatnonzero((norms != MISSING).all(axis=1)),
        )
        found["vanishing_gradients"] = _first_row(
            small, there, rules.row, trace.first_after(1 / 10)
        )
    return {name: onset for name, onset in found.items() if onset is not None}


def loss_ends(trace: Trace) -> int | None:
    """Return the first record whose loss is not finite."""
    loss = trace.columns.get("loss", np.zeros(1))
    return None if np.isfinite(loss).all() else int(np.argmin(np.isfinite(loss)))


def _medians(loss):
    """Return (the indices of the records with a finite loss, from the fifth on; the median of the
    last five at each).
    """
    numbers = np.flatnonzero((loss != MISSING) & np.isfinite(loss))
    if len(numbers) < 5:
        return numbers[:0], np.zeros(0)
    return numbers[4:], np.median(
        np.lib.stride_tricks.sliding_window_view(loss[numbers], 5), axis=1
    )


def _exploding(columns, rules):
    """Find an exploding loss. A rise begins at the first median above `rise` times the lowest, and
    ends when one is below that. It is a fault if it gets `far`, or the loss stops being finite
    before it ends.
    """
    loss = columns.get("loss")
    if loss is None:
        return None
    bad = np.flatnonzero(~np.isfinite(loss))
    end = int(bad[0]) if len(bad) else None
    begun, lowest = None, np.inf
    for i, median in zip(*_medians(loss[:end])):
        lowest = min(lowest, median)
        if median <= rules.rise * lowest:
            begun = None
            continue
        begun = int(i) if begun is None else begun
        if median >= rules.far * lowest:
            return begun
    return end if begun is None or end is None else begun


def _slow(trace, rules):
    loss = trace.columns.get("loss")
    if loss is None or trace.reference_loss is None:
        return None
    numbers, medians = _medians(loss)
    if not len(numbers):
        return None
    first = loss[(loss != MISSING) & np.isfinite(loss)][0]
    slow = (first - medians < rules.way * (first - trace.reference_loss)) & (
        trace.columns["step"][numbers] > trace.total_steps / 4
    )
    return _first_row(dict(zip(numbers, slow)), numbers, rules.stays)


def _first_row(holds, records, length, begin=0):
    """Return the first record, not before `begin`, at which a condition has held in `length`
    consecutive records that have the value.
    """
    row = 0
    for i in records:
        row = row + 1 if holds[i] else 0
        if row >= length and i >= begin:
            return int(i)
    return None


def _least(numbers):
    return min((number for number in numbers if number is not None), default=None)
