"""Documents are up to date, and name nothing that does not exist."""

import re
import subprocess

import pytest

from autograder import read_manifest
from checks.support.session import MANIFEST
from helpers import ROOT
from instructor.commands import parse
from instructor.documents import site, tables
from instructor.documents.facts import gather
from jobs.targets import PROBLEMS, TARGETS

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


def test_a_stale_part_is_found_and_made_anew(tmp_path, monkeypatch):
    assert tables.find_stale() == [], "run: python -m instructor documents"
    facts, text = gather(), (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert f"for {facts['laptop pretrain epochs']} epochs;" in text, "measure the seeds again"
    (row,) = re.findall(r"(?m)^\| world, laptop preset.*$", text)
    assert all(f"| {facts[name]} |" in row for name in facts if re.match("seeds .* dev$", name))
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- generated: jobs 5 -->\n\nold\n\n<!-- end -->\nb\n", encoding="utf-8")
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    assert tables.find_stale() == ["README.md"]
    tables.write()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("a\n") and text.endswith("<!-- end -->\nb\n") and "old" not in text
    assert all(f"`{target.target}`" in text for target in PROBLEMS["5"].targets)
    assert tables.find_stale() == []


def test_pages_are_stale_when_what_a_reader_sees_differs(tmp_path, monkeypatch):
    feedback = (site.SITE / "feedback.html").read_text(encoding="utf-8")
    coded = {check.id for check in read_manifest(MANIFEST).checks.values() if check.coded}
    assert {*re.findall(r"\b(\d[a-z]-\d+-\w+)\b", feedback)} == coded
    monkeypatch.setattr(site, "SITE", tmp_path)
    page = b"<style>b {}</style><p>An error of 0.123456, for 1.5 points"
    site.write({"a.html": page})
    assert site.find_stale({"a.html": page.replace(b"456", b"457").replace(b"{}", b"{ }")}) == []
    for old, new in ((b"1.5", b"2.5"), (b"error", b"fault")):
        assert site.find_stale({"a.html": page.replace(old, new)}) == ["a.html"]
    assert site.find_stale({"b.html": page}) == ["b.html"]


def test_an_image_has_the_repository_and_nothing_of_students():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [("" if line[:3] == "**/" else "/") + line for line in lines if line[:1] not in "#"]
    words = ["git", "-C", str(ROOT), "ls-files", "-ci", *(f"--exclude={one}" for one in patterns)]
    assert subprocess.check_output(words, encoding="utf-8") == ""
    students = "**/*.sqlite **/*.csv **/submission.zip **/grading.json submissions class demo-*"
    assert {*students.split(), ".git", ".venv*", "**/__pycache__"} <= {*lines}
