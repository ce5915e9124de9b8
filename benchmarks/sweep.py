"""Runs the demo over worlds, presets and seeds, for setting thresholds and for seeing what a model
needs to learn facts that it can use:

    python benchmarks/sweep.py --seeds 1 2 3 4 5 [--presets laptop gpu] --out FOLDER
    python benchmarks/sweep.py --seeds 1 2 3 --phrasings 1 2 3 6 --orders changed fixed --out FOLDER
    python benchmarks/sweep.py --seeds 1 2 3 --people 100 220 400 600 --out FOLDER

Prints a table in Markdown for each kind of world, with the range and the mean of each accuracy
(docs/accuracy.md has such tables). Finished runs are kept in FOLDER/runs.tsv, one line each, and
interrupted ones are resumed. A line of that file is enough: the folders of finished runs can be
deleted, and lines of other machines added.
"""

import argparse
import csv
import itertools
import json
import statistics
import subprocess
import sys
from pathlib import Path

from tables import ROOT, markdown

sys.path.insert(0, str(ROOT))

from instructor.datasets.worlds.world import ORDERS  # noqa: E402
from instructor.datasets.worlds.world import SIZES as WORLDS  # noqa: E402
from instructor.documents.evidence import MODELS, RESULTS, WORLD, read_runs  # noqa: E402

# of the world that belongs to a preset
SIZES = {"laptop": "laptop", "smoke": "laptop", "gpu": "full"}
FIELDS = (*WORLD, *RESULTS, "seconds", "machine")


def keep_run(path: Path, run: dict) -> None:
    """Add a line to the finished runs."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(run)


def run_demo(world: dict, out: Path) -> dict:
    """A demo in a world made for it; resumed where one was interrupted."""
    name = "-".join(str(world[field]) for field in WORLD)
    data, gold, demo = (out / f"{kind}-{name}" for kind in ("world", "gold", "demo"))
    command = ["--seed", world["seed"], "--size", SIZES[world["preset"]], "--out", data.resolve()]
    command += ["--people", world["people"], "--phrasings", world["phrasings"]]
    command += ["--order", world["order"], "--gold", gold.resolve()]
    subprocess.run(
        [sys.executable, "-m", "instructor", "world", *map(str, command)], cwd=ROOT, check=True
    )
    command = ["--preset", world["preset"], "--data", data, "--gold", gold, "--out", demo]
    command += ["--seed", world["seed"], *(["--resume"] if (demo / "jobs.json").exists() else [])]
    subprocess.run(
        [sys.executable, ROOT / "src" / "run.py", "demo", *map(str, command)], check=True
    )
    summary = json.loads((demo / "summary.json").read_text(encoding="utf-8"))
    accuracies = [model[part] for model in summary["models"] for part in ("dev", "test")]
    return {
        **world,
        **dict(zip(RESULTS, [*accuracies, summary["baseline_dev"]])),
        "seconds": summary["total_seconds"],
        "machine": summary["machine"],
    }


def show(runs: list[dict]) -> None:
    """Print the table of the runs in one kind of world."""
    one = runs[0]
    rows = [
        [
            run["seed"],
            *(f"{run[f'{model}, dev']:.1%} / {run[f'{model}, test']:.1%}" for model in MODELS),
            f"{run['most common']:.1%}",
            f"{run['seconds']:.0f}",
        ]
        for run in runs
    ]
    models = [[run[f"{model}, dev"] for run in runs] for model in MODELS]
    spans = [f"{min(m):.1%} to {max(m):.1%}, mean {statistics.mean(m):.1%}" for m in models]
    rows.append(["dev", *spans, "", ""])
    print(
        f"\nPreset {one['preset']}, {one['people']} people, {one['phrasings']} phrasings, order "
        f"{one['order']}; dev / test accuracy, {one['machine']}\n\n"
        + markdown(["seed", *MODELS, "same place always", "seconds"], rows)
    )


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--presets", nargs="+", choices=SIZES, default=["laptop"])
    parser.add_argument("--people", type=int, nargs="+", help="default: as in data/")
    parser.add_argument("--phrasings", type=int, nargs="+", help="default: all")
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=["changed"])
    parser.add_argument("--out", type=Path, required=True, help="for worlds and demos; to continue")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "runs.tsv"
    kinds = {}
    # all worlds with the first seed come before the second: an interrupted sweep is one of fewer
    # seeds
    for seed, preset in itertools.product(args.seeds, args.presets):
        size = WORLDS[SIZES[preset]]
        for people, phrasings, order in itertools.product(
            args.people or [size.train + size.dev + size.test],
            args.phrasings or [size.documents],
            args.orders,
        ):
            world = dict(zip(WORLD, (preset, people, phrasings, order, seed)))
            runs = [r for r in read_runs(kept) if world.items() <= r.items()]
            if not runs:
                runs = [run_demo(world, args.out)]
                keep_run(kept, runs[0])
            kinds.setdefault((preset, people, phrasings, order), []).append(runs[0])
    for runs in kinds.values():
        show(runs)


if __name__ == "__main__":
    main()
