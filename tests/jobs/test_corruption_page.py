"""The page of span corruption: it reads x and y, and says what is not as asked."""

import random
import re
import shutil
import subprocess
import sys

import pytest

from browser import SIZES, opened, sideways, violations
from common.files import UserError
from conftest import ROOT, SOLUTION, STARTER
from jobs.package import load_module
from jobs.problem1.corruption import page as corruption_page
from jobs.problem1.corruption.draws import read_draw
from jobs.problem1.corruption.page import fragment, show_corruption
from jobs.problem1.corruption.verdict import verdicts
from page import Page

WORDS = "a be cat dogs eaten fields grew hills into jade <kept> & lines".split()


@pytest.fixture
def corpus(tmp_path, seed):
    """A folder with a wiki.txt of random documents, some of them short."""
    folder = tmp_path / "data"
    folder.mkdir()
    documents = [" ".join(random.choices(WORDS, k=random.randint(8, 25))) for _ in range(40)]
    (folder / "wiki.txt").write_text("\n".join(documents) + "\n", encoding="utf-8")
    return folder


def changed(folder, old, new):
    """The reference's dataset.py with a change."""
    for path in SOLUTION.glob("*.py"):
        shutil.copy(path, folder / path.name)
    text = (SOLUTION / "dataset.py").read_text(encoding="utf-8")
    assert old in text
    (folder / "dataset.py").write_text(text.replace(old, new), encoding="utf-8")
    return load_module(folder, "dataset.py")


@pytest.mark.parametrize("block_size", [24, 64, 91])
def test_draws_are_read_from_x_and_y(submission, corpus, block_size):
    text = (corpus / "wiki.txt").read_text(encoding="utf-8").rstrip()
    dataset = submission.CharCorruptionDataset(text, block_size)
    draws = [read_draw(dataset, i % len(dataset)) for i in range(300)]
    for i, draw in enumerate(draws):
        prefix, masked, suffix = draw.parts
        assert not draw.fault and draw.document == dataset.data[i % len(dataset)]
        assert draw.document.startswith(prefix + masked + suffix) and masked
        assert draw.x.startswith(f"{prefix}\u2047{suffix}\u2047{masked}\u2047"[:block_size])
    html = fragment(draws, block_size, "mine")
    page = Page(html)
    kinds = [attrs.get("class") for _, attrs in page.tags]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert kinds.count("example") == 24 and html.count(" hidden>") == 24  # one shown, one button
    assert html.count('role="img"') == 3 and all(each.startswith("mine") for each in ids)
    assert "<kept>" not in html and not re.search(r"\son\w+=|<script", html)


WRONG = {
    "x, y = ids[:-1], ids[1:]": [
        ("x, y = ids[:-1], ids[:-1]", "y is not x shifted by one"),
        ("x, y = ids[:-2], ids[1:-1]", "x has 63 tokens. Asked: block_size, 64"),
        ("x, y = ids[:-1].int(), ids[1:].int()", "x is torch.int32. Asked: torch.int64"),
        ("x, y = ids[:-1].flip(0), ids.flip(0)[:-1]", "is not x shifted"),
    ],
    "masked_content + self.MASK_CHAR": [("masked_content", "There are 2 MASKs")],
    "text = prefix + self.MASK_CHAR + suffix": [
        ("text = suffix + self.MASK_CHAR + prefix", "together are not the start of the document"),
        ("text = self.PAD_CHAR + prefix + self.MASK_CHAR + suffix", "PAD before the end"),
    ],
    "int(self.block_size * 3 / 4)": [("int(self.block_size * 7 / 8)", "The truncated length is")],
    "random.randint(1, 2 * mean - 1)": [("random.randint(0, 2 * mean - 1)", "Nothing is masked")],
}


