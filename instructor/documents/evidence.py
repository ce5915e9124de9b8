"""What docs/accuracy.md and the handout say about the runs of benchmarks/sweep.py: how the accuracy
depends on the number of phrasings, on their order, and on the number of people.
"""

import csv
from pathlib import Path
from statistics import mean

from instructor.release.starter import KEPT_RESULTS

RUNS = KEPT_RESULTS / "runs.tsv"
MODELS = ("no pretraining", "learned positions", "RoPE")
RESULTS = (*(f"{model}, {part}" for model in MODELS for part in ("dev", "test")), "most common")
WORLD = ("preset", "people", "phrasings", "order", "seed")  # what a run is of


def read_runs(path: Path | None = None) -> list[dict]:
    """The runs in a file of benchmarks/sweep.py, by default the kept one, their numbers as numbers;
    [] without the file. Accuracies are from 0 to 1.
    """
    path = path or RUNS
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            row
            | {name: int(row[name]) for name in ("people", "phrasings", "seed")}
            | {name: float(row[name]) for name in (*RESULTS, "seconds")}
            for row in csv.DictReader(file, delimiter="\t")
        ]


def worlds() -> dict[tuple[int, int, str], list[dict]]:
    """The kept runs by people, phrasings and order, sorted by these."""
    found = {}
    for run in sorted(read_runs(), key=lambda run: (run["people"], run["phrasings"], run["order"])):
        found.setdefault((run["people"], run["phrasings"], run["order"]), []).append(run)
    return found


def rows() -> list[list[str]]:
    """The table of docs/accuracy.md: a row for each kind of world, means with their range."""
    head = ["people", "phrasings", "order", "seeds", *(f"{model}, dev" for model in MODELS[1:])]
    return [head] + [
        [str(people), str(phrasings), order, str(len(runs))]
        + [_span([run[f"{model}, dev"] for run in runs]) for model in MODELS[1:]]
        for (people, phrasings, order), runs in worlds().items()
    ]


def facts() -> dict[str, str]:
    """The means for the handout, by "runs PEOPLE PHRASINGS ORDER MODEL"."""
    return {
        f"runs {people} {phrasings} {order} {model}": f"{mean(shares):.0%}"
        for (people, phrasings, order), runs in worlds().items()
        for model in MODELS[1:]
        if (shares := [run[f"{model}, dev"] for run in runs])
    }


def _span(shares):
    """A mean, with the range where there are several."""
    span = "" if len(shares) == 1 else f" ({min(shares):.0%} to {max(shares):.0%})"
    return f"{mean(shares):.0%}{span}"
