"""./run.sh measure_sparse: what it measures, prints and draws (question 6d)."""

import re

import pytest

from common.files import UserError
from helpers import SOLUTION
from jobs.package import load_submission
from jobs.problem6 import measure_sparse as job


@pytest.fixture
def short(monkeypatch):
    """Lengths that take no time."""
    monkeypatch.setattr(job, "LENGTHS", (300, 700))
    monkeypatch.setattr(job, "COMPARED", (200, 500))
    monkeypatch.setattr(job, "LIMITS", {"exponent": 1.15, "GB": 1.5, 200: 1.5, 500: 1 / 8})


CODE = """
import os, torch

class Pattern:
    pass

def sparse_attention(q, k, v, pattern, global_positions=()):
    {line}
    return v
"""


def fill(submission, line):
    """A submission whose sparse_attention runs this line, and returns the values."""
    (submission / "problem6").mkdir(parents=True)
    (submission / "__init__.py").touch()
    code = CODE.format(line=line)
    (submission / "problem6" / "efficient_attention.py").write_text(code, encoding="utf-8")


@pytest.mark.full
def test_it_prints_tables_and_draws(short, tmp_path, capsys):
    job.measure_sparse(load_submission(SOLUTION, job.FILE), SOLUTION, tmp_path)
    said = capsys.readouterr().out
    rows = re.findall(r"^ +(300|700) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", said, re.MULTILINE)
    assert [row[0] for row in rows] == ["300", "700"]
    for n, *_, dense in rows:
        assert float(dense) == round(4 * 8 * int(n) ** 2 / 1e9, 1)
    compared = re.findall(
        r"^ +(\d+)   sparse [\d.]+   dense [\d.]+   \(sparse (.*?)\)$", said, re.M
    )
    assert [n for n, _ in compared] == ["200", "500"] and "under 1.5 GB" in said
    assert "at most 1.5" in compared[0][1] and "at least 8" in compared[1][1]
    assert [path.name for path in tmp_path.iterdir()] == ["sparse_attention.png"]
    assert (tmp_path / "sparse_attention.png").read_bytes().startswith(b"\x89PNG")


def test_memory_is_what_is_held_at_the_peak(tmp_path):
    """200 MB that are held for a moment, and queries, keys and values, to 20%."""
    size = 200_000_000
    fill(tmp_path / "student", f"if q.size(2) > 1024: torch.ones({size // 4})")
    seconds, held = job.measure(2000, tmp_path / "student")
    expected = size + 3 * 2000 * job.N_HEAD * job.HEAD_DIM * 4
    assert seconds >= 0 and abs(held - expected) < 0.2 * expected


def test_a_process_that_dies_is_explained(short, tmp_path):
    fill(tmp_path / "student", "if q.size(2) != 1024: os._exit(9)")
    with pytest.raises(UserError, match="300 tokens was ended from outside.*memory"):
        job.measure_sparse(load_submission(SOLUTION, job.FILE), tmp_path / "student", tmp_path)
