"""Runs a target of problem 6."""

import argparse
import importlib
from pathlib import Path

from jobs.options import STARTER
from jobs.problem6.broken_training import write_page
from jobs.problem6.dashboard import dashboard
from jobs.problem6.measure_sparse import measure_sparse
from jobs.problem6.positions import plot_positions
from jobs.problem6.practice import practice_monitor
from jobs.targets import TARGETS


def run(args: argparse.Namespace, student, out: Path) -> None:
    """Run the target `args.target` with the file that it calls, a module; out: for results."""
    match args.target:
        case "plot_positions":
            plot_positions(student, out, args.seed)
        case "measure_sparse":
            measure_sparse(student, args.submission or STARTER, out)
        case "practice_monitor":
            practice_monitor(student, out)
        case "dashboard":
            dashboard(student, out)
        case target:  # debug_...
            module = importlib.import_module(f"jobs.problem6.{target.removeprefix('debug_')}")
            write_page(TARGETS[target], args.seed, module.run(student, args.seed), out)
