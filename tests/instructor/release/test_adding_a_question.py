"""docs/adding-a-question.md is followed to the letter, in a copy of the project."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

DOCUMENT = (ROOT / "docs" / "adding-a-question.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"`([\w/.-]+)`:\n\n```\w+\n(.*?)```", DOCUMENT, re.DOTALL)
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
    folder = tmp_path_factory.mktemp("project")
    for name in ("src", "instructor", "data"):
        shutil.copytree(
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns("__pycache__", "*.params", "*.predictions"),
        )
    before = fingerprints(folder)
    for path, block in BLOCKS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with open(folder / path, "a", encoding="utf-8") as file:
            file.write(block)
    names = folder / "src" / "jobs" / "deliverables.py"
    names.write_text(
        names.read_text(encoding="utf-8").replace(
            "STUDENT_FILES = (", 'STUDENT_FILES = ("sums.py", '
        ),
        encoding="utf-8",
    )
    assert run(folder, "-m", "instructor", "starter").returncode == 0
    assert run(folder, "-m", "instructor", "cases").returncode == 0
    return folder, before, fingerprints(folder)


@pytest.fixture
def copy(project):
    """The project with the question of the document."""
    return project[0]


def run(folder, *arguments):
    """Run Python in the copy."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def fingerprints(folder):
    """Those of all automatic checks of the copy, by id."""
    done = run(folder, "-c", PRINTS)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_short():
    assert len(BLOCKS) == 4
    assert sum(bool(line.strip()) for _, block in BLOCKS for line in block.splitlines()) <= 43


def test_the_starter_has_no_points(copy):
    done = run(copy, "src/grader.py", "2a")
    assert (
        "not implemented" in done.stdout and "0 of 2" in done.stdout and "sums.py" in done.stdout
    ), done.stderr


def test_the_solution_has_all(copy):
    done = run(copy, "src/grader.py", "2a", "--submission", "instructor/solution")
    assert done.returncode == 0 and "2 of 2" in done.stdout, done.stdout + done.stderr


def test_a_wrong_one_has_none(copy):
    solution = copy / "wrong"
    shutil.copytree(copy / "instructor" / "solution", solution)
    (solution / "sums.py").write_text(
        (solution / "sums.py").read_text().replace("return a + b\n", "return a - b\n")
    )
    done = run(copy, "src/grader.py", "2a", "--submission", "wrong")
    assert done.returncode == 1 and "it should give" in done.stdout and "0 of 2" in done.stdout
    assert "Likely cause: it is the difference." in done.stdout


def test_students_have_cases(copy, tmp_path):
    """A copy without the staff's code compares with those that were kept."""
    for name in ("src", "data"):
        shutil.copytree(copy / name, tmp_path / name)
    assert "not implemented" in run(tmp_path, "src/grader.py", "2a").stdout
    shutil.copy(copy / "instructor" / "solution" / "sums.py", tmp_path / "src" / "submission")
    done = run(tmp_path, "src/grader.py", "2a")
    assert done.returncode == 0 and "2 of 2" in done.stdout, done.stdout + done.stderr


def test_it_is_handed_in(copy):
    done = run(copy, "src/collect.py", "--submission", "instructor/solution", "--allow-missing")
    assert done.returncode == 0, done.stderr
    assert "sums.py" in run(copy, "-m", "zipfile", "-l", "submission.zip").stdout


def test_nobody_is_graded_again_by_other_checks(project):
    _, before, after = project
    assert after == before | {"2a-0-basic": after["2a-0-basic"]} and len(before) > 100


@pytest.mark.parametrize(
    "edits, touched",
    [
        (
            {
                "instructor/solution/sums.py": "return a + b",
                "src/submission/problem5/encoder.py": "import",
            },
            set(),
        ),
        (
            {"instructor/solution/problem5/encoder.py": "F.softmax(scores, dim=-1)"},
            {"5e", "5f", "5g"},
        ),
        ({"src/submission/trainer.py": "import"}, {"1c", "1h", "2a", "5d", "5e", "5f", "5g"}),
    ],
    ids=["solution and starter", "our code of 5d", "a given file"],
)
def test_what_a_change_touches(project, edits, touched):
    """Our code: what is graded with it where the student's fails; a given file: all."""
    copy, _, before = project
    texts = {copy / file: (copy / file).read_text(encoding="utf-8") for file in edits}
    for (path, text), old in zip(texts.items(), edits.values()):
        assert old in text
        path.write_text(text.replace(old, f"{old} "), encoding="utf-8")
    after = fingerprints(copy)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    found = {id.partition("-")[0] for id in before if after[id] != before[id]}
    assert found & {"1c", "1h", "2a", "5d", "5e", "5f", "5g"} == touched
    assert bool(found) == bool(touched)
