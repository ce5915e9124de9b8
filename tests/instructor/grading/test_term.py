"""A term that is disturbed at random moments ends with the grades of one that is not."""

import sys

import pytest

from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import term  # noqa: E402


@pytest.fixture(scope="module")
def expected():
    """The grades of a term that is not disturbed."""
    term.prepare()
    return term.play(0)[0]


@pytest.mark.full
@pytest.mark.parametrize("number", range(50))
def test_a_disturbed_term_ends_with_the_same_grades(expected, number):
    """As often as benchmarks/term.py plays it."""
    got, _ = term.play(3)
    assert term.differences(expected, got) == []
