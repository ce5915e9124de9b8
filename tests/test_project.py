"""Rules of the house: pins in one place, and imports that point one way."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest

import launch
from helpers import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_environment_and_pyproject_pin_the_same():
    conda = re.findall(r"- (\S+[>=]=.+)", (ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert sorted(PROJECT["dependencies"]) == sorted(conda)


@pytest.mark.parametrize(("name", "tables"), launch.LOCKS.items())
def test_lock_files_have_the_pins_of_pyproject_with_hashes(name, tables):
    text = (ROOT / name).read_text(encoding="utf-8")
    packages = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    for package in packages:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", package), package
        assert not re.match(r"torch|nvidia|cuda|triton", package)  # several indexes have these
    locked = {re.split(r"[\s;]", package)[0] for package in packages}
    extras = [pin for table in tables for pin in PROJECT["optional-dependencies"][table]]
    pins = {pin.partition(";")[0] for pin in PROJECT["dependencies"] + extras if "==" in pin}
    assert pins < locked  # what these need, too


STANDARD = {*sys.stdlib_module_names}
STUDENTS = STANDARD | {"torch", "numpy", "tqdm"}
OURS = {path.stem for path in (ROOT / "src").iterdir() if path.name != "autograder"}


PLACES = [
    ("src", None, {"instructor"}),
    ("src/submission", STUDENTS, set()),
    ("instructor/solution", STUDENTS, set()),
    ("src/autograder", None, OURS | {"instructor", "torch"}),  # knows not what it grades
    ("src/launch.py", STANDARD, set()),
]


@pytest.mark.parametrize(("place", "allowed", "forbidden"), PLACES)
def test_imports_point_one_way(place, allowed, forbidden):
    whole = ROOT / place
    for path in [whole] if whole.is_file() else whole.rglob("*.py"):
        found = {*imports(path)}
        assert not found & forbidden and found <= (allowed or found), path


@pytest.mark.parametrize("name", ["run.sh", "collect_submission.sh", "slurm.sbatch", ".ci/run"])
def test_scripts_are_valid_bash_and_old_enough(name):
    """The bash of macOS is 3.2."""
    assert subprocess.run(["bash", "-n", name], cwd=ROOT).returncode == 0
    newer = r"\$\{\w+(?:,,|\^\^|@\w)|declare -A|mapfile|readarray|&>>|\|&|wait -n"
    assert not re.findall(newer, (ROOT / name).read_text(encoding="utf-8"))


COMMANDS = ["-m instructor --help", "src/run.py demo", "src/grader.py --list"]


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_packages_are_named(command):
    words = [sys.executable, "-S", "-E", *command.split()]
    process = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert process.returncode == 2 and "Traceback" not in process.stderr
    assert "lacks torch" in process.stderr and "ctivate" in process.stderr
