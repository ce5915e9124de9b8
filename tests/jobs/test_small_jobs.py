"""Jobs that show one function: span corruption (1c), positions (6c), sparse attention (6d)."""

import random
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import run
from common.files import UserError
from helpers import SOLUTION, call
from instructor.mistakes.patches import Edit, Fill
from jobs.package import load_submission
from jobs.problem6 import measure_sparse as sparse
from jobs.problem6.positions import plot_positions

WORDS = "a be cat dogs eaten fields grew hills into jade <kept> & lines".split()


@pytest.fixture
def show_corruption(code, tmp_path):
    """A function that runs the job on random documents, some of them short, with a change of the
    reference's dataset.py, old to new.
    """
    documents = [" ".join(random.choices(WORDS, k=random.randint(8, 25))) for _ in range(40)]
    (tmp_path / "wiki.txt").write_text("\n".join(documents) + "\n", encoding="utf-8")

    def show(old="", new=""):
        submission = code(Edit("dataset.py", old, new)) if old else SOLUTION
        options = ("--submission", submission, "--data", tmp_path, "--out", tmp_path)
        return call(run.main, "show_corruption", *options)

    return show


RETURN = "x, y = ids[:-1], ids[1:]"
JOINED = "text = prefix + self.MASK_CHAR + suffix"
ODD = r"[\d,]+ of 3,000 draws are not as asked, such as: .*"
CHANGES = [
    (RETURN, "x, y = ids[:-1], ids[:-1]", 0, f"{ODD}not x shifted by one"),
    (RETURN, "x, y = ids[:-2], ids[1:-1]", 0, rf"{ODD}\(63,\).*Asked: \(64,\)"),
    (RETURN, "x, y = ids[:-1].int(), ids[1:].int()", 0, f"{ODD}int32.*Asked: .*int64"),
    (RETURN, "x = y = ids[:-1] * 0", 0, f"{ODD}x has 0 MASKs"),
    (JOINED, "text = suffix + self.MASK_CHAR + prefix", 0, f"{ODD}not make the document's start"),
    ("block_size * 3 / 4", "block_size * 7 / 8", 0, rf"{ODD}Asked: .* 3/4\), 48"),
    ("randint(1, 2 * mean", "randint(0, 2 * mean", 0, f"{ODD}0 of .* masked. Asked: at least 1"),
    (RETURN, "return None", 2, "returned NoneType"),
    (RETURN, "return ids[:-1].tolist(), ids[1:]", 2, r"tensors .* returned tuple \(\["),
    (RETURN, "x, y = ids[:-1] + 500, ids[1:]", 2, "tokens of the vocabulary"),
    (RETURN, "return 1 / 0", 2, r"dataset.py, line \d+, in __getitem__:\n.*\nZeroDivisionError"),
]


@pytest.mark.parametrize(("old", "new", "exit_code", "words"), CHANGES)
def test_corruption_that_is_not_as_asked(show_corruption, tmp_path, old, new, exit_code, words):
    process = show_corruption(old, new)
    assert process.returncode == exit_code
    assert re.search(words, process.stdout + process.stderr)
    assert (tmp_path / "span_corruption.png").exists() == (exit_code == 0)


# over 3,000 draws, 5 standard deviations of what is asked: 26 +- 1.2 and 0.25 +- 0.015
MEASURED = [
    ("", "", r"length: 4 to 48, mean (\S+)\. ", 24.8, 27.2),
    ("", "", r"share: .*mean (\S+)\. A", 0.23, 0.27),
    ("floor(length / 4 +", "floor(length / 2 +", r"share: .*mean (\S+)\. A", 0.44, 0.56),
    ("randint(0, length - masked_length)", "randint(0, 0)", r"span: .*mean (\S+)\. A", 0, 0),
]


