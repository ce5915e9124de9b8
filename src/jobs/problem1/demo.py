"""`./run.sh demo`: all eleven jobs in a new folder, then a table, a plot (accuracy.png) and
summary.json.
"""

import argparse
import dataclasses
import json
import os
import platform
import time
from pathlib import Path

import torch

from common.files import UserError, write_text
from jobs.options import ROOT, choose_options
from jobs.problem1.demo_plot import MODELS, plot
from jobs.problem1.together import Together, jobs_at_once
from jobs.records import Record, read_record, require_same_preset
from jobs.targets import JOBS, LOOK

# The reference solution, if this checkout has it; otherwise the demo runs the student's code.
SOLUTION, GOLD = ROOT / "instructor" / "solution", ROOT / "instructor" / "gold"


def run_demo(args: argparse.Namespace) -> None:
    """Run the demo with the command line's options; with --resume, finished jobs are skipped.

    Raises:
        UserError: the folder given with --out is in use, or as the jobs do.
    """
    args.submission = args.submission or (SOLUTION if SOLUTION.is_dir() else None)
    options = choose_options(args, own="laptop")
    started = time.monotonic()
    out = choose_folder(args.out, args.resume)
    options = dataclasses.replace(options, out=out)
    if args.resume and not args.preset:
        require_same_preset(options)
    gold = GOLD / options.preset.data
    if options.gold is None and args.data is None and (gold / "birth_test.tsv").exists():
        options = dataclasses.replace(options, gold=gold)
    print(f"Code from {options.submission}, results into {out}")
    at_once = jobs_at_once(args.jobs, options)
    Together([*JOBS.values()], options, at_once, recorded=True).run()  # for the summary

    records = {target: read_record(out / job.writes) for target, job in JOBS.items()}
    summary = summarize(records, time.monotonic() - started)
    write_text(out / "summary.json", json.dumps(summary, indent=2) + "\n")
    plot(records, summary, out / "accuracy.png")
    print("\n" + table(summary))
    print(
        f"\nTook {summary['total_seconds']:.0f} seconds{' of this run' * args.resume} on "
        f"{summary['machine']}"
    )
    print(f"See {out / 'accuracy.png'} and {out / 'summary.json'}")
    print(f"Where its models look, a page to play with: {options.command(LOOK.target)}")


def choose_folder(wanted: Path | None, resume: bool) -> Path:
    """The folder for results: the given one, which must be empty, or a new one, demo, demo-2, ...;
    to resume, the given one, or the most recent demo.

    Raises:
        UserError: the given folder is not empty, or there is no demo to resume.
    """
    names = [Path("demo" if n == 1 else f"demo-{n}") for n in range(1, 1000)]
    if resume:
        # one that was interrupted in its first seconds is empty
        demos = [
            folder
            for folder in ([wanted] if wanted else names)
            if (folder / "runs").is_dir() or (folder.is_dir() and not any(folder.iterdir()))
        ]
        if not demos:
            raise UserError(
                f"{wanted} has no demo to resume. Run it without --resume, or check --out."
                if wanted
                else "There is no demo to resume here. Name its folder with --out."
            )
        return max(demos, key=os.path.getmtime)
    out = wanted or next(name for name in names if not name.exists())
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(
            f"--out {out} is not an empty folder. Choose another, or add --resume to continue an "
            "unfinished demo."
        )
    return out


def summarize(records: dict[str, Record], seconds: float) -> dict:
    """The figures of a demo, from the records of its jobs by target. Accuracies are from 0 to 1
    (None without answers); a model's `seconds` are those of its jobs, some of which ran at the same
    time as others, and `total_seconds` are how long the user waited.
    """
    models = []
    for variant, pretrained in MODELS:
        mine = [
            (JOBS[target].split, record)
            for target, record in records.items()
            if (JOBS[target].variant, JOBS[target].pretrained) == (variant, pretrained)
        ]
        accuracies = {split: record.accuracy for split, record in mine if split}
        models.append(
            {
                "variant": variant,
                "pretrained": pretrained,
                **accuracies,
                "seconds": round(sum(record.seconds for _, record in mine), 1),
            }
        )
    dev = next(record for target, record in records.items() if JOBS[target].split == "dev")
    return {
        "models": models,
        "baseline_dev": dev.baseline / dev.total,
        "dev_people": dev.total,
        "total_seconds": round(seconds, 1),
        "machine": machine(),
    }


def machine() -> str:
    """This machine in words: processor, cores, GPU, versions."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        names = [
            line
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        ]
        processor = names[0].split(":")[1].strip() if names else processor
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{processor}, {os.cpu_count()} cores{gpu}, {platform.system()}, torch {torch.__version__}"
    )


def table(summary: dict) -> str:
    """The figures as aligned columns."""

    def percent(value):
        return "-" if value is None else f"{value:.1%}"

    rows = [("positions", "pretraining", "dev", "test", "seconds")]
    for model in summary["models"]:
        rows.append(
            (
                MODELS[model["variant"], model["pretrained"]],
                "yes" if model["pretrained"] else "no",
                percent(model["dev"]),
                percent(model["test"]),
                f"{model['seconds']:.0f}",
            )
        )
    rows.append(("most common place", "-", percent(summary["baseline_dev"]), "-", "-"))
    return "\n".join(
        f"{row[0]:<18}  {row[1]:<11}  {row[2]:>6}  {row[3]:>6}  {row[4]:>7}" for row in rows
    )
