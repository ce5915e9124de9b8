"""Documents are up to date, short enough, and name nothing that does not exist."""

import re
import subprocess

import pytest

from autograder import read_manifest
from checks.support.session import MANIFEST
from common.files import UserError
from helpers import ROOT
from instructor.commands import parse
from instructor.documents import site, tables
from instructor.documents.facts import gather
from jobs.targets import PROBLEMS, TARGETS

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


def test_generated_parts_are_up_to_date():
    """CI compares the pages, too, which takes a minute: python -m instructor documents --check."""
    assert tables.find_stale() == [], "run: python -m instructor documents"


def test_a_stale_part_is_found_and_made_anew(tmp_path, monkeypatch):
    page = tmp_path / "README.md"
    page.write_text("a\n<!-- generated: jobs 5 -->\n\nold\n\n<!-- end -->\nb\n", encoding="utf-8")
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr(tables, "DOCUMENTS", ("README.md",))
    assert tables.find_stale() == ["README.md"]
    tables.write()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("a\n") and text.endswith("<!-- end -->\nb\n") and "old" not in text
    assert all(f"`{target.target}`" in text for target in PROBLEMS["5"].targets)
    assert tables.find_stale() == []
    page.write_text("<!-- generated: nonsense -->\n\nx\n\n<!-- end -->\n", encoding="utf-8")
    with pytest.raises(UserError, match="nonsense"):
        tables.find_stale()


def test_pages_are_stale_when_what_a_reader_sees_differs(tmp_path, monkeypatch):
    monkeypatch.setattr(site, "SITE", tmp_path)
    page = b"<style>b {}</style><p>An error of 0.123456, for 1.5 points"
    site.write({"a.html": page})
    assert site.find_stale({"a.html": page.replace(b"456", b"457").replace(b"{}", b"{ }")}) == []
    for old, new in ((b"1.5", b"2.5"), (b"error", b"fault")):
        assert site.find_stale({"a.html": page.replace(old, new)}) == ["a.html"]
    assert site.find_stale({"b.html": page}) == ["b.html"]


def test_front_doors_are_short():
    for name, most in (("README.md", 75), ("docs/architecture.md", 199), ("docs/security.md", 199)):
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most, name
    assert sum(path.stat().st_size for path in site.SITE.iterdir()) <= 4 * 2**20


def test_the_feedback_page_has_all_checks():
    feedback = (site.SITE / "feedback.html").read_text(encoding="utf-8")
    shown = set(re.findall(r"\b(\d[a-z]-\d+-\w+)\b", feedback))
    coded = {check.id for check in read_manifest(MANIFEST).checks.values() if check.coded}
    assert shown == coded and "wrong answer" in feedback and "not implemented" in feedback


def test_links_lead_somewhere():
    texts = documents()
    for name, text in texts.items():
        folder = (ROOT / name).parent
        for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text)):
            if "://" in target or "@" in target:
                continue
            path, _, anchor = target.partition("#")
            found = (folder / path).resolve() if path else ROOT / name
            assert found.exists(), f"{name}: {target}"
            if anchor:
                other = texts[found.relative_to(ROOT).as_posix()]
                assert anchor in anchors(other), f"{name}: {target}"


def test_files_that_documents_name_exist():
    for name, text in documents().items():
        if name == "docs/adding-a-question.md":
            continue  # it adds files
        for path in re.findall(rf"`((?:{TOP})/[\w./-]*\w)`", text):
            here = (ROOT / path).exists() or (ROOT / name).parent.joinpath(path).exists()
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


def test_accuracies_are_those_of_the_seeds():
    facts, text = gather(), (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert f"for {facts['laptop pretrain epochs']} epochs;" in text, "measure the seeds again"
    (row,) = re.findall(r"(?m)^\| world, laptop preset.*$", text)
    for name in ("nopretrain", "vanilla", "rope", "baseline"):
        assert f"| {facts[f'seeds {name} dev']} |" in row, name
