"""What runs by default, with --full, and in the minutes given."""

import os
import subprocess
import sys

import pytest

from conftest import ROOT

TESTS = """
import pytest
def test_always(): pass
@pytest.mark.full
def test_one(): pass
@pytest.mark.full
def test_two(): pass
"""


@pytest.fixture
def outcomes(tmp_path):
    """A function that runs TESTS with options, and returns what pytest says of them."""
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n    full\n    longest\n", encoding="utf-8"
    )
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "TESTS"))
    }
    environment["PYTHONPATH"] = str(ROOT / "tests")

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tiers", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *options],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
        )
        return done.stdout + done.stderr

    return run


def test_what_is_marked_full_needs_the_option(outcomes):
    assert "1 passed, 2 deselected" in outcomes()
    assert "3 passed" in outcomes("--full")


def test_when_time_is_up_no_more_of_them_begin(outcomes):
    printed = outcomes("--full", "--minutes", "1e-9", "-rs")
    assert "1 passed, 2 skipped" in printed and "no time left (--minutes)" in printed


def test_an_unknown_commit_is_named(outcomes):
    printed = outcomes("--full", "--since", "nothing")
    assert "ERROR: --since nothing: " in printed and "Traceback" not in printed
