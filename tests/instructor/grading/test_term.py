"""A term that is disturbed at random moments ends with the grades of one that is not."""

import sys

from conftest import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import term  # noqa: E402


def test_a_disturbed_term_ends_with_the_same_grades(request):
    """Once; with --full fifty times, as often as benchmarks/term.py does."""
    term.prepare()
    expected, _ = term.play(0)
    for _ in range(50 if request.config.getoption("--full") else 1):
        got, _ = term.play(3)
        assert term.differences(expected, got) == []