@pytest.mark.parametrize(
    ("old", "new", "words"), [(old, *each) for old, found in WRONG.items() for each in found]
)
def test_a_page_says_what_is_wrong(corpus, tmp_path, capsys, old, new, words):
    show_corruption(changed(tmp_path, old, new), corpus, tmp_path / "page.html")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert words in page.text and "draws do not have the form" in page.text
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("int(self.block_size * 3 / 4)", "int(self.block_size * 3 / 4) - 1", "Never: 48\\."),
        ("math.floor(length / 4 + ", "math.floor(length / 2 + ", "Masked share: mean 0.(4[7-9]|5)"),
    ],
)
def test_histograms_say_what_is_wrong(corpus, tmp_path, old, new, words):
    show_corruption(changed(tmp_path, old, new), corpus, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(words, text) and "All draws have the form" in text


def test_right_draws_are_never_far_off(submission, corpus, seed):
    text = (corpus / "wiki.txt").read_text(encoding="utf-8").rstrip()
    dataset = submission.CharCorruptionDataset(text, 64)
    for number in range(200):
        random.seed(f"{seed} {number}")
        draws = [read_draw(dataset, i % len(dataset)) for i in range(400)]
        assert verdicts(draws, 64) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("random.randint(0, length - masked_length)", "(length - masked_length) // 2", "starts"),
        (
            "document = document[:length]",
            "length = min(length, 40); document = document[:length]",
            "lengths",
        ),
        ("math.floor(length / 4 + ", "math.floor(length / 2 + ", "masked share"),
    ],
)
def test_a_page_says_which_distribution_is_far_off(corpus, tmp_path, capsys, old, new, words):
    show_corruption(changed(tmp_path, old, new), corpus, tmp_path / "page.html")
    text = Page((tmp_path / "page.html").read_text(encoding="utf-8")).text
    said = capsys.readouterr().out
    assert said.startswith("Drawing 1,000 examples")
    for place in (text, said):
        assert re.search(f"The [a-z ]*{words}[a-z ]* far from", place)


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("return None", r"returned NoneType"),
        ("return ids[:-1].tolist(), ids[1:]", "x as list"),
        ("x, y = ids[:-1] + 500, ids[1:]", "not in the vocabulary"),
        ("return 1 / 0", r"dataset.py, line \d+, in __getitem__:\n.*\nZeroDivisionError"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(corpus, tmp_path, new, words):
    module = changed(tmp_path, "x, y = ids[:-1], ids[1:]", new)
    with pytest.raises(UserError, match=words):
        show_corruption(module, corpus, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def run(folder, *arguments):
    """dataset.py in that folder."""
    command = [sys.executable, "dataset.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=100)


def test_the_command_of_a_student(corpus, tmp_path):
    process = run(STARTER, "charcorruption", "--html")
    assert process.returncode == 3 and "1c: CharCorruptionDataset.__getitem__" in process.stderr
    process = run(STARTER, "namedata", "--html")
    assert process.returncode == 1 and "there is no page of namedata" in process.stderr
    process = run(SOLUTION, "charcorruption", "--html")
    assert process.returncode == 1 and "needs the assignment's" in process.stderr
    copy = tmp_path / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(SOLUTION / "dataset.py", copy / "submission" / "dataset.py")
    process = run(copy / "submission", "charcorruption", "--html", "--data", corpus)
    assert process.returncode == 0 and "span_corruption.html: open it" in process.stdout
    assert (copy / "submission" / "span_corruption.html").is_file()


@pytest.mark.full
def test_in_a_browser(browser, submission, corpus, tmp_path):
    module = load_module(SOLUTION, "dataset.py")
    show_corruption(module, corpus, tmp_path / "page.html")
    for size in SIZES:
        for scheme in ("light", "dark"):
            with opened(browser, tmp_path / "page.html", size, scheme) as tab:
                assert violations(tab) == [] and sideways(tab) <= 0
                rows = tab.locator(".rows .scroll:visible")
                shadow = rows.evaluate("box => getComputedStyle(box).backgroundImage")
                assert "gradient" in shadow and rows.get_attribute("tabindex") == "0"
    with opened(browser, tmp_path / "page.html") as tab:
        seen = set()
        for number in range(1, corruption_page.EXAMPLES + 1):
            assert tab.locator(".example:visible").count() == 1
            assert f"Example {number} of" in tab.locator("[role=status]").inner_text()
            seen.add(tab.locator(".example:visible").inner_text())
            tab.get_by_role("button", name="Draw again").click()
        assert len(seen) > corruption_page.EXAMPLES / 2
        assert "Example 1 of" in tab.locator("[role=status]").inner_text()
