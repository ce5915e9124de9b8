"""`python -m instructor cases`: rounds for students, in src/checks/cases, and staff's own."""

import argparse
import sys
import tempfile
from pathlib import Path

from checks.support.rounds import RELEASED, Call, Rounds, Sketch
from common.files import UserError
from instructor.checks.secret import FOLDER, staff_rounds
from instructor.checks.solving import Plan, all_questions, save, solve

# Of each check at least 3 rounds, so that a seed has a choice, and 12 calls.
PLAN = Plan(seed=1, rounds=3, calls=12)
LIMIT = 2_000_000  # bytes, all files together


def write_released(folder: Path) -> None:
    """Write the released rounds of all questions into a folder."""
    bar = {"desc": "Rounds", "unit": "mistake", "leave": False, "disable": None}
    for question, rounds in solve(all_questions(), PLAN, **bar):
        save(folder / f"{question}.zip", rounds)


def find_differences(wanted: Path, folder: Path = RELEASED) -> dict[str, str]:
    """How the rounds in `folder` differ from those in `wanted`, by file name. What differs by
    rounding alone, as between processors, is the same.
    """
    found = {}
    for name in sorted({path.name for path in [*wanted.glob("*.zip"), *folder.glob("*.zip")]}):
        if not (folder / name).is_file():
            found[name] = "is missing"
        elif not (wanted / name).is_file():
            found[name] = "is no longer made"
        elif not _same(Rounds(wanted), Rounds(folder), name.removesuffix(".zip")):
            found[name] = "differs"
    return found


def find_stale() -> list[str]:
    """How the released rounds differ from what would be written now, as sentences."""
    with tempfile.TemporaryDirectory() as folder:
        write_released(Path(folder))
        return [f"{name} {how}" for name, how in find_differences(Path(folder)).items()]


def _same(wanted, released, question):
    """Whether two files of a question have the same rounds."""
    try:
        if wanted.counts(question) != released.counts(question):
            return False
        pairs = [
            pair
            for id in wanted.counts(question)
            for rounds in zip(wanted.rounds(id), released.rounds(id))
            for pair in zip(*rounds, strict=True)
        ]
    except (UserError, ValueError):  # damaged, or of other lengths
        return False
    return all(same_call(*pair) for pair in pairs)


def same_call(a: Call, b: Call) -> bool:
    """Whether two calls have the same inputs and replies, but for rounding."""
    if [(a.probe, a.remark, a.raises), [wrong[:2] for wrong in a.wrong]] != [
        (b.probe, b.remark, b.raises),
        [wrong[:2] for wrong in b.wrong],
    ]:
        return False
    pairs = [(Sketch.of([a.inputs, a.right]), Sketch.of([b.inputs, b.right]))]
    pairs += [(mine[2], other[2]) for mine, other in zip(a.wrong, b.wrong)]
    return all(mine.matches(other) for mine, other in pairs)


def add_parser(commands) -> None:
    """Add the command to `python -m instructor`."""
    command = commands.add_parser(
        "cases",
        help="draw inputs for the checks, and run the reference and the known mistakes on them",
        description="Write src/checks/cases, which students' checks compare with: inputs, and what "
        "the reference and known mistakes reply. With --secret, write staff's own.",
    )
    command.add_argument(
        "--check", action="store_true", help="write nothing; fail if the files differ"
    )
    command.add_argument(
        "--secret",
        type=int,
        metavar="SEED",
        help="write staff's rounds instead, drawn from this seed: keep it secret",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write or compare the files; returns the exit code."""
    if args.secret is not None:
        rounds = staff_rounds(all_questions(), args.secret)
        _report(rounds, FOLDER)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder)
        write_released(wanted)
        found = find_differences(wanted)
        size = sum(path.stat().st_size for path in wanted.iterdir())
        if size > LIMIT:
            print(
                f"The rounds would take {size:,} bytes; {LIMIT:,} are allowed. Draw smaller ones.",
                file=sys.stderr,
            )
            return 1
        if args.check:
            for name, how in found.items():
                print(f"{name} {how}", file=sys.stderr)
            if found:
                print(
                    "src/checks/cases is out of date. Run: python -m instructor cases",
                    file=sys.stderr,
                )
                return 1
            print("src/checks/cases is up to date.")
            return 0
        # files that differ by rounding alone stay, so that no change is shown where there is none
        for name in found:
            (RELEASED / name).unlink(missing_ok=True)
            if (wanted / name).is_file():
                RELEASED.mkdir(exist_ok=True)
                (RELEASED / name).write_bytes((wanted / name).read_bytes())
    _report(Rounds(), RELEASED)
    return 0


def _report(rounds, folder):
    counts = [rounds.counts(question) for question in all_questions()]
    size = sum(path.stat().st_size for path in folder.glob("*.zip"))
    print(
        f"{folder}: {sum(sum(count.values()) for count in counts)} rounds of "
        f"{sum(map(len, counts))} checks, {size / 1e6:.2f} MB"
    )
