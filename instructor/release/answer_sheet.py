"""`python -m instructor answer-sheet OUT.tex`: handout/submission.tex with the boxes of a course's
problems.
"""

import argparse
import re
from pathlib import Path

from common.files import read_text, write_text
from instructor import ROOT
from instructor.course import SETTINGS, Course, read_course

SHEET = ROOT / "handout" / "submission.tex"


def answer_sheet(course: Course) -> str:
    """The answer sheet of a course, as LaTeX."""
    text = read_text(SHEET)
    head, *problems = re.split(r"(?=\\subsection\*\{Problem \d+\})", text)
    last, end = problems[-1].split("\\end{document}")
    problems = [re.sub(r"\n*\\clearpage\s*$", "", part) for part in [*problems[:-1], last]]
    chosen = [
        part.rstrip("\n")
        for part in problems
        if re.match(r"\\subsection\*\{Problem (\d+)\}", part)[1] in course.handed_out
    ]
    return head + "\n\n\\clearpage\n".join(chosen) + "\n\n\\end{document}" + end


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
