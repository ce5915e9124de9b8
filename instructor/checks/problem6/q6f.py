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

MISSED, FALSE = 0.05, 0.02  # the shares of missed faults and of false alarms allowed
# The share of missed faults allowed for the points on false alarms: silence has none.
SILENT = 0.5
FILE = "traces/traces.json.gz"


@draws(WRITER, "6f-1-basic")
def writings(rng):
    """Losses and rates of several steps; then also other values, which may be 0, in any order, not
    all in each step, from step 0 on. The last step has a loss alone, which is infinite.
    """
    names = ["lr", "loss", "test_loss", "grad_norm"]
    return [writing(rng, 3, names[:2], 1), writing(rng, 6, names, 0), writing(rng, 5, names, 0)]


def writing(rng, steps: int, names: list[str], step: int) -> dict:
    """Draw the calls of add_scalar for so many steps."""
    values = []
    for number in range(steps):
        for name in rng.permutation(names)[: max(2, len(names) - number)].tolist():
            value = 0.0 if name == "lr" and number % 2 else round(rng.uniform(1, 2), 6)
            values.append((name, [1.0, value] if name == "grad_norm" else value, step))
        step += int(rng.integers(1, 20))
    return {"values": [*values, ("loss", np.inf, step)], "total_steps": 20 * step}


@check("6f-2-hidden")
def test_recall(student, context):
    """Nearly all faults are reported in time."""
    require_few(student, context, "missed", "faults", MISSED)


@check("6f-3-hidden")
def test_false_alarms(student, context):
    """There are hardly any false alarms, and enough right ones."""
    require_few(student, context, "missed", "faults", SILENT)
    require_few(student, context, "false", "pairs", FALSE)


def require_few(student, context, wrong: str, among: str, most: float) -> None:
    """Raise WrongAnswer if more than a share of what `tally` counts is wrong. The recorded traces
    are replayed once for all checks of a submission.
    """

    def ask(_):
        traces = read_traces(context.gold_path(FILE))
        return tally(traces, find_alarms(student, traces))

    counts = student.once("6f", ask)
    count, total = counts[wrong].total(), counts[among].total()
    if count > most * total:
        where = [f"{name} {n} of {counts[among][name]}" for name, n in counts[wrong].items()]
        raise WrongAnswer(
            f"Of the {total} {among} in recorded traces, {count / total:.1%} are {wrong}; "
            f"{most:.0%} may be: {', '.join(where)}."
        )


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
