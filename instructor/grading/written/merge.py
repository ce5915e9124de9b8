"""`python -m instructor merge` reads filled-in forms, and `written` writes blank ones."""

import contextlib
from pathlib import Path

from common.files import UserError, write_text

from .forms import NAME, blank_form, parts_of, read


def merge(args) -> int:
    """The command: check a filled-in form, add its points, and update pages and gradebooks; or
    change nothing.

    Returns:
        0; or 3 if somebody has no grade yet; they are listed.
    """
    from instructor.grading.graded_class import class_of, options_of
    from instructor.grading.marks import Given
    from instructor.grading.overrides import EXTENSION, taking_overrides
    from instructor.grading.pages import writing_reports
    from instructor.grading.state import State
    from instructor.grading.summary import say_problems

    own = args.out / NAME
    source = args.written or own
    marker = args.marker or source.stem
    place = NAME if source.resolve() == own.resolve() else str(source.resolve())
    with State(args.out) as state, contextlib.ExitStack() as stack:

        def extensions():
            return [one for one in state.overrides() if one.kind == EXTENSION]

        with state.transaction():
            before = extensions()
            stack.enter_context(taking_overrides(state, args.out))
            moved = options_of(state).get("at") and before != extensions()
            graded = class_of(state)
            if not source.exists() and args.written:
                raise UserError(f"{source} does not exist. Check the name.")
            marks = read(source, graded) if source.exists() else []
            if not args.marker and (others := state.sources(marker) - {place}):
                raise UserError(
                    f"{source}: marks of {marker!r} came from {min(others)} before. Say whose "
                    "these are: --marker NAME. Nothing was changed."
                )
            most = {check.id: check.points for check in parts_of(graded)}
            given = [
                Given(
                    mark.id,
                    mark.rubric,
                    marker,
                    mark.points,
                    mark.comment,
                    args.decide,
                    most[mark.rubric],
                )
                for mark in marks
                if mark.points is not None or mark.comment
            ]
            new = state.put_marks(given, place)
            graded = class_of(state)
            stack.enter_context(writing_reports(graded, args.out))
    people = len({mark.person for mark in new})
    parts = len(parts_of(graded)) * len(graded.entries)
    left = parts - sum(len(entry.written) for entry in graded.entries)
    print(
        f"{source}: {len(new)} new mark{'s' * (len(new) != 1)} for {people} "
        f"{'person' if people == 1 else 'people'}, by {marker}. Of {parts} written parts, {left} "
        "are not marked yet."
    )
    print(f"Updated the pages and gradebooks in {args.out}.")
    if moved:
        print(
            "Which commits of clones count with these extensions is decided by the next: python -m "
            f"instructor grade --out {args.out}"
        )
    return say_problems(graded, args.out)


def write_form(args) -> int:
    """The command: write a blank form for a marker."""
    from instructor.grading.graded_class import load_class

    if args.file.exists():
        raise UserError(
            f"{args.file} already exists. Choose another name, so that nothing filled in is lost."
        )
    write_text(args.file, blank_form(load_class(args.out), args.anonymous, args.question or ""))
    print(
        f"Wrote {args.file}. When filled in: python -m instructor merge {args.out} --written "
        f"{args.file}"
    )
    return 0


def add_parser(commands) -> None:
    """Add `merge` and `written` to the commands of `python -m instructor`."""
    command = commands.add_parser(
        "merge",
        help="merge the points of written parts and overrides.csv, and update pages and gradebooks",
        description="Checks the whole file first, and changes nothing if anything in it is wrong.",
    )
    command.add_argument("out", type=Path, help="the folder that `grade` wrote")
    command.add_argument(
        "--written",
        type=Path,
        metavar="FILE",
        help="a filled-in form, perhaps with some of the rows; blank cells change nothing "
        "(default: OUT/written.csv)",
    )
    command.add_argument(
        "--marker",
        help="who marked (default: the file's name). If two differ, the first counts, and "
        "both are shown",
    )
    command.add_argument(
        "--decide",
        action="store_true",
        help="the points of this file settle conflicts between markers",
    )
    command.set_defaults(run=merge)
    command = commands.add_parser(
        "written",
        help="write a blank form for a marker",
        description="A form of all written parts, for `merge --written`.",
    )
    command.add_argument("out", type=Path, help="the folder that `grade` wrote")
    command.add_argument("file", type=Path, help="such as anna.csv")
    command.add_argument("--anonymous", action="store_true", help="codes in place of names and ids")
    command.add_argument("--question", help="only this one, such as 3c")
    command.set_defaults(run=write_form)
