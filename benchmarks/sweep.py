"""Runs the demo over seeds of world and training, and over presets, for setting thresholds:

    python benchmarks/sweep.py --seeds 1 2 3 4 5 [--presets laptop gpu] --out FOLDER

Prints a table in Markdown for each preset, with the range and the mean of each accuracy
(docs/accuracy.md has such tables). Finished runs are kept, and interrupted ones are resumed.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from tables import ROOT, markdown

# of the world that belongs to a preset
SIZES = {"laptop": "laptop", "smoke": "laptop", "gpu": "full"}


def run_demo(preset: str, seed: int, args: argparse.Namespace) -> dict:
    """The summary of a demo with this seed, in a world made with it."""
    world, gold, demo = (
        args.out / f"{name}-{args.mode}-{preset}-{seed}" for name in ("world", "gold", "demo")
    )
    if not (demo / "summary.json").exists():
        subprocess.run(
            [
                sys.executable,
                "-m",
                "instructor",
                "world",
                "--seed",
                str(seed),
                "--size",
                SIZES[preset],
                "--mode",
                args.mode,
                "--out",
                str(world.resolve()),
                "--gold",
                str(gold.resolve()),
            ],
            cwd=ROOT,
            check=True,
        )
        subprocess.run(
            [
                sys.executable,
                str(ROOT / "src" / "run.py"),
                "demo",
                "--preset",
                preset,
                "--data",
                str(world),
                "--gold",
                str(gold),
                "--seed",
                str(seed),
                "--out",
                str(demo),
                *(["--resume"] if (demo / "jobs.json").exists() else []),
            ],
            check=True,
        )
    return json.loads((demo / "summary.json").read_text(encoding="utf-8"))


def show(preset: str, summaries: dict[int, dict]) -> None:
    """Print the table of a preset."""
    rows = [
        [
            seed,
            *(f"{m['dev']:.1%} / {m['test']:.1%}" for m in summary["models"]),
            f"{summary['baseline_dev']:.1%}",
            f"{summary['total_seconds']:.0f}",
        ]
        for seed, summary in summaries.items()
    ]
    models = list(
        zip(*([model["dev"] for model in summary["models"]] for summary in summaries.values()))
    )
    rows.append(
        [
            "dev",
            *(
                f"{min(dev):.1%} to {max(dev):.1%}, mean {statistics.mean(dev):.1%}"
                for dev in models
            ),
            "",
            "",
        ]
    )
    head = [
        "seed",
        "no pretraining",
        "vanilla, pretrained",
        "RoPE, pretrained",
        "same place always",
        "seconds",
    ]
    print(f"\nPreset {preset}\n\n{markdown(head, rows)}")
    one = next(iter(summaries.values()))
    print(f"\nDev / test accuracy over {one['dev_people']} dev people; {one['machine']}.")


def main() -> None:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--presets", nargs="+", choices=SIZES, default=["laptop"])
    parser.add_argument("--mode", choices=("varied", "single"), default="varied")
    parser.add_argument("--out", type=Path, required=True, help="for worlds and demos; to continue")
    args = parser.parse_args()
    tables = {
        preset: {seed: run_demo(preset, seed, args) for seed in args.seeds}
        for preset in args.presets
    }
    for preset, summaries in tables.items():
        show(preset, summaries)


if __name__ == "__main__":
    main()
