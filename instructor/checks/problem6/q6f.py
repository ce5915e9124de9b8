"""Question 6f: calls of a writer; and hidden, recorded traces, with the faults that they have."""

import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np

from autograder import WrongAnswer, check
from checks.problem6.q6f import WRITER, find_alarms
from checks.problem6.q6f_traces import NAMES, Trace
from instructor.checks.drawing import draws

FOUND, FALSE = 0.95, 0.02  # the recall needed, and the share of false alarms allowed
# The recall needed for the points on false alarms: a Monitor that reports nothing has none.
SPOKE = 0.5
FILE = "traces/traces.json.gz"


@draws(WRITER, "6f-1-basic")
def writings(rng):
    """Losses and rates of several steps; then also other values, which may be 0, in any order, from
    step 0 on. The last loss is infinite.
    """
    return [_writing(rng, steps, plain) for steps, plain in ((3, True), (6, False), (5, False))]


def _writing(rng, steps, plain):
    values, step = [], int(plain)
    for number in range(steps):
        some = {
            "lr": rng.uniform(1e-4, 1e-3) if plain or number % 3 else 0.0,
            "loss": rng.uniform(1, 2) if number < steps - 1 else np.inf,
        }
        if not plain and number % 3 == 1:
            some["test_loss"] = rng.uniform(1, 2)
        names = rng.permutation([*some]).tolist()
        if not plain and number % 2 == 0:
            some["grad_norm"] = rng.uniform(0.5, 1, size=3).round(3).tolist()
            # once first, where the step before has none
            names.insert(number % 4, "grad_norm")
        rounded = {name: round(v, 6) if isinstance(v, float) else v for name, v in some.items()}
        values += [(name, rounded[name], step) for name in names]
        step += int(rng.integers(1, 20))
    return {"values": values, "total_steps": 20 * step}


@check("6f-2-hidden")
def test_recall(student, context):
    """Nearly all faults are reported in time."""
    require_recall(tally_kept(student, context), FOUND)


@check("6f-3-hidden")
def test_false_alarms(student, context):
    """There are hardly any false alarms, and enough right ones."""
    counts = tally_kept(student, context)
    require_recall(counts, SPOKE)
    pairs, false = counts["pairs"].total(), counts["false"].total()
    if false > FALSE * pairs:
        where = [f"{name} {n} of {counts['pairs'][name]}" for name, n in counts["false"].items()]
        raise WrongAnswer(
            f"Of the {pairs} pairs of a recorded trace and a fault that it does not have, "
            f"{false / pairs:.1%} had an alarm; {FALSE:.0%} are allowed: {', '.join(where)}."
        )


def require_recall(counts: dict[str, Counter], least: float) -> None:
    """Raise WrongAnswer if fewer faults were reported in time."""
    faults, missed = counts["faults"].total(), counts["missed"].total()
    if faults - missed < least * faults:
        where = [f"{name} {n} of {counts['faults'][name]}" for name, n in counts["missed"].items()]
        raise WrongAnswer(
            f"Of the {faults} faults in recorded traces, {1 - missed / faults:.1%} were reported "
            f"in time; {least:.0%} are needed. Missed: {', '.join(where)}."
        )


def tally_kept(student, context) -> dict[str, Counter]:
    """Replay the recorded traces, once for all checks of a submission; see `tally`."""

    def ask():
        traces = read_traces(context.gold_path(FILE))
        return tally(traces, find_alarms(student, traces))

    return context.once(student, "6f", ask)


def tally(traces: list[Trace], found: list[dict[str, int]]) -> dict[str, Counter]:
    """Count, by name: faults, those that were missed, pairs of a trace and a name without that
    fault, and false alarms in these. A fault so late that its alarm may still be pending doesn't
    count.

    Args:
        found: the record of each alarm, by name, for each trace.
    """
    counts = {kind: Counter() for kind in ("faults", "missed", "pairs", "false")}
    for trace, raised in zip(traces, found):
        due = [name for name in trace.faults if not trace.in_time(name, len(trace))]
        healthy = [name for name in NAMES if name not in trace.faults]
        counts["faults"].update(due)
        counts["missed"].update(name for name in trace.missed(raised) if name in due)
        counts["pairs"].update(healthy)
        counts["false"].update(name for name in healthy if name in raised)
    return counts


def read_traces(path: Path) -> list[Trace]:
    """Read the traces of a file that `python -m instructor traces` wrote."""
    traces = []
    for kept in json.loads(gzip.decompress(path.read_bytes())):
        for name, values in kept["columns"].items():
            column = np.array(values, dtype=np.int64 if name == "step" else float)
            kept["columns"][name] = np.ascontiguousarray(np.moveaxis(column, -1, 0))
        parts = ("name", "total_steps", "reference_loss", "columns", "faults")
        traces.append(Trace(*(kept[part] for part in parts)))
    return traces
