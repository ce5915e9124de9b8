"""Where faults begin by the table of question 6f. (Unlike a monitor, it may look ahead.)"""

from dataclasses import dataclass

import numpy as np

from checks.problem6.q6f_traces import MISSING, Trace


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