@pytest.mark.parametrize(("old", "new", "what", "low", "high"), MEASURED)
def test_corruption_is_measured(show_corruption, tmp_path, old, new, what, low, high):
    printed = show_corruption(old, new).stdout
    assert low <= float(re.search(what, printed)[1]) <= high
    assert "All draws have the form" in printed and printed.count("document: ") == 4
    assert (tmp_path / "span_corruption.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def positions(submission):
    """The functions of the reference, to be replaced."""
    return SimpleNamespace(**vars(load_submission(SOLUTION, "problem6/positions.py")))


def test_positions_of_the_reference_are_right(tmp_path):
    said = call(run.main, "plot_positions", "--submission", SOLUTION, "--out", tmp_path).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["positions.png"]
    assert (tmp_path / "positions.png").read_bytes().startswith(b"\x89PNG")
    lines = re.findall(r"^  (\S.*?)  +(\S+)   (\S+)   right$", said, flags=re.MULTILINE)
    shifts = [f"shift_matrix, k = {k}" for k in ("1", "50", "100", "1,000")]
    expected = ["sinusoidal", *shifts, "rope_scores, spread", "rope_scores, error"]
    assert [name for name, _, _ in lines] == expected and "too large" not in said
    assert all(float(error) < float(limit) for _, error, limit in lines)


ADVICE = [
    ("sinusoidal", lambda f: lambda n, d: f(n, d) + 1e-10, "stay in float64"),
    ("sinusoidal", lambda f: lambda n, d: -f(n, d), "not measured yet"),
    ("shift_matrix", lambda f: lambda k, d: f(k, d).T, "a row on the left"),
    ("rope_scores", lambda f: lambda q, k, m, n: torch.zeros(len(m)), "not scaled"),
    ("rope_scores", lambda f: lambda q, k, m, n: f(q, k, n, m), "same direction"),
]


@pytest.mark.parametrize(("name", "change", "advice"), ADVICE)
def test_positions_with_errors_get_advice(positions, tmp_path, capsys, name, change, advice):
    setattr(positions, name, change(getattr(positions, name)))
    plot_positions(positions, tmp_path, 0)
    said = capsys.readouterr().out
    assert re.search(rf"^  {name}\b.*too large$", said, re.MULTILINE) and advice in said


def test_positions_that_are_missing_are_said_in_their_place(positions, tmp_path, capsys):
    def missing(*args):
        raise NotImplementedError("6c: shift_matrix")

    positions.shift_matrix = missing
    plot_positions(positions, tmp_path, 0)
    said = capsys.readouterr().out
    assert said.count("not implemented yet: 6c: shift_matrix") == 4 and said.count("right") == 3
    assert (tmp_path / "positions.png").is_file()


NONSENSE = [
    ("sinusoidal", np.full((2000, 512), np.nan), "NaN"),
    ("sinusoidal", np.full((2000, 512), None), "object"),
    ("shift_matrix", np.eye(2), r"shape \(2, 2\)"),
    ("rope_scores", torch.full((94,), torch.nan), "NaN or infinity in 94 of 94"),
]


@pytest.mark.parametrize(("name", "value", "words"), NONSENSE)
def test_positions_that_are_nonsense(positions, tmp_path, name, value, words):
    setattr(positions, name, lambda *args: value)
    with pytest.raises(UserError, match=f"{name}.* returned (.|\n)*{words}"):
        plot_positions(positions, tmp_path, 0)
    assert not list(tmp_path.glob("*.tmp"))


@pytest.fixture
def short(monkeypatch):
    """Lengths that take no time."""
    monkeypatch.setattr(sparse, "LENGTHS", (300, 700))
    monkeypatch.setattr(sparse, "COMPARED", (200, 500))
    monkeypatch.setattr(sparse, "LIMITS", {"exponent": 1.15, "GB": 1.5, 200: 1.5, 500: 1 / 8})


@pytest.mark.full
def test_sparse_attention_is_measured_and_drawn(short, tmp_path, capsys):
    sparse.measure_sparse(load_submission(SOLUTION, sparse.FILE), SOLUTION, tmp_path)
    said = capsys.readouterr().out
    rows = re.findall(r"^ +(300|700) +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+)$", said, re.MULTILINE)
    assert rows == [(n, str(round(4 * 8 * int(n) ** 2 / 1e9, 1))) for n in ("300", "700")]
    against = re.findall(r"^ +(\d+)   sparse [\d.]+   dense [\d.]+   \(sparse (.*)\)$", said, re.M)
    assert [n for n, _ in against] == ["200", "500"] and "under 1.5 GB" in said
    assert "at most 1.5" in against[0][1] and "at least 8" in against[1][1]
    assert (tmp_path / "sparse_attention.png").read_bytes().startswith(b"\x89PNG")


def test_memory_of_sparse_attention_is_what_is_held_at_the_peak(code):
    """200 MB that are held for a moment, and queries, keys and values, to 20%."""
    size = 200_000_000
    peak = f"if q.size(2) > 1024:\n    torch.ones({size // 4})\nreturn v"
    seconds, held = sparse.measure(2000, code(Fill("sparse_attention", peak)))
    expected = size + 3 * 2000 * sparse.N_HEAD * sparse.HEAD_DIM * 4
    assert seconds >= 0 and abs(held - expected) < 0.2 * expected


def test_a_process_of_sparse_attention_that_dies_is_explained(short, code, tmp_path):
    dies = 'if q.size(2) != 1024:\n    __import__("os")._exit(9)\nreturn v'
    folder = code(Fill("sparse_attention", dies))
    with pytest.raises(UserError, match="300 tokens was ended from outside.*memory"):
        sparse.measure_sparse(load_submission(SOLUTION, sparse.FILE), folder, tmp_path)
