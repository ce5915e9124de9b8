"""The recorded traces: their file format, and a Monitor's results on them."""

import gzip
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autograder import WrongAnswer
from checks.problem6.q6f.monitor import Raised
from checks.problem6.q6f.traces import NAMES, Trace
from common.alarms import TOLERANCE, in_time
from instructor.checks.problem6.q6f.onsets import find_onsets, loss_ends

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

    def add(self, trace: Trace, raised: list[Raised]) -> None:
        """Count the alarms in a trace. A fault so late that its alarm may still be pending doesn't
        count.
        """
        onsets, ends = find_onsets(trace), loss_ends(trace)
        at = {alarm.name: alarm.record for alarm in reversed(raised)}
        for name in NAMES:
            if name not in onsets:
                self.pairs[name] += 1
                self.false[name] += name in at
            elif (name == "exploding_loss" and ends is not None) or onsets[name] + TOLERANCE < len(
                trace
            ):
                self.faults[name] += 1
                self.found[name] += name in at and in_time(
                    at[name], onsets[name], ends if name == "exploding_loss" else None
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
