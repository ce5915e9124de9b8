"""The targets that are no jobs: each calls one of the student's files, has one size, and runs on
the CPU.
"""

import argparse
import importlib
import traceback

import torch

from common.files import Interrupted, UserError
from jobs.options import STARTER
from jobs.package import load_submission, seed_everything
from jobs.targets import TARGETS


def run_small(args: argparse.Namespace) -> None:
    """Run the target that the command line names.

    Raises:
        UserError: as load_submission; or the student's file raised an error, lacks something, or
            returned something invalid.
        NotImplementedError: a part of the submission is missing.
    """
    target, submission = TARGETS[args.target], args.submission or STARTER
    given = {
        "--preset": args.preset,
        "--device": args.device and args.device != "cpu",
        "--gold": args.gold,
        "--precision": args.precision != "auto",
        "--resume": args.resume,
        "--log": args.log,
        "--data": args.data and not target.data,
        "--out": args.out and not target.writes,
    }
    if ignored := [name for name, value in given.items() if value]:
        print(
            f"{args.target} has one size, runs on the CPU and always starts from scratch: "
            f"{', '.join(ignored)} {'makes' if len(ignored) == 1 else 'make'} no difference."
        )
    # matrices this small gain nothing from more, and lose much when other programs run
    torch.set_num_threads(1)
    seed_everything(args.seed)
    student = load_submission(submission, target.calls)
    try:
        runner = importlib.import_module(f"jobs.problem{target.question[0]}.run")
        runner.run(args, student, args.out or submission)
    except KeyboardInterrupt:
        raise Interrupted(
            f"{args.target} was interrupted; it wrote nothing. The same command starts again."
        ) from None
    except (NotImplementedError, UserError):
        raise
    except Exception as error:
        if isinstance(error, AttributeError) and error.obj is student:
            raise UserError(f"{student.__file__} has no {error.name}. Restore it.") from None
        frames = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in frames if frame.filename == student.__file__]
        if not frames:
            raise
        raise UserError(
            f"{student.__file__}, line {frames[-1].lineno}, in {frames[-1].name}:\n"
            f"    {frames[-1].line}\n{type(error).__name__}: {error}"
        ) from None
