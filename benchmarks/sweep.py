"""Runs the demo over worlds and presets, for setting thresholds:

    python benchmarks/sweep.py --seeds 1 2 3 4 5 [--presets laptop gpu] --out FOLDER

Prints a table in Markdown for each preset, with the range and the mean of each accuracy. Finished
runs are kept in FOLDER/runs.tsv, one line each, and interrupted ones are resumed. A line of that
file is enough: the folders of finished runs can be deleted, and lines of other machines added.
The handout and other documents take accuracies from instructor/results/seeds.tsv: such lines.
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

SIZES = {"laptop": "laptop", "smoke": "laptop", "gpu": "full"}  # of a preset's world
MODELS = ("no pretraining", "learned positions", "RoPE")
RESULTS = (*(f"{model}, {part}" for model in MODELS for part in ("dev", "test")), "most common")
FIELDS = ("preset", "seed", *RESULTS, "seconds", "machine")


def read_runs(path: Path) -> list[dict]:
    """The finished runs, their numbers as numbers; accuracies are from 0 to 1."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            row
            | {"seed": int(row["seed"])}
            | {name: float(row[name]) for name in (*RESULTS, "seconds")}
            for row in csv.DictReader(file, delimiter="\t")
        ]


def keep_run(path: Path, run: dict) -> None:
    """Add a line to the finished runs."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(run)


def run_demo(preset: str, seed: int, out: Path) -> dict:
    """A demo in a world made for it; resumed where one was interrupted."""
    data, gold, demo = (out / f"{kind}-{preset}-{seed}" for kind in ("world", "gold", "demo"))
    command = ["--seed", seed, "--size", SIZES[preset], "--out", data.resolve()]
    command += ["--gold", gold.resolve()]
    subprocess.run(
        [sys.executable, "-m", "instructor", "world", *map(str, command)], cwd=ROOT, check=True
    )
    command = ["--preset", preset, "--data", data, "--gold", gold, "--out", demo, "--seed", seed]
    command += ["--resume"] if (demo / "runs").exists() else []
    subprocess.run(
        [sys.executable, ROOT / "src" / "run.py", "demo", *map(str, command)], check=True
    )
    summary = json.loads((demo / "summary.json").read_text(encoding="utf-8"))
    accuracies = [model[part] for model in summary["models"] for part in ("dev", "test")]
    return {
        "preset": preset,
        "seed": seed,
        **dict(zip(RESULTS, [*accuracies, summary["baseline_dev"]])),
        "seconds": summary["total_seconds"],
        "machine": summary["machine"],
    }


def show(runs: list[dict]) -> None:
    """Print the table of a preset's runs."""
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
        f"\nPreset {runs[0]['preset']}; dev / test accuracy, {runs[0]['machine']}\n\n"
        + markdown(["seed", *MODELS, "same place always", "seconds"], rows)
    )


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--presets", nargs="+", choices=SIZES, default=["laptop"])
    parser.add_argument("--out", type=Path, required=True, help="for worlds and demos; to continue")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    kept = args.out / "runs.tsv"
    runs = {preset: [] for preset in args.presets}
    # the first seed of all presets comes before the second: an interrupted sweep has fewer seeds
    for seed, preset in itertools.product(args.seeds, args.presets):
        finished = [r for r in read_runs(kept) if (r["preset"], r["seed"]) == (preset, seed)]
        if not finished:
            finished = [run_demo(preset, seed, args.out)]
            keep_run(kept, finished[0])
        runs[preset].append(finished[0])
    for found in runs.values():
        show(found)


if __name__ == "__main__":
    main()
