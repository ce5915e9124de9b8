"""Question 6c: the solution, compared with the handout's formulas in exact arithmetic and complex
numbers.
"""

import numpy as np
import pytest
import torch


@pytest.fixture
def positions(submission):
    """The solution's positions.py."""
    from submission.problem6 import positions

    return positions


def turns(at, width: int) -> np.ndarray:
    """exp(i p w) for each position and pair: cosine and sine at once, with more digits."""
    w = np.longdouble(10000) ** (-2 * np.arange(width // 2) / np.longdouble(width))
    angles = np.outer(np.asarray(at, np.longdouble), w)
    return np.cos(angles) + 1j * np.sin(angles)


def test_sines_and_cosines(positions):
    at = np.array([3.5, -2.25, 0, 999])
    for vectors, z in [
        (positions.sinusoidal_at(at, 10), turns(at, 10)),
        (positions.sinusoidal(1000, 6), turns(np.arange(1000), 6)),
    ]:
        assert np.abs(vectors[:, 0::2] - z.imag).max() < 1e-11
        assert np.abs(vectors[:, 1::2] - z.real).max() < 1e-11


@pytest.mark.parametrize("k", [1, 50, 1000, -37])
def test_a_shift_shifts(positions, k):
    at = np.array([0, 17.25, -3, 1000])
    shifted = positions.sinusoidal_at(at, 12) @ positions.shift_matrix(k, 12)
    assert np.abs(shifted - positions.sinusoidal_at(at + k, 12)).max() < 1e-10


def test_rope_scores_are_products_of_complex_numbers(positions, seed):
    q, k = np.random.default_rng(seed).standard_normal((2, 10))
    a, b = (x[0::2] + 1j * x[1::2] for x in (q, k))
    queries, keys = [5, 2, 9, 0], [1, 7, 3, 0]
    scores = positions.rope_scores(torch.from_numpy(q), torch.from_numpy(k), queries, keys)
    right = ((a * turns(queries, 10)) * (b * turns(keys, 10)).conj()).real.sum(axis=1)
    assert np.abs(scores.numpy() - right).max() < 1e-5  # the table is float32


def test_biases_and_interpolated_positions(positions):
    bias = positions.alibi_bias(3, 5)
    for h, i, j in np.ndindex(3, 5, 5):
        assert bias[h, i, j] == pytest.approx(-(2 ** (-8 * (h + 1) / 3)) * abs(i - j), abs=1e-15)
    assert positions.interpolated_positions(4, 6).tolist() == [0, 1, 2, 3]
    assert positions.interpolated_positions(8, 6) == pytest.approx(np.arange(8) * 0.75)
