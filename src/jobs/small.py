"""The targets that are no jobs: each calls one of the student's files, has one size, and runs on
the CPU.
"""

import argparse
import importlib

import torch

from common.files import Interrupted
from jobs.options import STARTER
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
        problem = SMALL[args.target].question[0]
        runner = importlib.import_module(f"jobs.problem{problem}.run")
        runner.run(args, student, args.out or submission)
    except KeyboardInterrupt:
        raise Interrupted(
            f"{args.target} was interrupted; it wrote nothing. The same command starts again."
        ) from None


def say_what_is_ignored(args: argparse.Namespace) -> None:
    """Print a sentence about the given options that this target ignores."""
    given = {
        "--preset": args.preset,
        "--device": args.device and args.device != "cpu",
        "--gold": args.gold,
        "--precision": args.precision != "auto",
        "--resume": args.resume,
        "--log": args.log,
    }
    if not SMALL[args.target].data:
        given["--data"] = args.data
    if SMALL[args.target].writes is None:
        given["--out"] = args.out
    if ignored := [name for name, value in given.items() if value]:
        print(
            f"{args.target} has one size, runs on the CPU and always starts from scratch: "
            f"{', '.join(ignored)} {'makes' if len(ignored) == 1 else 'make'} no difference."
        )
