"""`python -m instructor release OUT`: makes and tests the students' copy, a folder and a zip."""

import argparse
import contextlib
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

from common.files import UserError
from instructor.course import read_course
from jobs.targets import chosen

from . import build
from .starter import find_drift


def add_parser(commands) -> None:
    """Add the command to `python -m instructor`."""
    command = commands.add_parser(
        "release",
        help="make the students' copy, as a folder and a zip",
        description="Make the students' copy: the folder OUT and OUT.zip. It is scanned "
        "for leaks and tested: its commands work, the starter scores 0, and the reference gets "
        "full points.",
    )
    command.add_argument(
        "out", type=Path, metavar="OUT", help="the folder to make; OUT.zip is written beside it"
    )
    command.add_argument(
        "--title", help="the assignment's title (default of this and the next two: course.toml)"
    )
    command.add_argument("--course", help="the course's name")
    command.add_argument("--due", help="the due date, in words")
    command.add_argument(
        "--problems",
        type=int,
        nargs="+",
        metavar="N",
        help="only these problems, such as 1 3 4 (default: those of course.toml, which grading "
        "reads, too)",
    )
    command.add_argument(
        "--given",
        nargs="+",
        metavar="QUESTION",
        help="with problems that build on a question of another one: hand out its solution",
    )
    command.add_argument(
        "--cohort",
        type=int,
        metavar="SEED",
        help="make new people, corpora and questions. Anyone with the seed and this "
        "repository can work out the answers: draw a large one",
    )
    command.add_argument(
        "--gold",
        type=Path,
        metavar="DIR",
        help="with --cohort: the folder to make for the answers to its test questions",
    )
    command.add_argument(
        "--no-handout",
        action="store_true",
        help="omit the handout, which needs TeX Live and pandoc",
    )
    command.add_argument("--no-proof", action="store_true", help="scan for leaks, but test nothing")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make a release; returns the exit code: 1 if it leaks or does not work, and then nothing is
    written.

    Raises:
        UserError: the options or this copy of the project are wrong.
    """
    from .cases import find_stale
    from .handout import build_handout
    from .known_secrets import gather_secrets
    from .leaks import find_leaks, read_zip
    from .pasting import find_repeated
    from .smoke_test import Failed, prove
    from .traces import find_traces

    course = read_course(
        title=args.title,
        course=args.course,
        due=args.due,
        problems=args.problems,
        given=args.given if args.given or not args.problems else (),
    )
    manifest = course.manifest()
    if not chosen(course.handed_out):
        raise UserError(
            "Nobody writes code for these problems, so there is nothing to release: build the "
            "handout alone, with these problems in course.toml (handout/README.md)."
        )
    out, gold = _check_places(args.out, args.cohort, args.gold)
    if drift := find_drift():
        differences = "\n".join(drift[:20])
        raise UserError(
            f"{differences}\nsrc/submission is not the starter of instructor/solution (differences "
            "above). Run: python -m instructor starter"
        )
    handout = {} if args.no_handout else build_handout(course)
    with (
        tempfile.TemporaryDirectory(prefix=".release-", dir=out.parent) as scratch,
        tempfile.TemporaryDirectory(prefix=".gold-", dir=(gold or out).parent) as secret,
    ):
        tree, archive = Path(scratch) / "tree", Path(scratch) / "tree.zip"
        answers = Path(secret) / "gold"
        seeds = build.make_tree(tree, course, args.cohort, answers, handout)
        build.zip_tree(tree, archive)
        files, leaks = read_zip(archive)
        top, handed_out = f"{build.project_name()}/", build.read_tree(tree)
        if {name.removeprefix(top): content for name, content in files.items()} != handed_out:
            leaks.append("The zip and the folder differ.")
        gold_files = sorted(answers.rglob("*.tsv"))
        leaks += find_leaks(handed_out, gather_secrets(seeds, gold_files, course.given))
        leaks += find_traces(handed_out, course)
        leaks += [
            f"The cases: {difference} Run: python -m instructor cases"
            for difference in find_stale()
        ]
        leaks += find_repeated(tree / "src", course.given)
        if leaks:
            said = f"The release has the {len(leaks)} problems above. Nothing was written."
            print(*leaks, "", said, sep="\n", file=sys.stderr)
            return 1
        print(f"Leak scan: nothing found in {len(handed_out)} files", flush=True)
        if not args.no_proof:
            try:
                prove(archive, manifest, answers if seeds else None)
            except Failed as error:
                said = "The release does not work. Nothing was written."
                print("", error, said, sep="\n", file=sys.stderr)
                return 1
        _publish([(answers, gold)] * bool(seeds) + [(tree, out), (archive, build.zip_of(out))])
    _say_what_next(out, gold, args, course)
    return 0


def _check_places(out, cohort, gold):
    """Where to write, as absolute paths; raises UserError if nothing can or should be written."""
    if (cohort is None) != (gold is None):
        raise UserError(
            "--cohort and --gold belong together: a new cohort has new answers, and they need a "
            "folder away from students."
        )
    out, gold = out.absolute(), gold and gold.absolute()
    if out.suffix == ".zip":
        raise UserError(
            "OUT is the folder to make; the zip is written beside it. Write: python -m instructor "
            f"release {out.stem}"
        )
    if os.path.lexists(build.zip_of(out)):
        raise UserError(f"{build.zip_of(out)} already exists. Remove it, or choose another OUT.")
    for option, folder in (("OUT", out), ("--gold", gold)):
        if folder and not folder.parent.is_dir():
            raise UserError(
                f"{folder.parent} is not a folder. Make it, or choose another {option}."
            )
        empty = folder and folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir())
        if folder and os.path.lexists(folder) and not empty:
            raise UserError(
                f"{folder} already exists and is not an empty folder. Choose another {option}."
            )
    if gold:
        real_out, real_gold = out.resolve(), gold.resolve()
        if real_out == real_gold or real_out in real_gold.parents or real_gold in real_out.parents:
            raise UserError(
                "OUT and --gold must not be inside each other: students get OUT. Nothing was "
                "written."
            )
    return out, gold


def _publish(moves):
    """Move the finished files into place: all of them, or none."""
    done = []
    try:
        for source, target in moves:
            if target.is_dir():
                target.rmdir()  # it is empty; Windows cannot rename onto it
            source.rename(target)
            done.append((source, target))
    except OSError as error:
        for source, target in done:
            with contextlib.suppress(OSError):
                target.rename(source)
        raise UserError(
            f"{target} cannot be written: {error.strerror}. Nothing was written."
        ) from None


def _say_what_next(out, gold, args, course):
    """Print what was written, and the commands that come next."""
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"\nWrote {out} and {build.zip_of(out)} ({size / 2**20:.1f} MiB): give students the zip.")
    if args.no_proof:
        print("Nothing was tested (--no-proof).")
    if course.given:
        print(
            f"It has our solution of {', '.join(course.given)}: hand it out when nobody can hand "
            "that in any more."
        )
    if (course.problems, course.given) != (read_course().problems, read_course().given):
        lines = f"problems = {[*course.problems]} and given = {json.dumps(course.given)}"
        print(f"Before you grade it, write this into course.toml: {lines}.")
    if gold:
        graded = "python src/grader.py --submission submission.zip --gold " + shlex.quote(str(gold))
        laptop, gpu = (shlex.quote(str(out / "data" / name)) for name in ("laptop", ""))
        print(
            f"The answers to the test questions are in {gold}. Keep them, and the seed, from "
            "students. To grade this cohort:\n"
            f"  {graded} --data {laptop} --preset laptop\n"
            f"  {graded} --data {gpu} --preset gpu"
        )
    else:
        print("To grade a submission:\n  python src/grader.py --submission submission.zip")
