"""Builds the students' editions of the handout for a release."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from common.files import UserError
from instructor import ROOT, course

FOLDER = ROOT / "handout"
EDITIONS = ("handout.pdf", "handout.html", "submission.pdf")
TOOLS = ("make", "latexmk", "pandoc", "pdftotext")  # the last for the leak scan


def build_handout() -> dict[str, bytes]:
    """Build the course's handout, which takes some 30 seconds.

    Returns:
        The files, name -> content: the problem set as PDF and HTML, the answer sheet as PDF and
        LaTeX, and the pages of the questions for `grader.py --next`.

    Raises:
        UserError: a tool is missing, or the build fails; the message has the end of its output.
    """
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        raise UserError(
            f"The handout needs {', '.join(missing)}, which is not installed: handout/README.md "
            "lists the packages. To make a release without handout, add --no-handout."
        )
    with tempfile.TemporaryDirectory(prefix="handout-") as scratch:
        build = Path(scratch)
        make(build, EDITIONS)
        return {name: (build / name).read_bytes() for name in EDITIONS} | {
            "submission.tex": (build / "submission.tex").read_bytes(),
            "pages.json": json.dumps(pages(build), indent=2).encode() + b"\n",
        }


def pages(build: Path) -> dict[str, int]:
    """The page of handout.pdf on which each question starts, as TeX wrote it beside the PDF."""
    labels = (build / "handout.aux").read_text(encoding="utf-8")
    return {
        question: int(page)
        for question, page in re.findall(r"\\newlabel\{q:(\w+)\}\{\{.*?\}\{(\d+)\}", labels)
    }


def make(build: Path, names: tuple[str, ...]) -> None:
    """Build files of the course's handout in a folder.

    Args:
        build: the folder.
        names: of the files, as in handout/Makefile.

    Raises:
        UserError: the build fails; the message has the end of its output.
    """
    command = [
        *("make", "-C", str(FOLDER)),
        f"PYTHON={sys.executable}",
        f"BUILD={build}",
        f"COURSE={course.SETTINGS}",
        *(str(build / name) for name in names),
    ]
    process = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    if process.returncode:
        end = "\n".join((process.stdout + process.stderr).strip().splitlines()[-15:])
        raise UserError(f"The handout could not be built (make -C handout all):\n{end}")
