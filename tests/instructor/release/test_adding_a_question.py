"""Follows docs/adding-a-question.md to the letter, in a copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers import ROOT

pytestmark = pytest.mark.full  # each works on a copy that is made for them

DOCUMENT = (ROOT / "docs" / "adding-a-question.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"`([\w/.-]+)`:\n\n```\w+\n(.*?)```", DOCUMENT, re.DOTALL)  # file, block
PRINTS = """
import json, instructor
from autograder import read_manifest
from checks.support.session import MANIFEST, Setting
from instructor.grading.fingerprint import Fingerprints
print(json.dumps(Fingerprints(read_manifest(MANIFEST), Setting(hidden=True)).wanted))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project with the question of the document."""
    folder = tmp_path_factory.mktemp("copy") / "project"
    made = (".*", "__pycache__", "build", "runs", "demo", "demo-*")  # here, by its use
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*made))
    for path, block in BLOCKS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("a", encoding="utf-8") as end:
            end.write(block)
    for command in ("starter", "cases"):
        done = run(folder, "-m", "instructor", command)
        assert done.returncode == 0, done.stderr
    return folder


def run(folder, *arguments):
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    words, options = [sys.executable, *map(str, arguments)], {"cwd": folder, "env": own}
    return subprocess.run(words, capture_output=True, encoding="utf-8", timeout=600, **options)


MISTAKE = [*("off by", "0 of 2"), "The losses are summed; they should be averaged."]


@pytest.mark.parametrize(
    "old, new, code, shown",
    [
        ("", "", 0, ["2 of 2"]),
        ("axis=1)).mean())", "axis=1)).sum())", 1, MISTAKE),
        (None, "", 1, ["not implemented", "0 of 2", "smoothing.py"]),
    ],
    ids=["the solution", "a mistake", "the starter"],
)
@pytest.mark.parametrize("copied", [False, True], ids=["staff", "students"])
def test_it_is_graded(project, tmp_path, copied, old, new, code, shown):
    """A copy without the staff's code compares with the released rounds."""
    for name in ("src", "data") if copied else ():
        shutil.copytree(project / name, tmp_path / name)
    folder = shutil.copytree(project / "src" / "submission", tmp_path / "submission")
    if old is not None:
        solution = project / "instructor" / "solution" / "problem7" / "smoothing.py"
        text = solution.read_text(encoding="utf-8").replace(old or "\0", new)
        (folder / "problem7" / "smoothing.py").write_text(text, encoding="utf-8")
    done = run(tmp_path if copied else project, "src/grader.py", "7a", "--submission", folder)
    assert done.returncode == code, done.stderr
    assert all(text in done.stdout for text in shown), done.stdout


def test_nobody_is_graded_again_by_other_checks(project):
    before, after = (json.loads(run(of, "-c", PRINTS).stdout) for of in (ROOT, project))
    assert after == before | {"7a-0-basic": after["7a-0-basic"]} and len(before) > 100
