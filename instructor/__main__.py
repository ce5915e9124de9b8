"""The instructor's command line: `python -m instructor COMMAND`."""

import signal
import sys

from common.command_line import require_packages, use_utf8
from common.files import UserError

use_utf8()
try:
    require_packages("torch", "numpy", "tqdm", "jinja2", "yaml", install="[instructor]")

    import argparse
    import importlib
    from pathlib import Path

    from instructor.datasets.worlds.editions import write_data
    from instructor.datasets.worlds.world import SIZES, make_world, statistics, write_world
    from instructor.release.starter import find_drift, write_starter
except UserError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
except KeyboardInterrupt:  # in the first second of a command
    print("Interrupted.", file=sys.stderr)
    sys.exit(130)

MODULES = (
    "release.command",
    "release.cases",
    "release.answer_sheet",
    "documents",
    "documents.sources",
    "datasets.check_data",
    "datasets.traces.command",
    "lock",
    "grading.gradescope.build",
    "grading.command",
    "grading.explain",
    "grading.similar",
    "grading.viva",
)  # each adds a command


def starter(args: argparse.Namespace) -> int:
    """Generate src/submission, or check that it is up to date."""
    if not args.check:
        write_starter()
        print("Wrote src/submission")
        return 0
    drift = find_drift()
    if drift:
        print("\n".join(drift))
        print(
            "\nsrc/submission is not up to date. Edit instructor/solution, then: python -m "
            "instructor starter"
        )
        return 1
    print("src/submission is up to date.")
    return 0


def world(args: argparse.Namespace) -> int:
    """Make a world of invented people."""
    if args.gold.resolve().is_relative_to(args.out.resolve()):
        raise UserError(
            "--gold must not be inside --out: students get that folder. Nothing was written."
        )
    people, documents = make_world(args.seed, SIZES[args.size])
    write_world(people, documents, args.out, args.gold)
    print("\n".join(f"{name}: {value}" for name, value in statistics(people, documents).items()))
    print(f"Wrote {args.out}; the test answers are in {args.gold / 'birth_test.tsv'}")
    return 0


def data(args: argparse.Namespace) -> int:
    """Rebuild data/ and the gold answers that belong to it."""
    write_data()
    print("Wrote data/, the answers in instructor/gold/, and the solution of 5a")
    return 0


def reference(args: argparse.Namespace) -> int:
    """Save the results of a demo with the reference."""
    # imports torch, which the other commands don't need
    from instructor.release.keep_results import keep_results

    keep_results(args.folder)
    return 0


def main() -> int:
    """Parse the command line and run a command; returns the exit code."""
    try:
        args = _parse()
        return args.run(args)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def _parse(words=None):
    parser = argparse.ArgumentParser(
        prog="python -m instructor", description="Commands for instructors."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "starter", help="generate src/submission from the reference solution"
    )
    command.add_argument("--check", action="store_true", help="only compare; exit 1 if they differ")
    command.set_defaults(run=starter)
    command = commands.add_parser("world", help="make a world for another cohort")
    command.add_argument(
        "--seed", type=int, required=True, help="draws the people; keep it away from students"
    )
    command.add_argument(
        "--size", choices=SIZES, default="full", help="as in data/ or data/laptop/ (default: full)"
    )
    command.add_argument(
        "--out", type=Path, required=True, help="folder for the corpus and the questions"
    )
    command.add_argument(
        "--gold", type=Path, required=True, help="folder for the test answers, away from students"
    )
    command.set_defaults(run=world)
    command = commands.add_parser(
        "data", help="rebuild data/: both worlds and the data of problem 5, with their answers"
    )
    command.set_defaults(run=data)
    command = commands.add_parser(
        "reference", help="save the results of ./run.sh demo --out FOLDER with the reference"
    )
    command.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of that demo")
    command.set_defaults(run=reference)
    for module in MODULES:
        importlib.import_module(f"{__package__}.{module}").add_parser(commands)
    return parser.parse_args(words)


if __name__ == "__main__":
    # so that temporary folders are removed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
