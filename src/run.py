"""The command line of the assignment: `python src/run.py TARGET [options]`, or `./run.sh TARGET
[options]`.

A user error prints a sentence and exits with code 2; an unimplemented part of the submission prints
its name and exits with code 3. In both cases no result is written.
"""

import argparse
import contextlib
import importlib
import os
import sys
from pathlib import Path

from common.command_line import Parser, did_you_mean, number, require_packages, seed, use_utf8
from common.files import UserError
from jobs.errors import explain, with_code
from jobs.options import ROOT
from jobs.parallel import in_silence, is_first, world_size
from jobs.presets import PRESETS
from jobs.targets import JOBS, LOOK, PROBLEMS, SMALL, TARGETS

HELP = """usage: ./run.sh TARGET [options]

{jobs}More targets:
{together}  python           the environment's Python: ./run.sh python src/grader.py
{test}  help             this text
{small}
Options:
  --submission DIR       the code to run (default: src/submission)
  --out DIR              where results are written and read (default: the submission's folder)
  --seed N               seed of all random numbers (default: 0)
{training}"""

TOGETHER = """\
  all              the eleven jobs in order
  demo             the same in a new folder, then a table, a plot and summary.json; minutes on a CPU
  {look}
"""

OF_JOBS = """\
  --preset laptop|gpu    size of the model and training (default: gpu with a CUDA GPU, else laptop;
                         demo: laptop)
  --data DIR             the folder of wiki.txt, birth_places_train.tsv, ... (default: the preset's)
  --gold DIR             where birth_test.tsv is, the test answers, for staff
  --device cpu|cuda|mps  where to compute (default: cuda if available, else cpu); mps is Apple's GPU
  --precision auto|bf16|fp16|fp32
                         of matrix products in training (default: auto: bf16 or fp16 on GPUs that
                         are fast at it, else fp32)
  --no-graphs            on a GPU: don't use CUDA graphs. Slower, but Python code in a model (print,
                         counting, random) runs in every step, not only in the first ones
  --jobs N               `all` and `demo`: run up to N jobs at the same time (default: as many as
                         there are cores, with the preset laptop on a CPU; else 1); the results are
                         the same
  --resume               continue an interrupted run; skip the jobs that are done
  --log                  log the training to runs/TARGET.jsonl, with what the model knows every 250
                         steps{shown}; takes an eighth longer, on a GPU perhaps a quarter
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser for the options above; defaults that depend on the machine are None."""
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("target", nargs="?", default="help")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--preset", choices=PRESETS)
    for name in ("--data", "--submission", "--out", "--gold"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--device")
    parser.add_argument("--precision", choices=("auto", "bf16", "fp16", "fp32"), default="auto")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--graphs", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--jobs", type=number(1, 1024, int))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--log", action="store_true")
    parser.add_argument(
        "--part", type=number(1, 1024, int), help=argparse.SUPPRESS
    )  # of `all`: its threads
    parser.add_argument("--check", action="store_true")  # for run.sh: only check the command line
    return parser


def check_target(target: str) -> None:
    """Raise UserError, with similar names, unless this file can run `target`."""
    known = [*TARGETS, *(["all", "demo"] if JOBS else [])]
    if target in ("test", "python"):
        raise UserError(f"`{target}` must come first: ./run.sh {target}, then its own arguments.")
    if target not in known:
        advice = did_you_mean(
            target, [*known, "test", "python", "help"], "./run.sh help lists the targets."
        )
        raise UserError(f"There is no target '{target}'. {advice}")


def run(args: argparse.Namespace) -> None:
    """Run the target that the command line names."""
    check_target(args.target)
    if args.check:
        return
    require_packages("torch", "numpy", "tqdm")
    trains = args.target in JOBS and JOBS[args.target].kind != "evaluate"
    if args.jobs is not None and args.target not in ("all", "demo"):
        raise UserError(f"--jobs is for `all` and `demo`; {args.target} is one job. Leave it out.")
    if world_size() > 1 and not trains:
        raise UserError(
            f"torchrun is for one training at a time; start {args.target} without it: ./run.sh "
            f"{args.target}"
        )
    if args.target in SMALL:
        from jobs.small import run_small

        run_small(args)
        return
    problem = next(iter(JOBS.values())).question[0]
    importlib.import_module(f"jobs.problem{problem}.run").run_jobs(args)


def help_text() -> str:
    """The help: what this copy has."""
    sections, shown = [], " (see dashboard)" if "dashboard" in TARGETS else ""
    for digit, problem in PROBLEMS.items():
        of_it = [name for name in SMALL if SMALL[name].question[0] == digit]
        if of_it:
            apart = "not in `all` or `demo`; " if JOBS else ""
            sections += [
                "",
                f"Problem {digit} ({apart}one size, on the CPU;",
                f"options: {problem.options}):",
                *(f"  {name:<16} {SMALL[name].does}" for name in of_it),
            ]
    jobs = "\n".join(["Jobs, in order (results go into src/submission/):", *JOBS, "", ""])
    return HELP.format(
        jobs=jobs.replace("\n", "\n  ", len(JOBS)) if JOBS else "",
        together=TOGETHER.format(look=f"{LOOK.target:<16} {LOOK.does}") if JOBS else "",
        # students don't have them
        test="  test             the project's tests\n" if (ROOT / "tests").is_dir() else "",
        small="\n".join([*sections, ""]),
        training=OF_JOBS.format(shown=shown) if JOBS else "",
    )


def _is_unread():
    """Whether nobody reads what this prints, as when it is piped into head."""
    try:
        print(flush=True)
    except BrokenPipeError:
        return True
    return False


def main() -> int:
    """Run the command line; returns the exit code."""
    use_utf8()
    try:
        args = build_parser().parse_args()
        if args.help or args.target == "help":
            print(help_text())
        else:
            with contextlib.nullcontext() if is_first() else in_silence():
                run(args)
    except (Exception, KeyboardInterrupt) as error:
        told = explain(error)
        # the submission's code may have broken pipes of its own
        if isinstance(error, BrokenPipeError) and _is_unread():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            told = with_code(1, "Nobody reads any more what this prints, so it ended.")
        print(f"\n{told}", file=sys.stderr)
        return told.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
