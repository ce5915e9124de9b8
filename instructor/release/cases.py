"""`python -m instructor cases`: rounds for students, in src/checks/cases, and staff's own."""

import argparse
import sys

from checks.support.rounds import RELEASED, Rounds
from instructor.checks import solving
from instructor.checks.secret import FOLDER, staff_rounds
from instructor.checks.solving import Plan, all_questions

# Of each check at least 3 rounds, so that a seed has a choice, and 12 calls.
PLAN = Plan(seed=1, rounds=3, calls=12)
LIMIT = 2_000_000  # bytes, all files together


def find_stale() -> list[str]:
    """What is wrong with the released rounds, as sentences."""
    sentences = [
        f"{question}.zip is missing, or was made from other checks, solutions or mistakes."
        for question in solving.find_stale(RELEASED, all_questions(), PLAN)
    ]
    sentences += [f"{path.name} belongs to no question." for path in _left_over()]
    if (size := _size(RELEASED)) > LIMIT:
        sentences.append(f"They take {size:,} bytes; {LIMIT:,} are allowed. Draw smaller ones.")
    return sentences


def _left_over():
    return [path for path in RELEASED.glob("*.zip") if path.stem not in all_questions()]


def _size(folder):
    return sum(path.stat().st_size for path in folder.glob("*.zip"))


def run(args: argparse.Namespace) -> int:
    """Write or look at the files; returns the exit code."""
    if args.secret is not None:
        _report(staff_rounds(all_questions(), args.secret), FOLDER)
        return 0
    if not args.check:
        solving.renew(RELEASED, all_questions(), PLAN)
        for path in _left_over():
            path.unlink()
    if wrong := find_stale():
        print(*wrong, sep="\n", file=sys.stderr)
        if args.check:
            print("Run: python -m instructor cases", file=sys.stderr)
        return 1
    _report(Rounds(), RELEASED)
    return 0


def _report(rounds, folder):
    counts = [rounds.counts(question) for question in all_questions()]
    print(
        f"{folder}: {sum(sum(count.values()) for count in counts)} rounds of "
        f"{sum(map(len, counts))} checks, {_size(folder) / 1e6:.2f} MB"
    )
