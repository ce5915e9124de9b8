"""Follows docs/adding-a-question.md to the letter, in a copy of the project."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

pytestmark = pytest.mark.full  # each works on a copy that is made for them

DOCUMENT = (ROOT / "docs" / "adding-a-question.md").read_text(encoding="utf-8")
# file, the start of the line to insert after (else the block is appended), block
BLOCKS = [
    (path, start.strip(), block)
    for path, _, start, block in re.findall(
        r"`([\w/.-]+)`(?:, after the line that begins (`+)(.*?)\2)?:\n\n```\w+\n(.*?)```",
        DOCUMENT,
        re.DOTALL,
    )
]
# The project's own tests that the copy must pass. Left out: what needs the network or builds the
# handout a second time, and how a release fails for a bad reference or a leak.
NOT_REPEATED = "not links_lead and not has_the_handout and not loses_points and not leak_stops"
SUITES = {
    "release": [
        "tests/instructor/release/test_starter.py",
        "tests/instructor/release/test_release.py",
    ],
    "handout": ["tests/handout/test_handout.py"],
    "proof": ["tests/checks/test_proof.py", "tests/checks/test_cases.py"],
}
CHOSEN = {"proof": "smoothing or 7a or there_are_enough"}
PRINTS = """
import json, instructor
from pathlib import Path
from autograder import read_manifest
from checks.support.session import MANIFEST, Setting
from instructor.grading.fingerprint import Fingerprints
manifest = read_manifest(MANIFEST)
prints = Fingerprints(manifest, Setting(Path("instructor/checks"), Path("instructor/gold")))
print(json.dumps({id: prints.of(check) for id, check in manifest.checks.items() if check.coded}))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The project with the question of the document, and the fingerprints of its checks without it
    and with it.
    """
    folder = tmp_path_factory.mktemp("copy") / "project"
    made = (".*", "__pycache__", "build", "runs", "demo", "demo-*")  # here, by its use
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*made))
    before = fingerprints(folder)
    for path, start, block in BLOCKS:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text(encoding="utf-8").splitlines(True) if file.exists() else []
        places = [i for i, line in enumerate(lines, 1) if line.strip().startswith(start)]
        assert len(places) == 1 or not start, f"{path}: {start}"
        lines.insert(places[0] if start else len(lines), block)
        file.write_text("".join(lines), encoding="utf-8")
    for command in ("starter", "cases"):
        done = run(folder, "-m", "instructor", command)
        assert done.returncode == 0, done.stderr
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder, before, fingerprints(folder)


@pytest.mark.longest
@pytest.mark.parametrize("suite", SUITES)
def test_the_copy_passes_the_tests(copy, suite, tmp_path):
    chosen = ["-k", CHOSEN.get(suite, NOT_REPEATED), "-m", "not longest"]
    options = [*"--full -q -n 0 -p no:cacheprovider".split(), f"--basetemp={tmp_path / 'pytest'}"]
    done = run(copy, "-m", "pytest", *options, *chosen, *SUITES[suite])
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
    assert sum(bool(line.strip()) for *_, block in BLOCKS for line in block.splitlines()) <= 100


def test_the_starter_has_no_points(copy):
    done = run(copy, "src/grader.py", "7a")
    assert (
        "not implemented" in done.stdout
        and "0 of 2" in done.stdout
        and "smoothing.py" in done.stdout
    ), done.stderr


def test_the_solution_has_all(copy):
    done = run(copy, "src/grader.py", "7a", "--submission", "instructor/solution")
    assert done.returncode == 0 and "2 of 2" in done.stdout, done.stdout + done.stderr


def test_a_wrong_one_has_none(copy, tmp_path):
    solution = shutil.copytree(copy / "instructor" / "solution", tmp_path / "wrong")
    path = solution / "problem7" / "smoothing.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace(".mean())", ".sum())"), encoding="utf-8"
    )
    done = run(copy, "src/grader.py", "7a", "--submission", solution)
    assert done.returncode == 1 and "it should give" in done.stdout and "0 of 2" in done.stdout
    assert "Likely cause: the losses are summed, not averaged." in done.stdout


def test_students_have_cases(copy, tmp_path):
    """A copy without the staff's code compares with the saved cases."""
    for name in ("src", "data"):
        shutil.copytree(copy / name, tmp_path / name)
    assert "not implemented" in run(tmp_path, "src/grader.py", "7a").stdout
    shutil.copytree(
        copy / "instructor" / "solution" / "problem7",
        tmp_path / "src" / "submission" / "problem7",
        dirs_exist_ok=True,
    )
    done = run(tmp_path, "src/grader.py", "7a")
    assert done.returncode == 0 and "2 of 2" in done.stdout, done.stdout + done.stderr


def test_it_is_handed_in(copy):
    done = run(copy, "src/collect.py", "--submission", "instructor/solution", "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert "smoothing.py" in run(copy, "-m", "zipfile", "-l", "submission.zip").stdout


def test_nobody_is_graded_again_by_other_checks(project):
    _, before, after = project
    assert after == before | {"7a-0-basic": after["7a-0-basic"]} and len(before) > 100


@pytest.mark.parametrize(
    "edits, touched",
    [
        (
            {
                "instructor/solution/problem7/smoothing.py": "return float",
                "src/submission/problem5/encoder.py": "import",
            },
            set(),
        ),
        (
            {"instructor/solution/problem5/encoder.py": "F.softmax(scores, dim=-1)"},
            {"5e", "5f", "5g"},
        ),
        ({"src/submission/trainer.py": "import"}, {"1c", "1h", "7a", "5d", "5e", "5f", "5g"}),
    ],
    ids=["solution and starter", "our code of 5d", "a given file"],
)
def test_what_a_change_touches(project, edits, touched):
    """Our code affects what is graded with it where the student's fails; a given file affects
    everything.
    """
    copy, _, before = project
    texts = {copy / file: (copy / file).read_text(encoding="utf-8") for file in edits}
    for (path, text), old in zip(texts.items(), edits.values()):
        assert old in text
        path.write_text(text.replace(old, f"{old} "), encoding="utf-8")
    after = fingerprints(copy)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    found = {id.partition("-")[0] for id in before if after[id] != before[id]}
    assert found & {"1c", "1h", "7a", "5d", "5e", "5f", "5g"} == touched
    assert bool(found) == bool(touched)
