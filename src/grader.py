"""Grade a submission: `python grader.py [ID ...]`, from any folder. `python grader.py --help` lists
the options.

Exit code 0: everything that ran passed, or with --summary is not written yet; 1: something failed;
2: a user error; 130: interrupted.
"""

import argparse
import contextlib
import os
import shlex
import signal
import sys
from pathlib import Path

SRC = Path(__file__).resolve().parent
ROOT = SRC.parent
if str(SRC) not in sys.path:
    sys.path.insert(0, str(SRC))

from common.command_line import Parser, did_you_mean, number, require_packages, seed, use_utf8
from common.cores import cores
from common.files import UserError, write_text
from jobs.targets import MADE_BY

HELP = """Grades the code in src/submission. An ID is a check, as --list names it (without -basic,
too), a question or a problem; without one, all checks run."""
SWITCHES = {
    "list": "list the checks and their points without running them",
    "no-artifacts": "leave out the checks of results; only grade the code",
    "watch": "grade again when a file of the submission is saved, and print what changed; Ctrl-C "
    "ends it",
    "next": "say which part to write next: file, line, and page of the handout",
    "allow-weak-isolation": "run hidden checks even if the code cannot be isolated",
    "debug": "run your code in the grader's own process: print output appears immediately, and "
    "breakpoint() works",
}
PATHS = {
    "submission": "the code to grade, a folder or a zip file (default: src/submission)",
    "artifacts": "where the results of ./run.sh are (default: the submission's folder)",
    "data": "the corpus and the questions (default: the preset's own data)",
    "gold": "the answers of the test questions, for staff",
    "json": "also write the result to a file",
    "summary": "also write points and failures to a file, in Markdown, as a Git host shows them "
    "after a push; then a part that is not written yet is no failure",
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = Parser(prog="python src/grader.py", description=HELP, allow_abbrev=False)
    parser.help_command = "python src/grader.py --help"
    parser.add_argument("ids", nargs="*", metavar="ID")
    for name, does in SWITCHES.items():
        parser.add_argument(f"--{name}", action="store_true", help=does)
    for name, says in PATHS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="PATH", help=says)
    add = parser.add_argument
    detected = "the preset of the results (default: detected from the number of predictions)"
    add("--preset", choices=("laptop", "gpu"), help=detected)
    add("--seed", type=seed, metavar="N", help="the random inputs of a run (default: new ones)")
    one_per_core = "how many checks run at a time (default: one per core, if there are many)"
    workers = number(1, kind=int)
    add("--workers", type=workers, metavar="N", default=cores(), help=one_per_core)
    return parser


def refuse_contradictions(args: argparse.Namespace) -> None:
    """Raise UserError for options that don't go together, and for a place that can't be written."""
    for option in ("watch", "next"):
        for other in ("list", "next", "debug", "json", "summary"):
            if getattr(args, option) and other != option and getattr(args, other):
                raise UserError(f"--{option} and --{other} don't go together. Leave one out.")
        if getattr(args, option) and args.submission and not args.submission.is_dir():
            raise UserError(
                f"--{option} needs a folder, and {args.submission} is none. Unpack a zip, or check "
                "--submission."
            )
    for option, path in (("--json", args.json), ("--summary", args.summary)):
        if path and path.is_dir():
            raise UserError(f"{path} is a folder. Check {option}, which needs a file.")
        if path and not path.absolute().parent.is_dir():
            raise UserError(f"{path.absolute().parent} is not a folder. Check {option}.")
    if args.artifacts and not args.artifacts.exists():
        raise UserError(f"{args.artifacts} does not exist. Check --artifacts.")


def choose_checks(args: argparse.Namespace, manifest) -> list:
    """The checks selected on the command line."""
    try:
        checks = manifest.select(args.ids)
    except KeyError as error:
        advice = did_you_mean(
            error.args[0], manifest.names(), "python src/grader.py --list shows them."
        )
        raise UserError(f"There is no check or question '{error.args[0]}'. {advice}") from None
    return [check for check in checks if not (args.no_artifacts and check.artifacts)]


def require_checks(args: argparse.Namespace, checks: list, hidden: bool) -> None:
    """Raise UserError if none of the checks runs in this copy."""
    if any(check.runs(hidden) for check in checks):
        return
    asked = ", ".join(args.ids)
    if not checks:
        raise UserError(f"--no-artifacts leaves out all of {asked}. Run it without.")
    raise UserError(
        f"{asked}: the checks are hidden, and run when your submission is graded."
        if any(check.coded for check in checks)
        else f"{asked}: graded by hand. There is nothing to run; the handout says what to write."
    )


def choose_setting(args: argparse.Namespace, submission: Path):
    """The Setting of a grading."""
    from checks.support.session import STAFF, Setting

    # this copy's reference is the user's own code: grade it at the strongest level that there is
    own = submission.resolve() == (STAFF / "solution").resolve()
    return Setting(
        hidden=(STAFF / "checks" / "secret.py").is_file(),
        gold=args.gold and args.gold.absolute(),
        results=args.artifacts or results_beside(submission),
        preset=args.preset,
        data=args.data and args.data.absolute(),
        weak=args.allow_weak_isolation or own,
        debug=args.debug,
        again=True,
        workers=args.workers,
    )


