"""The job plot_positions of question 6c: the picture, the errors that it prints, and what it says
about mistakes.
"""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from common.files import UserError
from helpers import SOLUTION
from jobs.problem6.positions import plot_positions
from jobs.small import run_small
from run import build_parser


@pytest.fixture
def reference(submission):
    """The functions of the reference, to be replaced."""
    from submission.problem6 import positions

    return SimpleNamespace(**vars(positions))


def test_the_reference_is_right_in_all_claims(tmp_path, capsys):
    words = ["plot_positions", "--submission", str(SOLUTION), "--out", str(tmp_path)]
    run_small(build_parser().parse_args(words))
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
    "a little off": ("sinusoidal", lambda f: lambda n, d: f(n, d) + 1e-10, "stay in float64"),
    "transposed": ("shift_matrix", lambda f: lambda k, d: f(k, d).T, "a row on the left"),
    "far shifts": ("shift_matrix", lambda f: lambda k, d: f(min(k, 99), d), "a row on the left"),
    "zeros": ("rope_scores", lambda f: lambda q, k, m, n: torch.zeros(len(m)), "not scaled"),
    "exchanged": ("rope_scores", lambda f: lambda q, k, m, n: f(q, k, n, m), "same direction"),
}


@pytest.mark.parametrize("name, change, advice", CHANGES.values(), ids=CHANGES)
def test_errors_that_are_too_large_get_advice(reference, tmp_path, capsys, name, change, advice):
    setattr(reference, name, change(getattr(reference, name)))
    plot_positions(reference, tmp_path, 0)
    said = capsys.readouterr().out
    assert re.search(rf"^  {name}\b.*too large$", said, re.MULTILINE) and advice in said


def test_what_is_missing_is_said_in_its_place(reference, tmp_path, capsys):
    """What torch lacks is an error."""

    def missing(*args):
        raise NotImplementedError(message)

    reference.shift_matrix = missing
    message = "6c: shift_matrix"
    plot_positions(reference, tmp_path, 0)
    said = capsys.readouterr().out
    assert said.count("not implemented yet: 6c: shift_matrix") == 4 and said.count("right") == 3
    assert (tmp_path / "positions.png").is_file()
    message = "torch lacks this operator"
    with pytest.raises(NotImplementedError, match="operator"):
        plot_positions(reference, tmp_path, 0)


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("sinusoidal", None, "None"),
        ("sinusoidal", np.zeros((3, 2)), r"shape \(3, 2\)"),
        ("sinusoidal", np.full((2000, 512), np.nan), "NaN"),
        ("sinusoidal", torch.zeros(1000, 512), "tensor"),
        ("sinusoidal", np.full((2000, 512), None), "object"),
        ("shift_matrix", np.eye(2), r"shape \(2, 2\)"),
        ("rope_scores", torch.full((94,), torch.nan), "NaN or infinity in 94 of 94"),
        ("rope_scores", torch.zeros(94, dtype=torch.float64), "float64"),
    ],
)
def test_nonsense_is_a_sentence(reference, tmp_path, name, value, says):
    setattr(reference, name, lambda *args: value)
    with pytest.raises(UserError, match=f"{name}.* returned (.|\n)*{says}"):
        plot_positions(reference, tmp_path, 0)
    assert not list(tmp_path.glob("*.tmp"))
