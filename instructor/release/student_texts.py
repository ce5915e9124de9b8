"""README.md and pyproject.toml of a release."""

import re
from collections.abc import Iterable

from common.files import read_text
from instructor import ROOT
from instructor.course import Course

NOT_HANDED_OUT = ("project.optional-dependencies", "tool.pytest", "tool.ruff")
GUIDE = "docs/students.md"
PAGES = "docs/students"  # sections of the README: a problem's, or what two have together
OF_HANDOUT = f"{PAGES}/handout.md"


def student_readme(course: Course, pages: Iterable[str]) -> str:
    """The README of a release: title, course and due date, then the guide and pages.

    Args:
        course: for the head.
        pages: the names of the Markdown files that follow the guide.
    """
    _, _, guide = read_text(ROOT / GUIDE).partition("\n\n")  # without its title
    texts = (guide, *(read_text(ROOT / name) for name in pages))
    text = re.sub(r"^<!-- .* -->\n\n?", "", "\n".join(texts), flags=re.MULTILINE)
    head = [f"# {course.title}", course.course, f"**Due: {course.due}**" if course.due else ""]
    return "\n\n".join([*filter(None, head), text])


def student_pyproject(text: str) -> str:
    """The pyproject.toml of a release: without the tables of what it doesn't have, and without the
    comments above the first table.
    """
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)[1:]
    return "".join(
        table
        for table in tables
        if not table.startswith(tuple(f"[{name}" for name in NOT_HANDED_OUT))
    )