def run(args: argparse.Namespace, stream) -> int:
    """Do what the command line asks for, and write to `stream`; returns the exit code."""
    refuse_contradictions(args)
    if not __debug__:
        raise UserError(
            "Python runs with -O or PYTHONOPTIMIZE, which disables the assertions that checks "
            "need. Run it without."
        )
    require_packages("torch", "numpy", "tqdm")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # NumPy's; more only wait for the other processes
    from autograder import ManifestError, Outcome, read_manifest
    from autograder.report import Table
    from checks.support.next_part import describe, next_part
    from checks.support.session import MANIFEST

    try:
        manifest = read_manifest(MANIFEST)
    except ManifestError as error:
        said = str(error).removesuffix(".")
        raise UserError(f"{said}. Correct {MANIFEST}, or the problem's part of it.") from None
    checks = choose_checks(args, manifest)
    color = hasattr(stream, "isatty") and stream.isatty() and "NO_COLOR" not in os.environ
    table = Table(stream, manifest, color)
    submission = (args.submission or SRC / "submission").absolute()
    if args.list:
        questions = list(manifest.questions)
        # written parts are put with their question
        for check in sorted(checks, key=lambda check: questions.index(check.question)):
            table.line(Outcome(check.id))
        return 0
    if args.next:
        require_checks(args, checks, hidden=True)
        if part := next_part(submission, manifest, {check.question for check in checks}):
            text = describe(part, manifest, command_again(args, [part.question]))
        else:
            text = f"All parts are written. Next: {command_again(args, args.ids)}"
        table.write(text)
        return 0
    return 0 if grade(args, submission, checks, table) else 1


def grade(args: argparse.Namespace, submission: Path, checks: list, table) -> bool:
    """Grade and write the report; whether everything that ran passed."""
    from autograder import Outcome, draw_seed
    from autograder.report import (
        code_span,
        harmless,
        to_json,
        to_markdown,
        write_failures,
        write_summary,
    )
    from checks.support.next_part import advise
    from checks.support.session import GradingWorker, grade_submission
    from checks.support.watching import Files, watch

    setting = choose_setting(args, submission)
    require_checks(args, checks, setting.hidden)
    table.write(harmless(f"Grading {submission}"))
    if setting.results and not args.artifacts:
        selects = "(--artifacts DIR selects others)"
        table.write(harmless(f"with the results in {setting.results} {selects}"))
    questions = {table.manifest.questions[check.question] for check in checks}
    # to watch, one process with torch serves all gradings
    with GradingWorker(setting, questions) if args.watch else contextlib.nullcontext() as worker:

        def grade_with(seed, finished):
            return grade_submission(
                submission, checks, setting, seed, table.manifest, finished, worker
            )

        def repeat(ids, seed):
            return command_again(args, ids, seed)

        files = Files(submission) if args.watch else None  # what is saved from now on counts
        coded = [check for check in checks if check.coded]
        absent = {check.id: not check.runs(setting.hidden) for check in coded}
        rows = Rows(table, {id: Outcome(id) if absent[id] else None for id in absent})
        seed = draw_seed(secret=setting.hidden) if args.seed is None else args.seed
        report = grade_with(seed, rows.add)
        for id in [*rows.waiting]:
            rows.add(report.outcomes[id])
        if args.json:
            write_text(args.json, to_json(report))
        write_failures(report, table, lambda ids: repeat(ids, seed))
        write_summary(report, table)
        table.write("\n" + advise(report, submission, lambda ids: command_again(args, ids)))
        if args.summary:
            advice = advise(report, submission, lambda ids: code_span(command_again(args, ids)))
            write_text(args.summary, f"{to_markdown(report)}\n{advice}\n")
            return report.passed_so_far
        if args.watch:
            report = watch(files, report, grade_with, repeat, table)
        return report.passed


def results_beside(submission: Path) -> Path | None:
    """The folder `results` beside a folder of code without results of its own, as with the
    reference, or None.
    """
    folder = submission.parent / "results"
    if submission.is_dir() and not any((submission / name).exists() for name in MADE_BY):
        return folder if any((folder / name).is_file() for name in MADE_BY) else None
    return None


def command_again(args: argparse.Namespace, ids: list[str], seed: int | None = None) -> str:
    """The command that runs checks on the same submission, with a seed's random inputs."""
    here = Path(__file__)
    with contextlib.suppress(ValueError):  # another drive on Windows
        here = Path(os.path.relpath(here))
    words = ["python", here.as_posix(), *ids]
    if seed is not None:
        words += ["--seed", str(seed)]
    for option in ("submission", "artifacts", "preset", "data", "gold"):
        if getattr(args, option) is not None:
            words += [f"--{option}", str(getattr(args, option))]
    return shlex.join(words)


class Rows:
    """Writes rows of the table in the order of the checks, in whichever outcomes arrive.

    Args:
        table: to write to.
        outcomes: the Outcome of each check that is not waited for, by id; None of the others.
    """

    def __init__(self, table, outcomes: dict):
        self.table = table
        self.waiting = list(outcomes)
        self.arrived = {id: outcome for id, outcome in outcomes.items() if outcome}

    def add(self, outcome) -> None:
        """Write the row of a finished check, unless earlier ones are missing."""
        # a closed pipe should end the program later, not in the middle of a grading
        with contextlib.suppress(OSError):
            if outcome.id not in self.waiting:
                self.table.line(outcome)  # of a second grading, which counts
            self.arrived[outcome.id] = outcome
            while self.waiting and self.waiting[0] in self.arrived:
                self.table.line(self.arrived[self.waiting.pop(0)])


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    use_utf8()
    try:
        return run(build_parser().parse_args(arguments), sys.stdout)
    except UserError as error:
        print(f"\n{error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # piped into head, say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    if "ipykernel" in sys.modules:  # %run in a notebook would show an exit as an error
        main()
    else:
        # so that temporary folders are removed
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sys.exit(main())
