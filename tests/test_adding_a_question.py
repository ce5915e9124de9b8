"""docs/adding-a-question.md is followed to the letter, in a copy of the project."""
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

DOCUMENT = (ROOT / "docs" / "adding-a-question.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"`([\w/.-]+)`:\n\n```\w+\n(.*?)```", DOCUMENT, re.DOTALL)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The project with the question of the document."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("src", "instructor", "data"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.params", "*.predictions"))
    for path, block in BLOCKS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with open(folder / path, "a", encoding="utf-8") as file:
            file.write(block)
    names = folder / "src" / "deliverables.py"
    names.write_text(names.read_text(encoding="utf-8").replace('WRITTEN = (', 'WRITTEN = ("sums.py", '), encoding="utf-8")
    assert run(folder, "-m", "instructor", "starter").returncode == 0
    assert run(folder, "-m", "instructor", "cases").returncode == 0
    return folder


def run(folder, *arguments):
    """Run Python in the copy."""
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=folder, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_it_is_short():
    assert len(BLOCKS) == 4
    assert sum(bool(line.strip()) for _, block in BLOCKS for line in block.splitlines()) <= 43


def test_the_starter_has_no_points(copy):
    done = run(copy, "src/grader.py", "2a")
    assert "not implemented" in done.stdout and "0 of 2" in done.stdout and "sums.py" in done.stdout, done.stderr


def test_the_solution_has_all(copy):
    done = run(copy, "src/grader.py", "2a", "--submission", "instructor/solution")
    assert done.returncode == 0 and "2 of 2" in done.stdout, done.stdout + done.stderr


def test_a_wrong_one_has_none(copy):
    solution = copy / "wrong"
    shutil.copytree(copy / "instructor" / "solution", solution)
    (solution / "sums.py").write_text((solution / "sums.py").read_text().replace("return a + b\n", "return a - b\n"))
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
