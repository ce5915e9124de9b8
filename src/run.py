"""The command line of the assignment: `python src/run.py TARGET [options]`, or shorter `./run.sh TARGET [options]`.

A mistake that the user can mend ends with a sentence and exit code 2; a part of the submission that is not implemented
yet with its name and exit code 3. In both cases no result is written.
"""
import argparse
import difflib
import re
import sys
import traceback
from pathlib import Path

from files import UserError
from jobs import JOBS
from parallel import in_silence, is_first, launch, world_size
from presets import PRESETS

ROOT = Path(__file__).resolve().parents[1]

ENCODER_JOBS = ("encoder_scaling", "encoder_copy", "encoder_report")        # of problem 5: encoder_jobs.py
PRACTICE_JOBS = ("plot_positions", "debug_exploding", "debug_repetition", "debug_slow", "dashboard")        # of 6: practice_jobs.py

HELP = """usage: ./run.sh TARGET [options]

Jobs, in their order (the results go into src/submission/):
{jobs}

More targets:
  all      the eleven jobs, one after the other
  demo     the same in a fresh folder, then a table, a plot and summary.json; minutes on a CPU
{test}  help     this text

Problem 5 (no part of `all` and `demo`; one size, on a CPU; options: --submission, --out, --seed, and --data for the report):
  encoder_scaling  the table and the plot of 5b: softmax with and without scale
  encoder_copy     the sanity check of 5f: can your encoder learn to copy?
  encoder_report   trains the encoders of 5g; writes encoder.params and encoder_report.html

Problem 6 (no part of `all` and `demo`; one size, on a CPU; options: --submission, --out, --seed):
  plot_positions   the picture of 6c, and its claims in numbers
  debug_exploding, debug_repetition, debug_slow    the three set-ups of 6e, before and after your fixes
  dashboard        a page from the newest log that a training kept with --log, and your alarms

Options:
  --preset laptop|gpu    sizes of model and training (default: gpu where there is a CUDA GPU, else laptop; demo: laptop)
  --data DIR             wiki.txt, birth_places_train.tsv, ... (default: the data that belongs to the preset)
  --submission DIR       the code to run (default: src/submission)
  --out DIR              where results go and are looked for (default: the submission's folder)
  --gold DIR             where birth_test.tsv is, for those who may know the test answers
  --device cpu|cuda|mps  where to compute (default: cuda where there is one, else cpu)
  --seed N               seed of all random numbers (default: 0)
  --compile              torch.compile the model (--no-compile: don't; the default)
  --no-graphs            on a GPU: run each operation by itself, not recorded steps; slower, but what Python does in a model (print,
                         counting, random) is done in each step, not in the first ones alone
  --nproc N              train in N processes, a GPU or a share of the cores each, without recorded steps (default: 1)
  --resume               go on where an interrupted run left off; `all` and `demo` skip the jobs that are done
  --log                  a training keeps a log, runs/TARGET.jsonl, which `dashboard` shows; it takes a tenth longer
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are UserErrors."""

    def error(self, message):
        """Raise UserError instead of printing a usage text and exiting."""
        raise UserError(f"{message[0].upper()}{message[1:]}. ./run.sh help lists the options.")


def seed(text: str) -> int:
    """A seed: a whole number that torch takes."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"a seed is a whole number from 0 to {2**63 - 1}, not {text!r}")
    return int(text)


def processes(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"a number of processes is a whole number from 1 to 1024, not {text!r}")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """The parser of every option above; defaults that depend on the machine are None."""
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("target", nargs="?", default="help")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--preset", choices=PRESETS)
    for name in ("--data", "--submission", "--out", "--gold"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--device")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--graphs", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--nproc", type=processes, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--check", action="store_true")     # for run.sh: only look at the command line
    return parser


def check_target(target: str) -> None:
    """Raise UserError, with the nearest names, unless `target` is one that this file runs."""
    known = [*JOBS, *ENCODER_JOBS, *PRACTICE_JOBS, "all", "demo"]
    if target == "test":
        raise UserError("`test` comes first and takes pytest's options: ./run.sh test")
    if target not in known:
        near = difflib.get_close_matches(target, [*known, "test", "help"], n=3, cutoff=0.5)
        advice = f"Did you mean {' or '.join(near)}?" if near else "./run.sh help lists the targets."
        raise UserError(f"There is no target '{target}'. {advice}")


def choose_device(wanted: str | None) -> str:
    """The device to compute on; raises UserError if the wanted one is not there."""
    import torch
    if wanted is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind = wanted.split(":")[0] if wanted.startswith("cuda") else wanted
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(kind, False):
        raise UserError(f"--device {wanted}: torch {torch.__version__} finds no such device here. "
                        f"There is: {', '.join(name for name in there if there[name])}.")
    try:
        torch.empty(1, device=wanted)
    except (RuntimeError, AssertionError):
        raise UserError(f"--device {wanted}: there is no device of that number.") from None
    return wanted


def choose_options(args: argparse.Namespace, own: str | None = None):
    """Fill in the defaults, and say which preset was chosen and why; returns execute.Options. `own` is a target's own default preset."""
    from execute import Options
    device = choose_device(args.device)
    name = args.preset or own or ("gpu" if device.startswith("cuda") else "laptop")
    why = "as asked" if args.preset else f"{f'that of {args.target}' if own else f'since the device is {device}'}; --preset chooses"
    preset = PRESETS[name]
    submission = args.submission or ROOT / "src" / "submission"
    options = Options(preset=preset, data=args.data or ROOT / "data" / preset.data, submission=submission,
                      out=args.out or submission, gold=args.gold, device=device, seed=args.seed, compile=args.compile,
                      resume=args.resume, log=args.log, graphs=args.graphs)
    if world_size() == 1:
        print(f"Preset {name} ({why}), data from {options.data}", flush=True)
    return options


