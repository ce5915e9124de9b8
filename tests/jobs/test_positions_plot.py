"""The job plot_positions of question 6c: the picture, the errors that it prints, and what it says
about mistakes.
"""

import argparse
import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from common.files import UserError
from conftest import SOLUTION, STARTER, run_cli
from jobs.problem6 import positions as positions_plot
from jobs.problem6.positions import plot_positions
from jobs.small import run_small


@pytest.fixture
def reference(submission):
    """The functions of the reference, to be replaced."""
    from submission.problem6 import positions

    return SimpleNamespace(
        **{name: getattr(positions, name) for name in ("sinusoidal", "shift_matrix", "rope_scores")}
    )


def test_the_reference_is_right_in_all_claims(tmp_path, capsys):
    options = dict.fromkeys(("preset", "data", "gold", "device", "resume", "log"))
    options |= {"target": "plot_positions", "submission": SOLUTION, "seed": 0, "precision": "auto"}
    run_small(argparse.Namespace(out=tmp_path, **options))
    said = capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["positions.png"]
    assert (tmp_path / "positions.png").read_bytes().startswith(b"\x89PNG")
    assert f"Wrote {tmp_path / 'positions.png'}" in said
    lines = re.findall(r"^  (\S.*?)  +(\S+)   (\S+)   right$", said, flags=re.MULTILINE)
    assert [name for name, _, _ in lines] == [
        "sinusoidal",
        *(f"shift_matrix, k = {k}" for k in ("1", "50", "100", "1,000")),
        "rope_scores, spread",
        "rope_scores, error",
    ]
    assert all(float(error) < float(limit) for _, error, limit in lines) and "too large" not in said


def narrow(values):
    return values.astype(np.float32).astype(float)


CHANGES = {
    "float32": ("sinusoidal", lambda f: lambda n, d: narrow(f(n, d)), "stay in float64"),
    "another table": ("sinusoidal", lambda f: lambda n, d: -f(n, d), "not measured yet"),
    "transposed": ("shift_matrix", lambda f: lambda k, d: f(k, d).T, "a row on the left"),
    "far shifts": ("shift_matrix", lambda f: lambda k, d: f(min(k, 99), d), "a row on the left"),
    "key not rotated": (
        "rope_scores",
        lambda f: lambda q, k, m, n: f(q, k, m, [0] * len(m)),
        "both in the same direction",
    ),
    "zeros": ("rope_scores", lambda f: lambda q, k, m, n: torch.zeros(len(m)), "not scaled"),
    "exchanged": (
        "rope_scores",
        lambda f: lambda q, k, m, n: f(q, k, n, m),
        "both in the same direction",
    ),
}


@pytest.mark.parametrize("name, change, advice", CHANGES.values(), ids=CHANGES)
def test_errors_that_are_too_large_get_advice(reference, tmp_path, capsys, name, change, advice):
    setattr(reference, name, change(getattr(reference, name)))
    plot_positions(reference, tmp_path, 0)
    said = capsys.readouterr().out
    assert re.search(rf"^  {name}\b.*too large$", said, re.MULTILINE) and advice in said


def test_what_is_missing_is_said_in_its_place(reference, tmp_path, capsys):
    def missing(*args):
        raise NotImplementedError("6c: shift_matrix")

    reference.shift_matrix = missing
    plot_positions(reference, tmp_path, 0)
    said = capsys.readouterr().out
    assert said.count("not implemented yet: 6c: shift_matrix") == 4 and said.count("right") == 3
    assert (tmp_path / "positions.png").is_file()


@pytest.mark.parametrize("seed", range(5))
def test_a_table_of_rope_in_float32_is_right(submission, monkeypatch, seed):
    from submission import attention
    from submission.problem6 import positions

    def table(dim, length):
        w = 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float32) / dim)
        angles = torch.outer(torch.arange(length, dtype=torch.float32), w)
        return torch.stack((angles.cos(), angles.sin()), dim=-1)

    assert torch.allclose(table(8, 3), attention.precompute_rotary_emb(8, 3))
    monkeypatch.setattr(positions, "precompute_rotary_emb", table)
    assert (
        1e-6 < positions_plot.rope_spread(positions, seed) < 1e-4
        and positions_plot.rope_error(positions, seed) < 1e-4
    )


COLUMNS = np.arange(512)
TABLES = {
    "cosines first": lambda table: table[:, COLUMNS ^ 1],
    "all sines first": lambda table: table[:, np.r_[0:512:2, 1:512:2]],
    "positions from one": lambda table: np.concatenate((table[1:], table[:1])),
    "scaled": lambda table: table * 0.5,
    "a little off": lambda table: table + 1e-10,
    "one row": lambda table: np.where(np.arange(1000)[:, None] == 900, table[899:900], table),
    "frequencies twice": lambda table: table[:, COLUMNS // 4 * 4 + COLUMNS % 2],
}


@pytest.mark.parametrize("change", TABLES.values(), ids=TABLES)
def test_a_wrong_table_is_told_from_the_right_one(reference, change):
    table = reference.sinusoidal(1000, 512)
    assert positions_plot.encoding_error(table) < 1e-12
    assert positions_plot.encoding_error(change(table)) > 5e-11


def test_the_starter_is_told_what_is_missing(tmp_path):
    process = run_cli("plot_positions", "--submission", STARTER, "--out", tmp_path)
    assert process.returncode == 3 and "Not implemented yet: 6c: sinusoidal" in process.stderr
    assert "Traceback" not in process.stderr and not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("sinusoidal", None, "None"),
        ("sinusoidal", np.zeros((3, 2)), r"shape \(3, 2\)"),
        ("sinusoidal", np.full((2000, 512), np.nan), "NaN"),
        ("sinusoidal", np.zeros((2000, 512), np.float32), "float32"),
        ("sinusoidal", torch.zeros(1000, 512), "tensor"),
        ("shift_matrix", np.eye(2), r"shape \(2, 2\)"),
        ("shift_matrix", 1.0, "1.0"),
        ("rope_scores", None, "None"),
        ("rope_scores", torch.zeros(3), r"shape \(3,\)"),
        ("rope_scores", torch.full((94,), torch.nan), "94 scores that are NaN"),
        ("rope_scores", torch.zeros(94, dtype=torch.complex64), "complex64"),
        ("rope_scores", torch.zeros(94, dtype=torch.float64), "float64"),
    ],
)
def test_nonsense_is_a_sentence(reference, tmp_path, name, value, says):
    setattr(reference, name, lambda *args: value)
    with pytest.raises(UserError, match=f"{name}.* returned (.|\n)*{says}"):
        plot_positions(reference, tmp_path, 0)
    assert not list(tmp_path.glob("*.tmp"))
