"""Runs a target of problem 6."""

import argparse
import importlib
from pathlib import Path

from jobs.options import STARTER
from jobs.targets import SMALL


def run(args: argparse.Namespace, student, out: Path) -> None:
    """Run the target `args.target`.

    Args:
        args: the command line.
        student: the file of the submission that the target calls, as a module.
        out: the folder for results.
    """
    match args.target:
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