def run(args: argparse.Namespace) -> None:
    """Run the target that the command line names."""
    check_target(args.target)
    if args.check:
        print("The command line is right.")
        return
    trains = args.target in JOBS and JOBS[args.target].kind != "evaluate"
    if args.nproc > 1 and not trains and args.target != "all":
        raise UserError(f"--nproc is for trainings and `all`; {args.target} runs in one process. Leave it out.")
    if world_size() > 1 and not trains:
        raise UserError(f"torchrun is for one training at a time; {args.target} is started by itself: ./run.sh {args.target}")
    if args.target == "demo":
        from demo import run_demo
        run_demo(args)
        return
    if args.target in ENCODER_JOBS:
        from encoder_jobs import run_encoder_job
        run_encoder_job(args)
        return
    if args.target in PRACTICE_JOBS:
        from practice_jobs import run_practice_job
        run_practice_job(args)
        return
    from execute import run_job
    options = choose_options(args)
    for job in JOBS.values() if args.target == "all" else [JOBS[args.target]]:
        if args.target == "all" and args.resume and is_done(job, options):
            print(f"\n{job.target} is done: {options.out / job.writes} is there")
            continue
        if args.nproc > 1 and job.kind != "evaluate":
            if code := launch(args.nproc, [job.target, *as_arguments(options)]):
                sys.exit(code)          # the process has said why
            continue
        print(f"\n{job.target}", flush=True)
        run_job(job, options)


def as_arguments(options) -> list[str]:
    """Options as arguments of the command line."""
    arguments = ["--preset", options.preset.name, "--device", options.device, "--seed", str(options.seed)]
    for name in ("data", "submission", "out", "gold"):
        if (path := getattr(options, name)) is not None:
            arguments += [f"--{name}", str(path)]
    arguments += [f"--{name}" for name in ("compile", "resume", "log") if getattr(options, name)]
    return arguments if options.graphs else [*arguments, "--no-graphs"]


def is_done(job, options) -> bool:
    """Whether a job's result is there, newer than the code, the data and the weights that it comes from, and the job
    is not one that was begun again and interrupted (which leaves a checkpoint)."""
    result = options.out / job.writes
    if not result.exists() or result.with_suffix(".ckpt").exists():
        return False
    sources = [*options.submission.glob("*.py"), *options.data.glob("*.t*")]
    if job.reads:
        sources.append(options.out / job.reads)
    return all(source.exists() and source.stat().st_mtime <= result.stat().st_mtime for source in sources)


def where_to_look(error: NotImplementedError) -> str:
    """The file and line of the place that is not implemented yet."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.filename}, line {frame.lineno}"


def main() -> int:
    """Run the command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")      # a Windows console may not know every letter
    try:
        args = build_parser().parse_args()
        if args.help or args.target == "help":
            test = "  test     the project's tests\n" if (ROOT / "tests").is_dir() else ""       # students don't have them
            print(HELP.format(jobs="\n".join(f"  {target}" for target in JOBS), test=test))
        elif not is_first():
            with in_silence():
                run(args)
        else:
            run(args)
    except UserError as error:
        print(f"\n{error}", file=sys.stderr)
        return error.exit_code
    except NotImplementedError as error:
        if not re.match(r"\d\w+: ", str(error)):      # not one of our stubs: torch lacks an operator, say
            raise
        print(f"\nNot implemented yet: {error}\nWhere: {where_to_look(error)}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
