"""Documents name nothing that does not exist."""

import re
import subprocess

import pytest

from helpers import ROOT
from instructor.commands import parse
from jobs.targets import TARGETS

FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
TOP = "src|instructor|tests|docs|benchmarks|handout|data"
MADE = r"(handout|solutions|submission)\.pdf|handout\.html|(answers/)?problemN\.tex|submission\.tex"
MADE = rf"handout/({MADE})|src/submission/submission.zip|src/checks/given|instructor/rounds"
WORDS = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "*.md"]
PATHS = [ROOT / name for name in subprocess.check_output(WORDS, encoding="utf-8").splitlines()]
DOCUMENTS = {path: path.read_text(encoding="utf-8") for path in PATHS if path.exists()}


def anchors(text):
    """The anchors that GitHub gives to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


def test_links_lead_somewhere_and_files_that_are_named_exist():
    for document, text in DOCUMENTS.items():
        targets = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text))
        for target in (each for each in targets if "://" not in each and "@" not in each):
            path, _, anchor = target.partition("#")
            found = (document.parent / path).resolve() if path else document
            assert found.exists(), f"{document}: {target}"
            assert not anchor or anchor in anchors(DOCUMENTS[found]), f"{document}: {target}"
        if document.name != "adding-a-question.md":  # it adds files
            for path in re.findall(rf"`((?:{TOP})/[\w./-]*\w)`", text):
                here = (ROOT / path).exists() or (document.parent / path).exists()
                assert here or re.fullmatch(MADE, path), f"{document}: {path}"


def test_commands_that_documents_name_exist():
    known = {"test", "python", "help", "all", "demo", "TARGET"} | set(TARGETS)
    for document, text in DOCUMENTS.items():
        for target in re.findall(r"(?:^|`)\./run\.sh (\w+)", text, re.MULTILINE):
            assert target in known, f"{document}: ./run.sh {target}"
        for command in re.findall(r"python -m instructor ([a-z][\w-]*)", text):
            with pytest.raises(SystemExit) as end:
                parse([command, "--help"])
            assert end.value.code == 0, f"{document}: {command}"
