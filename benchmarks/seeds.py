"""The demo over several seeds of world and training: python benchmarks/seeds.py --seeds 1 2 3 4 5 --out FOLDER

Prints a table in Markdown, for docs/accuracy.md. Finished seeds are not run again.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Make a world for each seed, run the demo in it, and print the accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--size", choices=("laptop", "full"), default="laptop")
    parser.add_argument("--mode", choices=("varied", "single"), default="varied")
    parser.add_argument("--preset", choices=("laptop", "gpu", "smoke"), default="laptop")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rows = []
    for seed in args.seeds:
        world, gold, demo = (args.out / f"{name}-{seed}" for name in ("world", "gold", "demo"))
        if not (demo / "summary.json").exists():
            subprocess.run([sys.executable, "-m", "instructor", "world", "--seed", str(seed), "--size", args.size, "--mode",
                            args.mode, "--out", str(world.resolve()), "--gold", str(gold.resolve())], cwd=ROOT, check=True)
            subprocess.run([sys.executable, str(ROOT / "src" / "run.py"), "demo", "--preset", args.preset, "--data", str(world),
                            "--gold", str(gold), "--seed", str(seed), "--out", str(demo),
                            *(["--resume"] if demo.exists() else [])], check=True)
        rows.append((seed, json.loads((demo / "summary.json").read_text(encoding="utf-8"))))
    print("\n| seed | no pretraining | vanilla, pretrained | RoPE, pretrained | same place always | seconds |")
    print("|---|---|---|---|---|---|")
    for seed, summary in rows:
        cells = [f"{m['dev']:.1%} / {m['test']:.1%}" for m in summary["models"]]
        print(f"| {seed} | {' | '.join(cells)} | {summary['baseline_dev']:.1%} | {summary['total_seconds']:.0f} |")
    print(f"\nDev / test accuracy over {rows[0][1]['dev_people']} dev people; {rows[0][1]['machine']}.")


if __name__ == "__main__":
    main()
