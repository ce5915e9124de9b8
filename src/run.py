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
from jobs.errors import explain
from jobs.options import ROOT
from jobs.parallel import in_silence, is_first, world_size
from jobs.presets import PRESETS
from jobs.targets import JOBS, LOOK, TARGETS

OPTIONS = {
    "submission": "the code to run (default: src/submission)",
    "out": "where results are written and read (default: the submission's folder)",
    "seed": "seed of all random numbers (default: 0)",
}
OF_JOBS = {
    "data": "the folder of wiki.txt, birth_places_train.tsv, ... (default: the preset's)",
    "preset": "size of the model and training (default: gpu with a CUDA GPU, else laptop; demo: "
    "laptop)",
    "gold": "where birth_test.tsv is, the test answers, for staff",
    "device": "where to compute (default: cuda if available, else cpu); mps is Apple's GPU",
    "precision": "of matrix products in training (default: auto: bf16 or fp16 on GPUs that are "
    "fast at it, else fp32)",
    "no-graphs": "on a GPU: don't use CUDA graphs. Slower, but Python code in a model (print, "
    "counting, random) runs in every step, not only in the first ones",
    "jobs": "`all` and `demo`: run up to N jobs at the same time (default: as many as there are "
    "cores, with the preset laptop on a CPU; else 1); the results are the same",
    "resume": "continue an interrupted run; skip the jobs that are done",
    "log": "log the training to runs/TARGET.jsonl, with what the model knows every 250 steps; "
    "takes an eighth longer, on a GPU perhaps a quarter",
}


def list_targets() -> str:
    """The targets that this copy has, for the help."""
    sections, more, apart = {}, {}, ""
    if JOBS:
        sections["Jobs, in order (results go into src/submission/)"] = dict.fromkeys(JOBS, "")
        alike = "then a table, a plot and summary.json; minutes on a CPU"
        more = {"all": "the eleven jobs in order", "demo": f"the same in a new folder, {alike}"}
        more[LOOK.target] = LOOK.does
        apart = "not in `all` or `demo`; "
    more["python"] = "the environment's Python: ./run.sh python src/grader.py"
    if (ROOT / "tests").is_dir():  # students don't have them
        more["test"] = "the project's tests"
    sections["More targets"] = more | {"help": "this text"}
    for name, target in TARGETS.items():
        if target.calls:
            title = f"Problem {target.question[0]} ({apart}one size, on the CPU)"
            sections.setdefault(title, {})[name] = target.does
    lines = []
    for title, targets in sections.items():
        lines += [f"{title}:", *(f"  {name:<16} {does}" for name, does in targets.items()), ""]
    return "\n".join(map(str.rstrip, lines))


def build_parser() -> argparse.ArgumentParser:
    """The parser, whose help lists what this copy has; defaults that depend on the machine are
    None.
    """
    parser = Parser(
        usage="./run.sh TARGET [options]",
        description=list_targets(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    reading = " and ".join(name for name, target in TARGETS.items() if target.data)
    of_all = parser.add_argument_group("Options")
    of_jobs = parser.add_argument_group(f"Options of jobs ({reading}: --data, too)")
    if JOBS:
        shown = OPTIONS | OF_JOBS
    else:
        shown = OPTIONS | ({"data": f"the folder of the data, for {reading}"} if reading else {})

    def add(name, **how):
        """Those of jobs are known in a copy without them, too, where they make no difference."""
        group = of_jobs if name in OF_JOBS and JOBS else of_all
        group.add_argument(f"--{name}", help=shown.get(name, argparse.SUPPRESS), **how)

    parser.add_argument("target", nargs="?", default="help", help=argparse.SUPPRESS)
    parser.add_argument("-h", "--help", action="store_true", help=argparse.SUPPRESS)
    for name in ("submission", "out", "data", "gold"):
        add(name, type=Path, metavar="DIR")
    add("seed", type=seed, default=0, metavar="N")
    add("preset", choices=PRESETS, metavar="laptop|gpu")
    add("device", metavar="cpu|cuda|mps")
    precisions = ("auto", "bf16", "fp16", "fp32")
    add("precision", choices=precisions, default="auto", metavar="|".join(precisions))
    add("no-graphs", dest="graphs", action="store_false")
    add("jobs", type=number(1, 1024, int), metavar="N")
    for name in ("resume", "log", "check"):  # --check, for run.sh: only check the command line
        add(name, action="store_true")
    add("part", type=number(1, 1024, int))  # of `all`: the threads of one of its jobs
    return parser


def run(args: argparse.Namespace) -> None:
    """Run the target that the command line names.

    Raises:
        UserError: there is no such target, or an option that it does not have; or as the target.
    """
    known = [*TARGETS, *(["all", "demo"] if JOBS else [])]
    if args.target in ("test", "python"):
        raise UserError(
            f"`{args.target}` must come first: ./run.sh {args.target}, then its own arguments."
        )
    if args.target not in known:
        listed = "./run.sh help lists the targets."
        advice = did_you_mean(args.target, [*known, "test", "python", "help"], listed)
        raise UserError(f"There is no target '{args.target}'. {advice}")
    if args.check:
        return
    require_packages("torch", "numpy", "tqdm")
    if args.jobs is not None and args.target not in ("all", "demo"):
        raise UserError(f"--jobs is for `all` and `demo`; {args.target} is one job. Leave it out.")
    trains = args.target in JOBS and JOBS[args.target].kind != "evaluate"
    if world_size() > 1 and not trains:
        raise UserError(
            f"torchrun is for one training at a time; start {args.target} without it: ./run.sh "
            f"{args.target}"
        )
    if args.target in TARGETS and TARGETS[args.target].calls:
        from jobs.small import run_small

        run_small(args)
        return
    problem = next(iter(JOBS.values())).question[0]
    importlib.import_module(f"jobs.problem{problem}.run").run_jobs(args)


def main() -> int:
    """Run the command line; returns the exit code."""
    use_utf8()
    try:
        parser = build_parser()
        args = parser.parse_args()
        if args.help or args.target == "help":
            print(parser.format_help(), flush=True)
        else:
            with contextlib.nullcontext() if is_first() else in_silence():
                run(args)
    except (Exception, KeyboardInterrupt) as error:
        told = explain(error)
        # the submission's code may have broken pipes of its own
        if isinstance(error, BrokenPipeError):
            try:
                print(flush=True)
            except BrokenPipeError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                told = UserError("Nobody reads any more what this prints, so it ended.", 1)
        print(f"\n{told}", file=sys.stderr)
        return told.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
