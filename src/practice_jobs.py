"""The jobs of problem 6: plot_positions, debug_exploding, debug_repetition, debug_slow and dashboard. They call the student's
positions.py, fixes.py and diagnostics.py, have one size whatever the preset, and run on the CPU."""
import argparse
from pathlib import Path

import torch

from encoder_jobs import load, say_what_is_ignored
from execute import seed_everything
from files import Interrupted

ROOT = Path(__file__).resolve().parents[1]


def run_practice_job(args: argparse.Namespace) -> None:
    """Run the job that the command line names.

    Raises:
        UserError: as execute.run_job; or what the student's function returned is not what the question asks for.
        NotImplementedError: a part of the submission is missing.
    """
    say_what_is_ignored(args)
    submission = args.submission or ROOT / "src" / "submission"
    out = args.out or submission
    torch.set_num_threads(1)
    seed_everything(args.seed)
    try:
        if args.target == "plot_positions":
            from positions_plot import plot_positions
            plot_positions(load(submission, "positions"), out, args.seed)
        elif args.target == "dashboard":
            from dashboard import dashboard
            dashboard(load(submission, "diagnostics"), out)
        else:
            from debugging import CASES
            CASES[args.target](load(submission, "fixes"), args.seed)
    except KeyboardInterrupt:
        raise Interrupted(f"{args.target} was interrupted; it wrote nothing. The same command begins again.") from None
