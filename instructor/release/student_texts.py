"""README.md, pyproject.toml and .gitignore of a release."""

import re
from collections.abc import Iterable

from common.files import read_text
from instructor import ROOT
from instructor.course import Course
from jobs.targets import JOBS, targets_of

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


def student_gitignore(problems: Iterable[str]) -> str:
    """The .gitignore of a release: of what is made here, only what is handed in is committed."""
    targets = targets_of(problems).values()
    results = [target.writes for target in targets if target.handed_in]
    pages = sorted({target.writes for target in targets if target.writes} - {*results})
    lines = [
        "# What systems, editors and Python make.",
        *(".DS_Store", "Thumbs.db", ".idea/", ".ipynb_checkpoints/"),
        *(".venv*", "venv/", "__pycache__/", ".pytest_cache/", "*.egg-info/", "build/"),
        "# What ./run.sh, the grader and LaTeX make and nobody hands in.",
        *("*.ckpt", "*.tmp", "/demo/", "/demo-*/", "/submission.zip"),
        *("/for_gpu.zip", "/results-*", "/kept/", "/slurm-*.log", "/all.log", "nohup.out"),
        *(f"/src/submission/{name}" for name in pages),
        *(f"/handout/*.{kind}" for kind in ("aux", "fdb_latexmk", "fls", "log", "out")),
        "# Of weights and predictions, what is handed in is committed, a few MB each, and what",
        "# --resume knows of it.",
        *("*.params", "*.predictions", "**/runs/*"),
        *(f"!/src/submission/{name}" for name in results),
        *(f"!/src/submission/runs/{job.writes}.json" for job in targets if job.target in JOBS),
    ]
    return "\n".join(lines) + "\n"
