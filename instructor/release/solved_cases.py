"""`python -m instructor solved-cases`: rounds of cases, kept in src/checks/cases for students."""

import argparse
import inspect
import io
import json
import sys
import zlib
from pathlib import Path

import numpy as np

from checks.support.cases import RELEASED, Released, pack, same
from common.files import writing
from instructor.checks.makers import all_makers

CASES = 12  # per check, at least
ROUNDS = 3  # per check, at least, so that a seed has a choice
STREAM = 1  # of random numbers: a grading draws from [its seed, the check]
LIMIT = 2_000_000  # bytes, all files together


def case_files() -> dict[str, bytes]:
    """The files of src/checks/cases, name -> content; the same bytes for the same code."""
    questions = {}
    for id, maker in all_makers().items():
        questions.setdefault(id.split("-")[0], {})[id] = draw_rounds(id, maker)
    files = {}
    for question, checks in questions.items():
        text, arrays = pack(checks)
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        files |= {f"{question}.json": text.encode(), f"{question}.npz": stream.getvalue()}
    return files


def draw_rounds(id: str, maker) -> list:
    """Draw rounds of one check: at least ROUNDS, and enough for CASES cases."""
    small = {"small": True} if "small" in inspect.signature(maker).parameters else {}
    rounds = []
    while len(rounds) < ROUNDS or sum(map(len, rounds)) < CASES:
        rounds.append(
            maker(np.random.default_rng([STREAM, len(rounds), zlib.crc32(id.encode())]), **small)
        )
    return rounds


def find_differences(folder: Path = RELEASED) -> list[str]:
    """How `folder` differs from what the makers give, as sentences; rounding differences between
    processors don't count.
    """
    return [f"{name} {how}" for name, how in _differences(case_files(), folder).items()]


def _differences(wanted, folder):
    """{file: how it differs} for the files of a folder that are not as wanted."""
    there = {
        path.name: path.read_bytes()
        for path in sorted([*folder.glob("*.json"), *folder.glob("*.npz")])
    }
    found = {}
    for name in sorted(wanted.keys() | there.keys()):
        if name not in there:
            found[name] = "is missing"
        elif name not in wanted:
            found[name] = "is no longer made"
        elif wanted[name] != there[name] and not same(
            *(_content(name, files[name]) for files in (wanted, there))
        ):
            found[name] = "differs"
    return found


def _content(name, content):
    if name.endswith(".json"):
        return json.loads(content)
    return {key: np.nan_to_num(array) for key, array in np.load(io.BytesIO(content)).items()}


def add_parser(commands) -> None:
    """Add the command to `python -m instructor`."""
    command = commands.add_parser(
        "solved-cases",
        help="draw and solve the cases that students' checks compare with",
        description="Write src/checks/cases: inputs, right answers, and what known mistakes give.",
    )
    command.add_argument(
        "--check", action="store_true", help="write nothing; fail if the files differ"
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write or compare the files; returns the exit code."""
    if args.check:
        if found := find_differences():
            print(
                "\n".join(
                    [*found, "The cases are out of date. Run: python -m instructor solved-cases"]
                ),
                file=sys.stderr,
            )
            return 1
        print("src/checks/cases is up to date.")
        return 0
    files = case_files()
    size = sum(map(len, files.values()))
    if size > LIMIT:
        print(
            f"The cases would take {size:,} bytes; {LIMIT:,} are allowed. Draw smaller ones.",
            file=sys.stderr,
        )
        return 1
    RELEASED.mkdir(exist_ok=True)
    # Files that differ by rounding alone stay, so that no change is shown where there is none. What
    # belongs to one question is written together: its numbers are in another file than the rest.
    changed = {name.partition(".")[0] for name in _differences(files, RELEASED)}
    for path in RELEASED.iterdir():
        if path.suffix != ".zip" and path.name not in files:
            path.unlink()
    for name, content in files.items():
        if name.partition(".")[0] in changed:
            with writing(RELEASED / name) as temporary:
                temporary.write_bytes(content)
    released = Released()
    count = sum(len(round) for id in all_makers() for round in released.rounds(id))
    print(f"Wrote {count} cases in {len(files)} files, {size / 1e6:.2f} MB, to {RELEASED}")
    return 0
