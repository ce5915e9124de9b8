"""`python -m instructor answer-sheet OUT.tex`: the boxes for written answers to a course's
problems, as one file that students can compile anywhere.
"""

import argparse
from pathlib import Path

from common.files import read_text, write_text
from instructor import ROOT
from instructor.course import SETTINGS, Course, read_course

FOLDER = ROOT / "handout" / "answers"


def answer_sheet(course: Course) -> str:
    """The answer sheet of a course, as LaTeX."""
    paths = [FOLDER / f"problem{number}.tex" for number in course.handed_out]
    boxes = "\n\\clearpage\n".join(read_text(path) for path in paths if path.exists())
    return "\n".join((read_text(FOLDER / "head.tex"), boxes, "\\end{document}\n"))


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command to `python -m instructor`."""
    command = commands.add_parser(
        "answer-sheet", help="write the sheet for written answers of the course's problems"
    )
    command.add_argument("out", type=Path, help="the .tex file to write")
    command.add_argument(
        "--course", type=Path, default=SETTINGS, help="the settings (default: course.toml)"
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the file; returns the exit code."""
    args.out.parent.mkdir(parents=True, exist_ok=True)
    text = answer_sheet(read_course(args.course))
    if not args.out.exists() or read_text(args.out) != text:
        write_text(args.out, text)
    return 0
