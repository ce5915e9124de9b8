"""The targets of problems 5 and 6, and the page of 1c: each calls one of the student's files, has
one size, and runs on the CPU.
"""

import argparse
import importlib
from pathlib import Path

import torch

from common.files import Interrupted, UserError
from jobs.options import ROOT, STARTER
from jobs.package import load_module, seed_everything
from jobs.targets import SMALL


def run_small(args: argparse.Namespace) -> None:
    """Run the target that the command line names.

    Raises:
        UserError: as load_module; or a student's function returned something invalid.
        NotImplementedError: a part of the submission is missing.
    """
    say_what_is_ignored(args)
    submission = args.submission or STARTER
    # matrices this small gain nothing from more, and lose much when other programs run
    torch.set_num_threads(1)
    seed_everything(args.seed)
    student = load_module(submission, SMALL[args.target].calls)
    try:
        _run(args, student, args.out or submission)
    except KeyboardInterrupt:
        raise Interrupted(
            f"{args.target} was interrupted; it wrote nothing. The same command starts again."
        ) from None


def _run(args, student, out):
    match args.target:
        case "show_corruption":
            from jobs.problem1.corruption_page import show_corruption

            show_corruption(student, args.data, out / SMALL[args.target].writes)
        case "encoder_scaling":
            from jobs.problem5.scaling import scaling

            scaling(student.scaling_experiment, out / SMALL[args.target].writes, args.seed)
        case "encoder_copy":
            from jobs.problem5.copying import copy

            copy(student.copy_task, args.seed)
        case "encoder_report":
            from jobs.problem5.report import report

            data = importlib.import_module(f"{student.__package__}.encoder_data")
            report(student, data, find_occupations(args.data), out, args.seed)
        case "plot_positions":
            from jobs.problem6.positions import plot_positions

            plot_positions(student, out, args.seed)
        case "measure_sparse":
            from jobs.problem6.measure_sparse import measure_sparse

            measure_sparse(student, args.submission or STARTER, out)
        case "practice_monitor":
            from jobs.problem6.practice import practice_monitor

            practice_monitor(student, out)
        case "dashboard":
            from jobs.problem6.dashboard import dashboard

            dashboard(student, out)
        case "debug_exploding" | "debug_repetition" | "debug_slow":
            from jobs.problem6.broken_training import write_page

            name = args.target.removeprefix("debug_")
            sections = importlib.import_module(f"jobs.problem6.{name}").run(student, args.seed)
            write_page(SMALL[args.target], args.seed, sections, out)


def say_what_is_ignored(args: argparse.Namespace) -> None:
    """Print a sentence about the given options that this target ignores."""
    given = {
        "--preset": args.preset,
        "--device": args.device and args.device != "cpu",
        "--gold": args.gold,
        "--compile": args.compile,
        "--resume": args.resume,
        "--log": args.log,
    }
    if args.target not in ("encoder_report", "show_corruption"):
        given["--data"] = args.data
    if SMALL[args.target].writes is None:
        given["--out"] = args.out
    if ignored := [name for name, value in given.items() if value]:
        print(
            f"{args.target} has one size, runs on the CPU and always starts from scratch: "
            f"{', '.join(ignored)} {'makes' if len(ignored) == 1 else 'make'} no difference."
        )


def find_occupations(data: Path | None) -> Path:
    """The folder with the occupations: in --data, beside it, or the assignment's own."""
    if data is not None and not data.is_dir():
        raise UserError(f"--data {data} is not a folder.")
    places = [ROOT / "data"] if data is None else [data, data.resolve().parent, ROOT / "data"]
    folder = next(
        (place / "occupations" for place in places if (place / "occupations").is_dir()), None
    )
    if folder is None:
        raise UserError(
            f"There is no folder occupations in {' or '.join(map(str, places))}. Check --data."
        )
    return folder
