"""The commands of `python -m instructor`: for each, the module with its run(args), what it does,
and its arguments.
"""

import argparse
import importlib
from pathlib import Path

from checks.support.context import GRADED
from common.command_line import number
from instructor import ROOT
from instructor.course import SETTINGS
from instructor.datasets.worlds.editions import TRACES
from instructor.datasets.worlds.world import SIZES
from instructor.grading.gradescope.build import SECONDS
from instructor.grading.similar import THRESHOLD


def _option(*names, **settings):
    return names, settings


_CHECK = _option("--check", action="store_true", help="only compare; exit 1 if they differ")
_CLASS = _option("folder", type=Path, metavar="CLASS", help="the folder of the class")

RELEASE = {
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
}

DATA = {
    "data": (
        "datasets.worlds.editions",
        "rebuild data/: both worlds and the data of problem 5, with their answers",
        [],
    ),
    "world": (
        "datasets.worlds.world",
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
    "check-data": (
        "datasets.check_data",
        "check a corpus: people in two splits, leaked answers, places, baseline",
        [
            _option("data", type=Path, help="the folder of wiki.txt and the questions"),
            _option("--gold", type=Path, help="the folder of birth_test.tsv, to check it, too"),
            _option(
                "--preset",
                choices=("laptop", "gpu"),
                default="gpu",
                help="texts must fit into its block (default: gpu)",
            ),
        ],
    ),
    "traces": (
        "datasets.traces.command",
        "make the recorded traces that 6f is graded with (some minutes)",
        [
            _option("--seed", type=int, default=TRACES, help="draws the traces"),
            _option(
                "--practice",
                action="store_true",
                help="make the six in data/traces instead (a minute)",
            ),
            _option(
                "--gold",
                type=Path,
                default=ROOT / "instructor" / "gold",
                help="the folder of the test answers",
            ),
        ],
    ),
}

GRADING = {
    "gradescope": (
        "grading.gradescope.build",
        "build the upload autograder for Gradescope, a zip",
        [
            _option("out", type=Path, metavar="OUT.zip"),
            _option(
                "--preset",
                choices=GRADED,
                help="preset of all results (default: detected from their sizes)",
            ),
            _option(
                "--data",
                type=Path,
                help="a cohort's own corpus and questions (with --preset and --gold)",
            ),
            _option("--gold", type=Path, help="the folder of the answers to the test questions"),
            _option(
                "--hidden-visibility",
                choices=("visible", "after_due_date", "after_published", "hidden"),
                default="after_due_date",
                help="when students see whether hidden checks passed (default: after_due_date)",
            ),
            _option(
                "--no-leaderboard",
                dest="leaderboard",
                action="store_false",
                help="leave out the leaderboard of dev accuracies",
            ),
            _option(
                "--seed",
                type=int,
                help="keep it secret: the inputs of all checks depend on it (default: random)",
            ),
            _option(
                "--seconds",
                type=number(10, 3500, kind=int),
                default=SECONDS,
                help=f"for all checks (default: {SECONDS})",
            ),
        ],
    ),
    "grade": (
        "grading.command",
        "grade a class. CLASS is its folder, outside of the submissions: settings.toml says what "
        "to grade and how, overrides.csv, requests.csv and written/MARKER.csv have what people "
        "decide, and all else is written anew by each run. The first run makes these files. If "
        "interrupted, run the same command again to continue",
        [
            _CLASS,
            _option(
                "--again",
                nargs="*",
                metavar="PERSON CHECK",
                help="grade again: everybody, one person, one check or question, or both",
            ),
            _option(
                "--only",
                action="store_true",
                help="count only what is there now, although people have lost their submission "
                "since the last run",
            ),
            _option(
                "--allow-weak-isolation",
                action="store_true",
                help="grade even without isolation (docs/security.md)",
            ),
            _option(
                "--cluster",
                metavar="SCHEDULER",
                help="grade on the workers of a Dask cluster: tls://HOST:PORT, tcp://HOST:PORT, or "
                "a scheduler file",
            ),
        ],
    ),
    "explain": (
        "grading.explain",
        "say how a person's grade comes about, or what one check found, in full",
        [
            _CLASS,
            _option(
                "person", metavar="PERSON", help="an id, or a name with its words in any order"
            ),
            _option(
                "check",
                metavar="CHECK",
                nargs="?",
                default="",
                help="such as 1h-5-hidden; or a question",
            ),
        ],
    ),
    "viva": (
        "grading.viva",
        "write questions for a short talk with people about their own code: CLASS/viva",
        [
            _CLASS,
            _option("person", nargs="?", help="an id or a name (default: everybody)"),
            _option("--questions", type=number(1, kind=int), default=3, help="default: 3"),
            _option("--seed", help="draws other questions (default: the same in each run)"),
        ],
    ),
    "similar": (
        "grading.similar",
        "find submissions whose own code looks alike, equal files, and nearly equal weights: "
        "CLASS/similar.html",
        [
            _CLASS,
            _option(
                "--threshold",
                type=number(0, 1),
                default=THRESHOLD,
                help=f"list pairs above this similarity, from 0 to 1 (default: {THRESHOLD})",
            ),
        ],
    ),
}


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Parse a command line; the result's `run` is the command's function.

    Args:
        words: the command and its arguments, by default this program's.
    """
    parser = argparse.ArgumentParser(
        prog="python -m instructor", description="Commands for instructors."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (module, text, options) in {**RELEASE, **DATA, **GRADING}.items():
        description = f"{text[0].upper()}{text[1:]}."
        command = commands.add_parser(name, help=text.split(". ")[0], description=description)
        for names, settings in options:
            command.add_argument(*names, **settings)
        command.set_defaults(run=_runner(module))
    return parser.parse_args(words)


def _runner(module):
    return lambda args: importlib.import_module(f"{__package__}.{module}").run(args)
