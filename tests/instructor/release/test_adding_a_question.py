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
# The project's own tests that the copy must pass. Left out: what needs the network or builds the
# handout a second time, and how a release fails for a bad reference or a leak.
NOT_REPEATED = "not links_lead and not has_the_handout and not loses_points and not leaves_nothing"
SUITES = {
    "release/test_starter.py release/test_release.py release/test_leaks.py": NOT_REPEATED,
    "../handout/test_handout.py": NOT_REPEATED,
    "../checks/test_proof.py ../checks/test_rounds.py": "smoothing or 7a or there_are_enough",
}
PRINTS = """
import json, instructor
from pathlib import Path
from autograder import read_manifest
from checks.support.session import MANIFEST, Setting
from instructor.grading.fingerprint import Fingerprints
manifest = read_manifest(MANIFEST)
prints = Fingerprints(manifest, Setting(hidden=True))
print(json.dumps(prints.wanted))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project with the question of the document, and the fingerprints of its checks without it
    and with it.
    """
    folder = tmp_path_factory.mktemp("copy") / "project"
    made = (".*", "__pycache__", "build", "runs", "demo", "demo-*")  # here, by its use
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*made))
    shutil.copy(ROOT / ".gitattributes", folder)
    before = fingerprints(folder)
    for path, block in BLOCKS:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as end:
            end.write(block)
    for command in ("starter", "cases"):
        done = run(folder, "-m", "instructor", command)
        assert done.returncode == 0, done.stderr
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder, before, fingerprints(folder)


@pytest.mark.longest
@pytest.mark.parametrize("suite, chosen", SUITES.items())
def test_the_copy_passes_the_tests(copy, suite, chosen, tmp_path):
    options = "--full -q -n 0 -p no:cacheprovider -m".split() + ["not longest", "-k", chosen]
    paths = [f"tests/instructor/{name}" for name in suite.split()]
    done = run(copy, "-m", "pytest", *options, f"--basetemp={tmp_path / 'pytest'}", *paths)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr


@pytest.fixture
def copy(project):
    """The project with the question of the document."""
    return project[0]


def run(folder, *arguments):
    """Run Python in the copy, without pytest's environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )


def fingerprints(folder):
    """Those of all automatic checks of the copy, by id."""
    done = run(folder, "-c", PRINTS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_short():
    assert len(BLOCKS) == 10
    assert sum(bool(line.strip()) for _, block in BLOCKS for line in block.splitlines()) <= 100


CHANGES = {
    "the solution": ("", "", 0, ["2 of 2"]),
    "a mistake": (
        "axis=1)).mean())",
        "axis=1)).sum())",
        1,
        ["off by up to", "0 of 2", "Likely cause: The losses are summed; they should be averaged."],
    ),
    "the starter": (None, "", 1, ["not implemented", "0 of 2", "smoothing.py"]),
}


@pytest.mark.parametrize("old, new, code, shown", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("copied", [False, True], ids=["staff", "students"])
def test_it_is_graded(copy, tmp_path, copied, old, new, code, shown):
    """A copy without the staff's code compares with the released rounds."""
    solution = copy / "instructor" / "solution" / "problem7" / "smoothing.py"
    if copied:
        for name in ("src", "data"):
            shutil.copytree(copy / name, tmp_path / name)
    folder = shutil.copytree(copy / "src" / "submission", tmp_path / "submission")
    if old is not None:
        text = solution.read_text(encoding="utf-8").replace(old or "\0", new)
        (folder / "problem7" / "smoothing.py").write_text(text, encoding="utf-8")
    done = run(tmp_path if copied else copy, "src/grader.py", "7a", "--submission", folder)
    assert done.returncode == code and all(text in done.stdout for text in shown), (
        done.stdout + done.stderr
    )


def test_it_is_handed_in(copy):
    done = run(copy, "src/collect.py", "--submission", "instructor/solution", "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert "smoothing.py" in run(copy, "-m", "zipfile", "-l", "submission.zip").stdout


def test_nobody_is_graded_again_by_other_checks(project):
    _, before, after = project
    assert after == before | {"7a-0-basic": after["7a-0-basic"]} and len(before) > 100


@pytest.mark.parametrize(
    "name, old, touched",
    [
        ("instructor/solution/problem7/smoothing.py", "return float", ""),
        ("src/submission/problem5/encoder.py", "import", ""),
        ("instructor/solution/problem5/encoder.py", "F.softmax(scores, dim=-1)", "5e 5f 5g"),
        ("src/submission/trainer.py", "import", "1c 1h 7a 5d 5e 5f 5g"),
    ],
    ids=["our code", "the starter", "our code of 5d", "a given file"],
)
def test_what_a_change_touches(project, name, old, touched):
    """Our code affects what is graded with it where the student's fails; a given file affects
    everything.
    """
    copy, _, before = project
    text = (copy / name).read_text(encoding="utf-8")
    assert old in text
    (copy / name).write_text(text.replace(old, f"{old} "), encoding="utf-8")
    after = fingerprints(copy)
    (copy / name).write_text(text, encoding="utf-8")
    found = {id.partition("-")[0] for id in before if after[id] != before[id]}
    assert found & {"1c", "1h", "7a", "5d", "5e", "5f", "5g"} == {*touched.split()}
    assert bool(found) == bool(touched)
