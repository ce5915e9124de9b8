"""`python -m instructor traces`: trains and draws traces, drops borderline ones, and writes the
file that 6f is graded with. With --practice: the six that students get with their labels.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from checks.problem6.q6f_traces import MISSING, NAMES, Trace
from common.files import write_text, writing
from instructor import ROOT
from instructor.checks.problem6.q6f import FILE
from instructor.datasets.worlds.editions import PRACTICE

from .drawn import draw_traces
from .onsets import find_onsets, is_clear

TRAININGS, DRAWN = 6, 9  # of each kind
# Significant digits kept.
FIELDS = {"loss": 3, "lr": 2, "grad_norm": 2, "attention_entropy": 3, "repetition_rate": 2}
# Of the trainings drawn for practice: one that goes well, and together every fault.
KEPT = (
    "trained well, 1",
    "diverged, 0",
    "samples almost greedily, 0",
    "hardly learns, 0",
    "scores too large, 0",
    "deep, without residuals, 0",
)


def run(args: argparse.Namespace) -> int:
    """Write the file, and say what is in it; returns the exit code."""
    if args.practice:
        write_practice(ROOT / "data" / "traces")
        return 0
    # Drawn ones are the same everywhere, recorded ones on the same machine and version of torch.
    made = [*record_trainings(args.seed, TRAININGS)]
    made += draw_traces(np.random.default_rng(args.seed + 1), DRAWN)
    traces = [trace for trace in map(rounded, made) if is_clear(trace)]
    path = args.gold / FILE
    content = json.dumps([*map(packed, traces)], separators=(",", ":")).encode()
    with writing(path) as temporary:
        temporary.write_bytes(gzip.compress(content, mtime=0))
    for name in NAMES:
        print(f"{name}: {sum(name in trace.faults for trace in traces)} traces")
    healthy = sum(not trace.faults for trace in traces)
    print(f"Wrote {len(traces)} traces to {path}, {healthy} of them without a fault")
    return 0


def record_trainings(seed: int, count: int, names: tuple[str, ...] = ()) -> Iterator[Trace]:
    """Train `count` of each kind, or only those with these names, and record them."""
    from .setups import REFERENCE, draw_setups  # torch, which other commands can do without
    from .training import train

    world = (ROOT / "data" / "laptop" / "wiki.txt").read_text(encoding="utf-8")[:40_000]
    for number, setup in enumerate(draw_setups(np.random.default_rng(seed), count)):
        if not names or setup.name in names:
            yield train(setup, world, seed + number, REFERENCE)


def rounded(trace: Trace) -> Trace:
    """A trace with fewer digits, and the faults that it has then."""
    columns = {
        name: np.vectorize(lambda v, n=FIELDS[name]: float(f"{v:.{n}g}"), otypes=[float])(values)
        if name in FIELDS
        else values
        for name, values in trace.columns.items()
    }
    trace = replace(trace, columns=columns)
    return replace(trace, faults=find_onsets(trace))


def packed(trace: Trace) -> dict:
    """A trace as the file has it: the records last in each column, where they compress better."""
    columns = {name: np.moveaxis(v, 0, -1).tolist() for name, v in trace.columns.items()}
    return asdict(trace) | {"columns": columns}


def write_practice(folder: Path) -> None:
    """Train the six traces to practice on, and write each as a log whose header has its labels."""
    for trace in map(rounded, record_trainings(PRACTICE, 1, KEPT)):
        name = trace.name.rpartition(",")[0]
        steps = trace.columns["step"].tolist()
        header = {
            "run": name.capitalize(),
            "total_steps": trace.total_steps,
            "reference_loss": trace.reference_loss,
            "faults": {fault: steps[onset] for fault, onset in trace.faults.items()},
        }
        lines = [json.dumps(line) + "\n" for line in [header, *records(trace)]]
        path = folder / f"{name.replace(',', '').replace(' ', '_')}.jsonl"
        write_text(path, "".join(lines))
        print(f"Wrote {path}")


def records(trace: Trace) -> list[dict]:
    """The records of a trace, as a monitor gets them: without the values that are missing."""
    return [
        {
            name: values[i].tolist()
            for name, values in trace.columns.items()
            if not (values[i] == MISSING).any()
        }
        for i in range(len(trace))
    ]
