"""Documents are up to date, short enough, and name nothing that does not exist."""

import re
import subprocess

import pytest

from helpers import ROOT
from instructor.commands import parse
from jobs.targets import TARGETS

FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
TOP = "src|instructor|tests|docs|benchmarks|handout|data"
MADE = """
    handout/handout.pdf handout/handout.html handout/solutions.pdf handout/submission.pdf
    handout/problemN.tex handout/answers/problemN.tex handout/submission.tex
    src/submission/submission.zip src/checks/given
    instructor/rounds
""".split()


def documents():
    """Name -> text of all Markdown files that are kept."""
    words = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "*.md"]
    names = subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout
    paths = {name: ROOT / name for name in names.splitlines()}
    return {name: path.read_text("utf-8") for name, path in paths.items() if path.exists()}


def anchors(text):
    """The anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


def test_links_lead_somewhere_and_files_that_are_named_exist():
    texts = documents()
    for name, text in texts.items():
        folder = (ROOT / name).parent
        targets = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text))
        for target in (each for each in targets if "://" not in each and "@" not in each):
            path, _, anchor = target.partition("#")
            found = (folder / path).resolve() if path else ROOT / name
            assert found.exists(), f"{name}: {target}"
            if anchor:
                other = texts[found.relative_to(ROOT).as_posix()]
                assert anchor in anchors(other), f"{name}: {target}"
        if name != "docs/adding-a-question.md":  # it adds files
            for path in re.findall(rf"`((?:{TOP})/[\w./-]*\w)`", text):
                here = (ROOT / path).exists() or (folder / path).exists()
                assert here or path in MADE, f"{name}: {path}"


def test_commands_that_documents_name_exist():
    known = {"test", "python", "help", "all", "demo", "TARGET"} | set(TARGETS)
    for name, text in documents().items():
        for target in re.findall(r"(?:^|`)\./run\.sh (\w+)", text, re.MULTILINE):
            assert target in known, f"{name}: ./run.sh {target}"
        for command in re.findall(r"python -m instructor ([a-z][\w-]*)", text):
            with pytest.raises(SystemExit) as end:
                parse([command, "--help"])
            assert end.value.code == 0, f"{name}: {command}"
