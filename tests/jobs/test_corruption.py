"""Span corruption is shown from x and y alone, with what is not as asked."""

import random
import re

import pytest

import run
from common.files import UserError
from helpers import SOLUTION, call
from instructor.mistakes.patches import Edit, make
from jobs.small import run_small
from run import build_parser

WORDS = "a be cat dogs eaten fields grew hills into jade <kept> & lines".split()


@pytest.fixture
def corpus(tmp_path, seed):
    """A folder with a wiki.txt of random documents, some of them short."""
    folder = tmp_path / "data"
    folder.mkdir()
    documents = [" ".join(random.choices(WORDS, k=random.randint(8, 25))) for _ in range(40)]
    (folder / "wiki.txt").write_text("\n".join(documents) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def show(corpus, tmp_path, capsys):
    """A function that shows the reference's span corruption with a change of dataset.py, old to
    new; returns what was printed.
    """

    def shown(old="", new=""):
        code = make((Edit("dataset.py", old, new),) if old else (), tmp_path / "code")
        words = ["--submission", code, "--data", corpus, "--out", tmp_path]
        run_small(build_parser().parse_args(["show_corruption", *map(str, words)]))
        assert (tmp_path / "span_corruption.png").read_bytes().startswith(b"\x89PNG")
        return capsys.readouterr().out

    return shown


RETURN = "x, y = ids[:-1], ids[1:]"
CHANGES = [
    (RETURN, "x, y = ids[:-1], ids[:-1]", "not x shifted by one"),
    (RETURN, "x, y = ids[:-1].flip(0), ids.flip(0)[:-1]", "not x shifted by one"),
    (RETURN, "x, y = ids[:-2], ids[1:-1]", r"\(63,\).*Asked: \(64,\)"),
    (RETURN, "x, y = ids[:-1].int(), ids[1:].int()", "int32.*Asked: .*int64"),
    ("masked_content + self.MASK_CHAR", "masked_content", "x has 2 MASKs"),
    (RETURN, "x = y = ids[:-1] * 0", "x has 0 MASKs"),
    (
        "text = prefix + self.MASK_CHAR + suffix",
        "text = suffix + self.MASK_CHAR + prefix",
        "not make the document's start",
    ),
    (
        "text = prefix + self.MASK_CHAR",
        "text = self.PAD_CHAR + prefix + self.MASK_CHAR",
        "not make the document's start",
    ),
    ("self.block_size * 3 / 4", "self.block_size * 7 / 8", r"Asked: .* 3/4\), 48"),
    ("randint(1, 2 * mean - 1)", "randint(0, 2 * mean - 1)", "0 of .* masked. Asked: at least 1"),
]


@pytest.mark.parametrize(("old", "new", "words"), CHANGES)
def test_what_is_not_as_asked_is_said(show, old, new, words):
    said = show(old, new)
    assert re.search(rf"[\d,]+ of 3,000 draws are not as asked, such as: .*{words}", said)


@pytest.mark.parametrize(
    ("old", "new", "what", "low", "high"),
    [
        # over 3,000 draws, 5 standard deviations of what is asked: 26 +- 1.2 and 0.25 +- 0.015
        ("", "", r"length: 4 to 48, mean (\S+)\. ", 24.8, 27.2),
        ("", "", r"share: .*mean (\S+)\. A", 0.23, 0.27),
        ("block_size * 3 / 4", "block_size * 5 / 8", r"length: 4 to (\d+),", 40, 40),
        ("floor(length / 4 +", "floor(length / 2 +", r"share: .*mean (\S+)\. A", 0.44, 0.56),
        (
            "randint(0, length - masked_length)",
            "randint(0, 0)",
            r"start of the span: .*mean (\S+)\. A",
            0,
            0,
        ),
    ],
)
def test_numbers_are_measured(show, old, new, what, low, high):
    printed = show(old, new)
    assert low <= float(re.search(what, printed)[1]) <= high
    assert "All draws have the form" in printed and printed.count("document: ") == 4


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("return None", "returned NoneType"),
        ("return ids[:-1].tolist(), ids[1:]", r"tensors .* returned tuple \(\["),
        ("x, y = ids[:-1] + 500, ids[1:]", "tokens of the vocabulary"),
        ("return 1 / 0", r"dataset.py, line \d+, in __getitem__:\n.*\nZeroDivisionError"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(show, tmp_path, new, words):
    with pytest.raises(UserError, match=words):
        show(RETURN, new)
    assert not (tmp_path / "span_corruption.png").exists()


def test_the_command(tmp_path):
    words = ("show_corruption", "--out", tmp_path)
    process = call(run.main, *words)
    assert process.returncode == 3 and "1c: CharCorruptionDataset.__getitem__" in process.stderr
    assert not any(tmp_path.iterdir())
    process = call(run.main, *words, "--submission", SOLUTION)
    assert process.returncode == 0 and (tmp_path / "span_corruption.png").is_file()
