"""What a comparison keeps for a picture of expected and given numbers."""

import json

import numpy as np
import pytest

from autograder import WrongAnswer, require_close


def compared(got, expected, tolerance=1e-6):
    with pytest.raises(WrongAnswer) as caught:
        require_close("x", got, expected, tolerance)
    return caught.value.compared


@pytest.mark.parametrize("shape", [(2,), (3, 5), (2, 3, 9, 21), (17, 8), (1, 30)])
def test_it_shows_the_surroundings_of_the_first_wrong_number(shape, seed):
    rng = np.random.default_rng(seed)
    expected = rng.normal(size=shape)
    at = tuple(int(rng.integers(n)) for n in shape)
    got = expected.copy()
    got[at] += 1.5
    kept = compared(got, expected)
    rows, columns = kept["wrong"], kept["wrong"][0]
    assert len(rows) <= 8 and len(columns) <= 8 and sum(map(sum, rows)) == 1
    row, column = next((i, j) for i in range(len(rows)) for j in range(len(columns)) if rows[i][j])
    assert float(kept["got"][row][column]) == pytest.approx(got[at], rel=1e-3)
    window = eval("expected" + kept["place"], {"expected": expected})  # noqa: S307 (our own index)
    there = np.array(kept["expected"], float)
    np.testing.assert_allclose(there, np.atleast_2d(window), rtol=1e-3)  # four digits are kept
    json.dumps(kept)


def test_numbers_that_json_lacks_are_kept(seed):
    expected = np.random.default_rng(seed).normal(size=(3, 4))
    got = expected.copy()
    got[1, 2], got[2, 3], expected[0, 0] = np.nan, -np.inf, np.nan  # anything goes there
    kept = compared(got, expected)
    assert kept["got"][1][2] == "nan" and kept["got"][2][3] == "-inf"
    assert [sum(row) for row in kept["wrong"]] == [0, 1, 1]
    assert "NaN" not in json.dumps(kept)
    # there is no picture of a number, of other shapes, and of complex numbers
    for one, other in ((np.array(1.0), np.array(2.0)), (got, got.T), (1j * np.ones(3), np.ones(3))):
        assert compared(one, other) is None
