"""Where faults begin by the table of question 6f, and which traces are borderline cases. (Unlike a
monitor, this may look ahead.)
"""

from types import SimpleNamespace

import numpy as np

from checks.problem6.q6f_traces import MISSING, NEEDS, Trace

# Each number of the table, and two others, looser and stricter. Where these disagree with the table
# about a trace, a correct monitor may disagree too: such a trace is dropped.
NUMBERS = {
    # of an exploding loss: its median over the lowest one, where a rise begins, and is a fault
    "rise": (1.5, 1.4, 1.6),
    "far": (3.0, 2.6, 3.4),
    "repeated": (0.5, 0.45, 0.55),  # the repetition rate is more
    # of slow convergence: the share of the way to the reference's loss that is not reached, in how
    # many records in a row
    "way": (0.1, 0.13, 0.07),
    "stays": (1, 1, 8),
    "even": (0.99, 0.987, 0.9925),  # the entropy of a dead head is more
    "sure": (0.01, 0.013, 0.0075),  # that of a saturated head is less
    # of vanishing gradients: the first layer's norm over the last one's
    "ratio": (0.001, 0.0014, 0.0007),
    "row": (20, 16, 24),  # records in a row, for entropies and gradients
}
TABLE, EASIER, HARDER = (
    SimpleNamespace(**dict(zip(NUMBERS, column))) for column in zip(*NUMBERS.values())
)
APART = 12  # records that their onsets may differ by
BELIEVED = 6  # consecutive medians above 1.5 times the lowest that a healthy trace may have


def is_clear(trace: Trace) -> bool:
    """Whether the table's rules and others near them find the same faults, at about the same
    records.
    """
    onsets = find_onsets(trace)
    for rules in (EASIER, HARDER):
        others = find_onsets(trace, rules)
        if others.keys() != onsets.keys():
            return False
        if any(abs(others[name] - onset) > APART for name, onset in onsets.items()):
            return False
    if "exploding_loss" in onsets or "loss" not in trace.columns:
        return True
    numbers, medians = _medians(trace.columns["loss"])
    high = medians > TABLE.rise * np.minimum.accumulate(medians)
    return _first_row(high, numbers, BELIEVED + 1) is None


def find_onsets(trace: Trace, rules=TABLE) -> dict[str, int]:
    """Return a trace's faults: name -> first record at which the table's condition holds."""
    tenth, row, found = trace.first_after(1 / 10), rules.row, {}
    if (loss := trace.columns.get("loss")) is not None:
        found = {"exploding_loss": _exploding(loss, rules), "slow_convergence": _slow(trace, rules)}
    # name: where it holds, for each head; the records in a row; the first that counts
    states = {
        "repetition": (lambda rate: rate > rules.repeated, 3, 0),
        "dead_attention": (lambda entropy: entropy > rules.even, row, tenth),
        "saturated_attention": (lambda entropy: entropy < rules.sure, row, 0),
        "vanishing_gradients": (
            lambda norms: norms[:, :1] < rules.ratio * norms[:, -1:],
            row,
            tenth,
        ),
    }
    for name, (holds, length, begin) in states.items():
        if NEEDS[name] in trace.columns:
            values = trace.columns[NEEDS[name]].reshape(len(trace), -1)
            numbers = np.flatnonzero((values != MISSING).all(axis=1))
            onsets = [_first_row(head, numbers, length, begin) for head in holds(values)[numbers].T]
            found[name] = min((onset for onset in onsets if onset is not None), default=None)
    return {name: onset for name, onset in found.items() if onset is not None}


def _medians(loss):
    """Return (the numbers of the records with a finite loss, from the fifth on; the median of the
    last five at each).
    """
    numbers = np.flatnonzero((loss != MISSING) & np.isfinite(loss))
    if len(numbers) < 5:
        return numbers[:0], np.zeros(0)
    return numbers[4:], np.median(
        np.lib.stride_tricks.sliding_window_view(loss[numbers], 5), axis=1
    )


def _exploding(loss, rules):
    """Find an exploding loss. A rise begins at the first median above `rise` times the lowest, and
    ends when one is below that. It is a fault if it gets `far`, or the loss stops being finite
    before it ends.
    """
    end = next(iter(np.flatnonzero(~np.isfinite(loss)).tolist()), None)
    begun, lowest = None, np.inf
    for number, median in zip(*_medians(loss[:end])):
        lowest = min(lowest, median)
        if median <= rules.rise * lowest:
            begun = None
            continue
        begun = int(number) if begun is None else begun
        if median >= rules.far * lowest:
            return begun
    return end if begun is None or end is None else begun


def _slow(trace, rules):
    """Find slow convergence: after a quarter, the loss has hardly got anywhere."""
    loss = trace.columns["loss"]
    numbers, medians = _medians(loss)
    if trace.reference_loss is None or not len(numbers):
        return None
    first = loss[(loss != MISSING) & np.isfinite(loss)][0]
    slow = (first - medians < rules.way * (first - trace.reference_loss)) & (
        trace.columns["step"][numbers] > trace.total_steps / 4
    )
    return _first_row(slow, numbers, rules.stays)


def _first_row(holds, numbers, length, begin=0):
    """Return the number of the first record, not before `begin`, at which a condition has held in
    `length` records in a row, of those that have the value: their numbers, and whether it holds.
    """
    row = 0
    for number, held in zip(numbers.tolist(), holds):
        row = row + 1 if held else 0
        if row >= length and number >= begin:
            return number
    return None
