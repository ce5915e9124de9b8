"""Rules of the house: pins in one place, imports that point one way, scripts that any bash can
read.
"""

import ast
import re
import subprocess
import sys
import tomllib

import pytest

from helpers import ROOT


def imports(path):
    """Top-level names that a file imports absolutely."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


def test_environment_and_pyproject_pin_the_same():
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    conda = re.findall(r"- (\S+[>=]=.+)", (ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert sorted(pins) == sorted(conda)


STANDARD = {*sys.stdlib_module_names}
STUDENTS = STANDARD | {"torch", "numpy", "tqdm"}
OURS = {path.stem for path in (ROOT / "src").iterdir() if path.name != "autograder"}


@pytest.mark.parametrize(
    ("place", "allowed", "forbidden"),
    [
        ("src", None, {"instructor"}),
        ("src/submission", STUDENTS, set()),
        ("instructor/solution", STUDENTS, set()),
        ("src/autograder", None, OURS | {"instructor", "torch"}),  # knows not what it grades
        ("src/launch.py", STANDARD, set()),
    ],
)
def test_imports_point_one_way(place, allowed, forbidden):
    whole = ROOT / place
    for path in [whole] if whole.is_file() else whole.rglob("*.py"):
        found = {*imports(path)}
        assert not found & forbidden and found <= (allowed or found), path


@pytest.mark.parametrize("name", ["run.sh", "collect_submission.sh", "slurm.sbatch", ".ci/run"])
def test_scripts_are_valid_bash_and_old_enough(name):
    path = ROOT / name
    assert subprocess.run(["bash", "-n", str(path)]).returncode == 0
    newer = re.findall(
        r"\$\{\w+(?:,,|\^\^|@\w)|declare -A|mapfile|readarray|&>>|\|&|wait -n",
        path.read_text(encoding="utf-8"),
    )
    assert not newer, "macOS ships bash 3.2"


BENCHMARKS = {*(ROOT / "benchmarks").glob("*.py")} - {ROOT / "benchmarks" / "tables.py"}


@pytest.mark.parametrize("path", sorted(BENCHMARKS), ids=lambda path: path.stem)
def test_benchmarks_start(path):
    """Each script finds the project's modules, from any folder."""
    process = subprocess.run(
        [sys.executable, path, "--help"], cwd="/", capture_output=True, encoding="utf-8"
    )
    assert process.returncode == 0 and "usage:" in process.stdout, process.stderr


@pytest.mark.parametrize(
    "command", [["-m", "instructor", "--help"], ["src/run.py", "demo"], ["src/grader.py", "--list"]]
)
def test_missing_packages_are_named(command):
    """Without the environment, a command says so in a sentence."""
    process = subprocess.run(
        [sys.executable, "-S", "-E", *command], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert process.returncode == 2 and "Traceback" not in process.stderr
    assert "lacks torch" in process.stderr and "ctivate" in process.stderr
