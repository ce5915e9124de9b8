"""`python -m instructor similar`: pairs of submissions in a graded class that look alike."""

import argparse
import contextlib
from collections import defaultdict
from pathlib import Path

from common.cores import cores
from common.files import UserError

# Of the submissions in tests/checks/right and tests/checks/wrong that have enough code of their own
# (44, so 946 pairs), no two exceed 0.40; a copy with other names or in another order reaches 0.85
# or more.
THRESHOLD = 0.6


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    parser = commands.add_parser(
        "similar",
        help="find submissions that look alike",
        description="Find submissions whose code between the "
        "markers looks alike or is that of src/, and equal files. Writes OUT/similar/index.html.",
    )
    parser.add_argument("out", type=Path, help="the folder that `grade` wrote")
    parser.add_argument(
        "--threshold",
        type=_fraction,
        default=THRESHOLD,
        metavar="T",
        help=f"list pairs with at least this similarity, from 0 to 1 (default: {THRESHOLD})",
    )
    parser.add_argument(
        "--workers",
        type=_count,
        default=cores(),
        metavar="N",
        help="processes (default: one per core)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare, and write the pages.

    Returns:
        0, whatever was found.

    Raises:
        UserError: nothing was graded in args.out, or nothing can be written there.
    """
    from instructor.grading.graded_class import load_sources

    from .compare import compare, compare_with_released, released_code
    from .pages import write_pages

    everybody = _read(load_sources(args.out), args.workers)
    pairs, left_out = compare(everybody, args.threshold, args.workers)
    files = released_code()
    pasted = compare_with_released(everybody, files)
    not_compared = {own.person: own.problem for own in everybody if own.problem} | left_out
    equal = equal_files(everybody)
    try:
        page = write_pages(
            args.out, everybody, pairs, not_compared, equal, args.threshold, files, pasted
        )
    except OSError as error:
        raise UserError(
            f"{args.out / 'similar'} could not be written: {error.strerror}. Free some space, or "
            "check its permissions."
        ) from None
    print(
        f"Compared {len(everybody) - len(not_compared)} submissions; {len(not_compared)} could not "
        "be compared, and the page says why."
    )
    print(
        "Submissions with code of the assignment's own src/: "
        f"{len({pair.first for pair in pasted})}."
    )
    print(
        f"Pairs with a similarity of {args.threshold:g} or more: {len(pairs)}. Groups with equal "
        f"files: {len(equal)}."
    )
    print(f"Results: {page}")
    return 0


def equal_files(everybody: list) -> list[tuple[list[str], list[str]]]:
    """The groups of people with equal files in Own.digests, as (files, people); most files first,
    then most people.
    """
    people = defaultdict(list)
    for own in everybody:
        for name, digest in own.digests.items():
            people[name, digest].append(own.person)
    files = defaultdict(list)
    for (name, _), group in sorted(people.items()):
        if len(group) > 1:
            files[tuple(group)].append(name)
    return sorted(
        ((names, list(group)) for group, names in files.items()),
        key=lambda both: (-len(both[0]), -len(both[1]), both[1]),
    )


def _read(sources, workers):
    """An Own for each person, in their order."""
    from concurrent.futures import ProcessPoolExecutor

    from tqdm import tqdm

    from .own import read_own

    with ProcessPoolExecutor(workers) as pool:
        return list(
            tqdm(
                pool.map(read_own, sources, sources.values(), chunksize=4),
                "reading",
                len(sources),
                disable=None,
                leave=False,
            )
        )


def _fraction(text):
    with contextlib.suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to 1")


def _count(text):
    with contextlib.suppress(ValueError):
        if int(text) > 0:
            return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
