"""README.md, pyproject.toml and .gitignore of a release."""

import re
from collections.abc import Iterable

from autograder.manifest import Manifest
from instructor.course import Course
from jobs.targets import JOBS, targets_of

from .choosing import chosen_markdown

NOT_HANDED_OUT = ("project.optional-dependencies", "tool.pytest", "tool.ruff")
EXAMPLE = "1h-3"  # the check in commands of docs/students.md
NEEDS_HANDOUT = r"^The problem set is [^\n]*\n|^## \d\. Write\n+.*?(?=^## )"


def student_readme(guide: str, course: Course, released: set[str]) -> str:
    """The README of a release: title, course and due date, then docs/students.md.

    Args:
        guide: the text of docs/students.md.
        course: for the head, and which problems there are.
        released: the files that links may lead to; without a handout among them, what is said of
            the handout is left out.
    """

    def link(match):
        target = match[3].split("#")[0]
        leads_somewhere = "://" in target or target in released
        return f"{match[1]}[{match[2]}]({match[3]})" if leads_somewhere else match[2]

    text = _with_examples(chosen_markdown(guide, course.handed_out), course.manifest())
    text = re.sub(r"\A# .*\n+|^<!-- .* -->\n\n?", "", text, flags=re.MULTILINE)
    if not any(name.startswith("handout/") for name in released):
        text = re.sub(NEEDS_HANDOUT, "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(!?)\[([^\]]*)\]\((?:\.\./)?([^)\s]*)\)", link, text)
    head = [f"# {course.title}", course.course, f"**Due: {course.due}**" if course.due else ""]
    return "\n\n".join([*filter(None, head), text.strip()]) + "\n"


def examples(manifest: Manifest) -> tuple[str, str]:
    """A check, without -basic, and a target, which the README has as examples of commands."""
    basic = [check.id for check in manifest.checks.values() if check.kind == "basic"]
    check = EXAMPLE if f"{EXAMPLE}-basic" in basic else basic[0].removesuffix("-basic")
    return check, next(iter(targets_of(manifest.problems)), "help")


def _with_examples(text, manifest):
    """The guide with examples that there are."""
    check, target = examples(manifest)
    text = text.replace(EXAMPLE, check)
    text = re.sub(rf"(?<=grader.py ){EXAMPLE[:2]}\b", check.partition("-")[0], text)
    return text.replace("./run.sh vanilla_finetune_without_pretrain", f"./run.sh {target}")


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
        *(".DS_Store", "Thumbs.db", ".idea/", ".vscode/", ".ipynb_checkpoints/"),
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
