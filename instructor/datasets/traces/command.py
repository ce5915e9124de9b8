"""`python -m instructor traces`: trains and draws traces, drops borderline ones, and writes the
file that 6f is graded with. With --practice: the six that students get with their labels.
"""

import argparse
import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from checks.problem6.q6f_traces import MISSING, NAMES, Trace
from common.files import write_text, writing
from instructor import ROOT
from instructor.checks.problem6.q6f import FILE
from instructor.datasets.traces.onsets import Rules, find_onsets
from instructor.datasets.worlds.editions import PRACTICE, TRACES

TRAININGS, DRAWN = 6, 9  # of each kind
# Significant digits kept.
FIELDS = {"loss": 3, "lr": 2, "grad_norm": 2, "attention_entropy": 3, "repetition_rate": 2}
# Of the trainings drawn for practice: one that goes well, and together every fault.
KEPT = {
    "trained well, 1": "trained well",
    "diverged, 0": "diverged",
    "samples almost greedily, 0": "samples almost greedily",
    "hardly learns, 0": "hardly learns",
    "scores too large, 0": "scores too large",
    "deep, without residuals, 0": "deep, without residuals",
}
# The table's rules, looser and stricter. Where they disagree about a trace, a correct monitor may
# disagree with the table too: such a trace is dropped.
EASIER = Rules(
    rise=1.4, far=2.6, repeated=0.45, way=0.13, even=0.987, sure=0.013, ratio=0.0014, row=16
)
HARDER = Rules(
    rise=1.6,
    far=3.4,
    repeated=0.55,
    way=0.07,
    stays=8,
    even=0.9925,
    sure=0.0075,
    ratio=0.0007,
    row=24,
)
APART = 12  # records that their onsets may differ by
BELIEVED = 6  # consecutive medians above 1.5 times the lowest that a healthy trace may have


def is_clear(trace: Trace) -> bool:
    """Whether the table's rules and others near them find the same faults, at about the same
    records.
    """
    found = [find_onsets(trace, rules) for rules in (Rules(), EASIER, HARDER)]
    if not all(each.keys() == found[0].keys() for each in found):
        return False
    if any(abs(each[name] - found[0][name]) > APART for each in found for name in each):
        return False
    return "exploding_loss" in found[0] or longest_rise(trace) <= BELIEVED


def longest_rise(trace: Trace) -> int:
    """The most consecutive medians of the loss above 1.5 times its lowest."""
    loss = trace.columns.get("loss")
    if loss is None or len(loss) < 5:
        return 0
    medians = np.median(np.lib.stride_tricks.sliding_window_view(loss, 5), axis=1)
    longest = row = 0
    for high in medians > 1.5 * np.minimum.accumulate(medians):
        row = row + 1 if high else 0
        longest = max(longest, row)
    return longest


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


def pack(traces: list[Trace]) -> bytes:
    """Pack traces into a file's bytes."""
    kept = [asdict(trace) for trace in traces]
    for trace in kept:
        trace["columns"] = {
            name: np.moveaxis(values, 0, -1).tolist() for name, values in trace["columns"].items()
        }
    return gzip.compress(json.dumps(kept, separators=(",", ":")).encode(), mtime=0)


def make_traces(seed: int) -> list[Trace]:
    """All traces that are kept. Drawn ones are the same everywhere, recorded ones on the same
    machine and version of torch.
    """
    from .drawn import draw_traces

    made = record_trainings(seed, TRAININGS)
    made += draw_traces(np.random.default_rng(seed + 1), DRAWN)
    return [trace for trace in map(rounded, made) if is_clear(trace)]


def record_trainings(seed: int, count: int, names: tuple[str, ...] = ()) -> list[Trace]:
    """Train `count` of each kind, or only those with these names, and record them."""
    from .setups import REFERENCE, draw_setups
    from .training import train  # imports torch, which other commands can do without

    world = (ROOT / "data" / "laptop" / "wiki.txt").read_text(encoding="utf-8")[:40_000]
    return [
        train(setup, world, seed + number, REFERENCE)
        for number, setup in enumerate(draw_setups(np.random.default_rng(seed), count))
        if not names or setup.name in names
    ]


def write_practice(folder: Path) -> list[Path]:
    """Train the six traces to practice on, and write each as a log whose header has its labels.

    Raises:
        ValueError: a trace is borderline, or together they lack a fault; choose another seed.
    """
    traces = [rounded(trace) for trace in record_trainings(PRACTICE, 1, tuple(KEPT))]
    if not all(map(is_clear, traces)) or {n for trace in traces for n in trace.faults} != {*NAMES}:
        faults = [trace.faults for trace in traces]
        raise ValueError(f"these traces are not good examples: {faults}")
    paths = []
    for trace in traces:
        name = KEPT[trace.name]
        steps = trace.columns["step"].tolist()
        header = {
            "run": name[0].upper() + name[1:],
            "total_steps": trace.total_steps,
            "reference_loss": trace.reference_loss,
            "faults": {fault: steps[onset] for fault, onset in trace.faults.items()},
        }
        lines = [json.dumps(line) for line in [header, *records(trace)]]
        paths.append(folder / f"{name.replace(',', '').replace(' ', '_')}.jsonl")
        write_text(paths[-1], "\n".join(lines) + "\n")
    return paths


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


def run(args: argparse.Namespace) -> int:
    """Write the file, and say what is in it; returns the exit code."""
    if args.practice:
        paths = write_practice(ROOT / "data" / "traces")
        print(f"Wrote {len(paths)} traces to practice on: {', '.join(map(str, paths))}")
        return 0
    traces = make_traces(args.seed)
    path = args.gold / FILE
    with writing(path) as temporary:
        temporary.write_bytes(pack(traces))
    for name in NAMES:
        print(f"{name}: {sum(name in trace.faults for trace in traces)} traces")
    print(
        f"Wrote {len(traces)} traces, {sum(not trace.faults for trace in traces)} of them without "
        f"a fault, to {path} ({path.stat().st_size / 1000:.0f} kB)"
    )
    return 0


def add_parser(commands) -> None:
    """Add the command `traces`."""
    command = commands.add_parser(
        "traces", help="make the recorded traces that 6f is graded with (about ten minutes)"
    )
    command.add_argument(
        "--seed", type=int, default=TRACES, help="draws the traces (default: that of the course)"
    )
    command.add_argument(
        "--practice",
        action="store_true",
        help="make the six in data/traces instead, which students get (about a minute)",
    )
    command.add_argument(
        "--gold",
        type=Path,
        default=ROOT / "instructor" / "gold",
        help="the folder of the test answers",
    )
    command.set_defaults(run=run)
