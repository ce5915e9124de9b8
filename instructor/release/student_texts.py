"""README.md and pyproject.toml of a release, made from the project's."""

import re
from dataclasses import replace

from instructor.course import Course, read_course
from jobs.targets import targets_of

from .choosing import chosen_markdown

NOT_HANDED_OUT = ("project.optional-dependencies", "tool.pytest", "tool.ruff")
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

    numbers = course.handed_out
    text = _with_examples(chosen_markdown(guide, numbers), numbers)
    text = re.sub(r"\A# .*\n+|^<!-- .* -->\n\n?", "", text, flags=re.MULTILINE)
    if not any(name.startswith("handout/") for name in released):
        text = re.sub(NEEDS_HANDOUT, "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(!?)\[([^\]]*)\]\((?:\.\./)?([^)\s]*)\)", link, text)
    head = [f"# {course.title}", course.course, f"**Due: {course.due}**" if course.due else ""]
    return "\n\n".join([*filter(None, head), text.strip()]) + "\n"


def _with_examples(text, numbers):
    """The guide with commands that these problems have, where it shows one for example."""
    manifest = replace(read_course(), problems=(), given=()).manifest().only(numbers)
    basic = [check for check in manifest.checks.values() if check.kind == "basic"]
    targets = [*targets_of(numbers)]
    if "1h" in manifest.questions or not basic:
        return text
    check = basic[0]
    text = text.replace("1h-3", check.id.removesuffix("-basic"))
    text = re.sub(r"\b1h\b", check.question, text)
    return text.replace(
        "./run.sh vanilla_finetune_without_pretrain",
        f"./run.sh {targets[0] if targets else 'help'}",
    )


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
