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


def test_submission_imports_nothing_of_ours():
    for folder in ("src/submission", "instructor/solution"):
        for path in (ROOT / folder).rglob("*.py"):
            allowed = {"torch", "numpy", "tqdm"} | set(sys.stdlib_module_names)
            assert set(imports(path)) <= allowed, path


def test_src_does_not_import_instructor():
    for path in (ROOT / "src").rglob("*.py"):
        assert "instructor" not in set(imports(path)), path


def test_the_engine_knows_nothing_of_what_it_grades():
    ours = {path.stem for path in (ROOT / "src").iterdir() if path.name != "autograder"}
    for path in (ROOT / "src" / "autograder").rglob("*.py"):
        assert not set(imports(path)) & (ours | {"instructor", "torch"}), path


@pytest.mark.parametrize("name", ["run.sh", "collect_submission.sh", "slurm.sbatch", ".ci/run"])
def test_scripts_are_valid_bash_and_old_enough(name):
    path = ROOT / name
    assert subprocess.run(["bash", "-n", str(path)]).returncode == 0
    newer = re.findall(
        r"\$\{\w+(?:,,|\^\^|@\w)|declare -A|mapfile|readarray|&>>|\|&|wait -n",
        path.read_text(encoding="utf-8"),
    )
    assert not newer, "macOS ships bash 3.2"


def test_slurm_reads_its_settings():
    """They count only above the first command; Slurm refuses line ends of Windows."""
    text = (ROOT / "slurm.sbatch").read_bytes().decode()
    head, _, body = text.partition("\nset -eu\n")
    for option in ("--gres=gpu:1", "--requeue", "--signal=B:USR1@", "--open-mode=append"):
        assert f"\n#SBATCH {option}" in head
    assert "#SBATCH" not in body and "\r" not in text


def test_documents_have_no_open_places():
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "data").glob("*.md")]:
        assert not re.search(r"@[A-Z]+@|TODO|XXX", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda p: p.stem)
def test_benchmarks_start(path):
    """Each script finds the project's modules, from any folder."""
    if path.stem == "tables":  # what the others share
        return
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
