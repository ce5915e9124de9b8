"""How the cost of pretraining grows with the corpus, the width of the model and its block: python
benchmarks/growth.py [--device cpu|cuda]

Seconds of an epoch for multiples of a preset's sizes, one changed at a time, each measured in
--runs turns; the medians, as ratios to the preset's own, are published in benchmarks/README.md.
"""

import argparse
import dataclasses
import statistics

import torch

import train_throughput
from jobs.presets import PRESETS
from jobs.problem1.demo import machine
from tables import markdown, publish


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--preset", choices=PRESETS)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    preset = PRESETS[args.preset or ("gpu" if args.device != "cpu" else "laptop")]
    sizes = {
        "as it is": (preset, 1.0),
        "half of the corpus": (preset, 0.5),
        "twice the corpus": (preset, 2.0),
    }
    for factor, name in ((0.5, "half"), (2, "twice")):
        sizes[f"{name} the width"] = (
            dataclasses.replace(preset, n_embd=int(preset.n_embd * factor)),
            1.0,
        )
        sizes[f"{name} the block"] = (
            dataclasses.replace(preset, block_size=int(preset.block_size * factor)),
            1.0,
        )
    times = {name: [] for name in sizes}
    for _ in range(args.runs):
        for name, (changed, corpus) in sizes.items():
            documents = round(corpus * len(train_throughput.setup(preset, "vanilla")[0]))
            times[name].append(
                documents
                / train_throughput.our_rate(
                    changed, "vanilla", args.device, 2 if args.device == "cpu" else 60, corpus
                )[0]
            )
    base = statistics.median(times["as it is"])
    rows = [
        [
            name,
            changed.n_embd,
            changed.block_size,
            f"{statistics.median(times[name]):.2f}",
            f"{statistics.median(times[name]) / base:.2f}",
        ]
        for name, (changed, _) in sizes.items()
    ]
    table = markdown(
        [f"preset {preset.name}", "n_embd", "block_size", "seconds an epoch", "ratio"], rows
    )
    publish(
        "growth",
        args.device,
        f"Pretraining (vanilla) on {machine()}, {torch.get_num_threads()} threads; medians of "
        f"{args.runs}.\n\n{table}",
    )


if __name__ == "__main__":
    main()
