"""The instructor's command line: `python -m instructor COMMAND`."""

import os
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

    from instructor.course import SETTINGS
    from instructor.datasets.worlds.world import SIZES
except UserError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
except KeyboardInterrupt:  # in the first second of a command
    print("Interrupted.", file=sys.stderr)
    sys.exit(130)

MODULES = (
    "datasets.check_data",
    "datasets.traces.command",
    "grading.gradescope.build",
    "grading.command",
    "grading.explain",
    "grading.similar",
    "grading.viva",
)  # each adds a command


def world(args: argparse.Namespace) -> int:
    """Make a world of invented people."""
    from instructor.datasets.worlds.world import make_world, statistics, write_world

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
    from instructor.datasets.worlds.editions import write_data

    write_data()
    print("Wrote data/, the answers in instructor/gold/, and the solution of 5a")
    return 0


def main() -> int:
    """Parse the command line and run a command; returns the exit code."""
    try:
        args = _parse()
        code = args.run(args)
        sys.stdout.flush()
        return code
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # whoever reads, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


def _option(*names, **settings):
    return names, settings


_CHECK = _option("--check", action="store_true", help="only compare; exit 1 if they differ")
# Commands: the module whose run(args) they are, or a function; their help; their arguments
COMMANDS = {
    "starter": ("release.starter", "generate src/submission from the reference solution", [_CHECK]),
    "cases": (
        "release.cases",
        "bring src/checks/cases, which students' checks compare with, up to date: inputs, and what "
        "the solution and known mistakes reply",
        [
            _CHECK,
            _option(
                "--secret",
                type=int,
                metavar="SEED",
                help="write staff's rounds instead, drawn from this seed: keep it secret",
            ),
        ],
    ),
    "documents": (
        "documents",
        "update generated tables in README.md and docs/, and those pages of docs/site whose text "
        "has changed (a minute; the handout needs TeX Live and pandoc)",
        [_CHECK],
    ),
    "latex": (
        "documents.sources",
        "write the handout of a course as one LaTeX file",
        [
            _option("out", type=Path, help="the .tex file to write"),
            _option("--course", type=Path, default=SETTINGS, help="by default course.toml"),
            _option("--rubrics", type=Path, help="the folder of answers, to put them in"),
            _option("--sheet", action="store_true", help="the sheet for written answers instead"),
        ],
    ),
    "release": (
        "release.command",
        "make the students' copy by course.toml, the folder OUT and OUT.zip. It is scanned for "
        "leaks and tested: its commands work, the starter scores 0, and the reference gets full "
        "points",
        [
            _option("out", type=Path, metavar="OUT", help="the folder to make"),
            _option(
                "--cohort",
                type=int,
                metavar="SEED",
                help="make new people, corpora and questions. Anyone with the seed and this "
                "repository can work out the answers",
            ),
            _option(
                "--gold",
                type=Path,
                metavar="DIR",
                help="with --cohort: the folder to make for the answers to its test questions",
            ),
            _option(
                "--no-handout",
                dest="handout",
                action="store_false",
                help="omit the handout, which needs TeX Live and pandoc",
            ),
            _option(
                "--no-proof",
                dest="proof",
                action="store_false",
                help="scan for leaks, but test nothing",
            ),
        ],
    ),
    "reference": (
        "release.keep_results",
        "save the results of ./run.sh demo --out FOLDER with the reference",
        [_option("folder", type=Path, metavar="FOLDER", help="the folder of that demo")],
    ),
    "lock": (
        "lock",
        "make requirements*.lock anew from pyproject.toml; needs uv",
        [
            _option(
                "--upgrade", action="store_true", help="take the newest versions of what has no pin"
            )
        ],
    ),
    "data": (data, "rebuild data/: both worlds and the data of problem 5, with their answers", []),
    "world": (
        world,
        "make a world for another cohort",
        [
            _option("--seed", type=int, required=True, help="draws the people; keep it secret"),
            _option(
                "--size", choices=SIZES, default="full", help="as in data/ or data/laptop/ (full)"
            ),
            _option("--out", type=Path, required=True, help="folder for corpus and questions"),
            _option(
                "--gold",
                type=Path,
                required=True,
                help="folder for the answers, away from students",
            ),
        ],
    ),
}


def _parse(words=None):
    parser = argparse.ArgumentParser(
        prog="python -m instructor", description="Commands for instructors."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (run, text, options) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text)
        for names, settings in options:
            command.add_argument(*names, **settings)
        command.set_defaults(run=_runner(run) if isinstance(run, str) else run)
    for module in MODULES:
        importlib.import_module(f"{__package__}.{module}").add_parser(commands)
    return parser.parse_args(words)


def _runner(module):
    return lambda args: importlib.import_module(f"{__package__}.{module}").run(args)


if __name__ == "__main__":
    # so that temporary folders are removed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
