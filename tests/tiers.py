"""Which tests run: by default all but those marked `full`, the same at every run, so that what is
red stays red; with --full all, those that a change can have touched first, for --minutes at most.
"""

import os
import random
import re
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BATCH = 40  # tests that --since takes from all files at a time
END = "TESTS_END"  # the environment variable by which processes agree on when time is up

TOUCHED = pytest.StashKey["Touched"]()

# Where each folder is tested. Tests of a folder itself are found without it.
TESTED_IN = {
    "src/submission": ("student", "jobs"),
    "src/jobs": ("jobs",),
    "src/common": ("student", "jobs"),
    "src/autograder": ("engine", "hostile"),
    "src/checks": ("checks",),
    "instructor/checks": ("checks",),
    "instructor/solution": ("checks",),
    "instructor/grading": ("instructor/grading",),
    "instructor/release": ("instructor/release",),
    "instructor/datasets": ("datasets",),
    "handout": ("handout",),
}


def pytest_addoption(parser):
    """The options of tiers."""
    parser.addoption(
        "--full", action="store_true", help="run all tests, those marked full too (long)"
    )
    parser.addoption(
        "--minutes", type=float, help="begin no test marked full after so many minutes"
    )
    parser.addoption(
        "--since",
        metavar="REV",
        help="begin with tests that changes since that commit can affect, the others by chance",
    )


def pytest_configure(config):
    """Agree on when time is up, and on what has changed."""
    if minutes := config.getoption("--minutes"):
        os.environ.setdefault(END, str(time.time() + 60 * minutes))
    if rev := config.getoption("--since"):
        config.stash[TOUCHED] = Touched(rev)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave out what is marked `full`, or put it into the order of --since. Otherwise the longest
    come first, so that no process waits for them at the end.
    """
    if not config.getoption("--full"):
        config.hook.pytest_deselected(items=[item for item in items if _full(item)])
        items[:] = [item for item in items if not _full(item)]
    if rev := config.getoption("--since"):
        random.Random(rev).shuffle(items)  # the same for the same commit, in all processes
        items.sort(key=lambda item: not config.stash[TOUCHED](item))
        # neighbors share the fixtures of their file
        batch = {item: number // BATCH for number, item in enumerate(items)}
        items.sort(key=lambda item: (batch[item], item.path))
    else:
        items.sort(key=lambda item: item.get_closest_marker("longest") is None)


def pytest_runtest_setup(item):
    """Skip what is marked `full` when time is up."""
    if _full(item) and time.time() > float(os.environ.get(END, "inf")):
        pytest.skip("no time left (--minutes)")


def _full(item):
    # LaTeX takes half a minute to build the handout
    return item.get_closest_marker("full") is not None or "handout" in item.fixturenames


class Touched:
    """Tells whether changes since a commit can affect a test.

    Raises:
        pytest.UsageError: there is no such commit.
    """

    def __init__(self, rev: str):
        git = subprocess.run(
            ["git", "diff", "--name-only", rev], cwd=ROOT, capture_output=True, encoding="utf-8"
        )
        if git.returncode:
            raise pytest.UsageError(f"--since {rev}: {git.stderr.strip()}")
        names = git.stdout.split("\n")
        self.folders = {
            f"tests/{tests}/"
            for folder, places in TESTED_IN.items()
            for tests in places
            if any(name.startswith(f"{folder}/") for name in names)
        } | {name for name in names if name.startswith("tests/")}
        self.questions = set(re.findall(r"/q(\d[a-z])/", git.stdout))

    def __call__(self, item) -> bool:
        """Whether they can; of the wrong submissions, only those to a question whose checks have
        changed are said to be affected.
        """
        if question := re.search(r"\[(\d[a-z])-", item.name):
            return question[1] in self.questions
        name = item.path.relative_to(ROOT).as_posix()
        return any(name.startswith(folder) for folder in self.folders)
