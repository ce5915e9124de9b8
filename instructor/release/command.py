"""`python -m instructor release OUT`: makes and tests the students' copy, a folder and a zip."""

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path

from common.files import UserError
from instructor.course import read_course
from jobs.targets import chosen

from . import build
from .starter import require_no_drift

SMALLEST = 10**9  # seed of a cohort: all smaller ones could be tried


def run(args: argparse.Namespace) -> int:
    """Make a release; returns the exit code: 1 if it leaks or does not work, and then nothing is
    written.

    Args:
        args: out, the folder to make; cohort, a seed, and gold, the folder to make for its answers,
            or None; handout, proof: whether to build and to test.

    Raises:
        UserError: the options, course.toml or this copy of the project are wrong.
    """
    from .cases import find_stale
    from .handout import build_handout
    from .known_secrets import gather_secrets
    from .leaks import find_leaks, text_of
    from .pasting import find_repeated
    from .smoke_test import Failed, prove
    from .traces import find_traces

    course = read_course()
    manifest = course.manifest()
    if not chosen(course.handed_out):
        raise UserError(
            "Nobody writes code for these problems, so there is nothing to release: build the "
            "handout alone, with these problems in course.toml (handout/README.md)."
        )
    out = Path(os.path.abspath(args.out))  # without .., and a link stays one
    archive = out.parent / (out.name + ".zip")
    gold = args.gold and Path(os.path.abspath(args.gold))
    _check_places(out, archive, gold, args.cohort)
    require_no_drift()
    files = build.release_files(course, build_handout() if args.handout else {})
    with (
        tempfile.TemporaryDirectory(prefix=".release-", dir=out.parent) as scratch,
        tempfile.TemporaryDirectory(prefix=".gold-", dir=(gold or out).parent) as secret,
    ):
        tree, zipped, answers = Path(scratch) / "tree", Path(scratch) / "zip", Path(secret) / "gold"
        seeds = build.draw_cohort(files, args.cohort, answers) if gold else ()
        build.write_tree(files, tree)
        build.write_archive(files, zipped)
        texts = {name: text_of(name, content) for name, content in files.items()}
        secrets = gather_secrets(seeds, answers.rglob("*.tsv"), course.given)
        leaks = [
            *find_leaks(texts, secrets),
            *find_traces(texts, course),
            *find_repeated(tree / "src", course.given),
            *(f"{difference} Run: python -m instructor cases" for difference in find_stale()),
        ]
        if leaks:
            end = "The release has the faults above. Nothing was written."
            print(*leaks, "", end, sep="\n", file=sys.stderr)
            return 1
        print(f"Leak scan: nothing found in {len(files)} files", flush=True)
        if args.proof:
            try:
                prove(zipped, manifest, answers if gold else None)
            except Failed as error:
                end = "The release does not work. Nothing was written."
                print("", error, end, sep="\n", file=sys.stderr)
                return 1
        if gold:
            answers.rename(gold)
        tree.rename(out)
        zipped.rename(archive)
    size = sum(map(len, files.values())) / 2**20
    made = f"{args.out} and {args.out.with_name(archive.name)}"  # as typed
    print(f"\nWrote {made} ({size:.1f} MiB): give students the zip.")
    if not args.proof:
        print("Nothing was tested (--no-proof).")
    if course.given:
        print(
            f"It has our solution of {', '.join(course.given)}: hand it out when nobody can hand "
            "that in any more."
        )
    if gold:
        print(
            f"The answers to the test questions are in {gold}. Keep them, and the seed, from "
            "students."
        )
    lines, data = ["python src/grader.py --submission submission.zip"], out / "data"
    if gold:
        gpu, laptop, kept = (shlex.quote(str(path)) for path in (data, data / "laptop", gold))
        lines = [
            f"{lines[0]} --gold {kept} --data {laptop} --preset laptop",
            f"{lines[0]} --gold {kept} --data {gpu} --preset gpu",
        ]
    print("To grade a submission:", *lines, sep="\n  ")
    return 0


def _check_places(out, archive, gold, cohort):
    """Raise UserError if nothing can or should be written to these places."""
    if (cohort is None) != (gold is None):
        raise UserError(
            "--cohort and --gold belong together. Give both: a new cohort has new answers, which "
            "need a folder away from students."
        )
    if cohort is not None and cohort < SMALLEST:
        raise UserError(
            f"--cohort {cohort} could be guessed, and the answers with it. Draw a number of at "
            f"least {SMALLEST:,}, such as this one: {int.from_bytes(os.urandom(7), 'big')}"
        )
    if not out.name:
        raise UserError(f"{out} can't be made. Name a new folder.")
    if out.suffix == ".zip":
        raise UserError(
            "OUT is the folder to make; the zip is written beside it. Write: python -m instructor "
            f"release {out.stem}"
        )
    if gold and gold.resolve() in (out.resolve(), archive.resolve()):
        raise UserError("Choose another folder for --gold than OUT: students get OUT.")
    for path in filter(None, (out, archive, gold)):
        if os.path.lexists(path):
            raise UserError(f"{path} already exists. Remove it, or choose another place.")
        if not path.parent.is_dir():
            raise UserError(f"{path.parent} is not a folder. Make it, or choose another place.")
