"""Rules of the house: pins in one place, imports that point one way, scripts that any bash can
read.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT


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
    conda = re.findall(r"- (\S+==.+)", (ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert sorted(pins) == sorted(conda) and all("==" in pin for pin in pins)
    needed = re.search(r'NEEDED="(.*)"', (ROOT / "run.sh").read_text(encoding="utf-8"))[1].split()
    # others are not for every system
    assert needed == [pin.split("==")[0].removeprefix("pytest-") for pin in pins if ";" not in pin]


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


@pytest.mark.parametrize(
    "name",
    ["run.sh", "collect_submission.sh", "slurm.sbatch", "benchmarks/full_size.sh", ".ci/run"],
)
def test_scripts_are_valid_bash_and_old_enough(name):
    path = ROOT / name
    assert subprocess.run(["bash", "-n", str(path)]).returncode == 0
    newer = re.findall(
        r"\$\{\w+(?:,,|\^\^|@\w)|declare -A|mapfile|readarray|&>>|\|&|wait -n",
        path.read_text(encoding="utf-8"),
    )
    assert not newer, "macOS ships bash 3.2"


def run_sh(*args, **kwargs):
    """Run ./run.sh with this Python first on the PATH, as in an active environment."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        [str(ROOT / "run.sh"), *args],
        capture_output=True,
        encoding="utf-8",
        **{"env": {**os.environ, "PATH": path}, **kwargs},
    )


def test_run_sh_passes_targets_and_exit_codes_on(tmp_path):
    assert "vanilla_pretrain" in run_sh(cwd=tmp_path).stdout
    process = run_sh("rope_pretrian", cwd=tmp_path)
    assert process.returncode == 2 and "Did you mean rope_pretrain" in process.stderr
    assert "making an environment" not in process.stderr.lower()


def test_documents_have_no_open_places():
    for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "data").glob("*.md")]:
        assert not re.search(r"@[A-Z]+@|TODO|XXX", path.read_text(encoding="utf-8")), path


def test_run_sh_works_through_a_link(tmp_path):
    (tmp_path / "link").symlink_to(ROOT / "run.sh")
    process = subprocess.run(
        [str(tmp_path / "link"), "help"], capture_output=True, encoding="utf-8"
    )
    assert process.returncode == 0 and "vanilla_pretrain" in process.stdout


def test_run_sh_says_when_there_is_no_python(tmp_path):
    for name in ("bash", "dirname", "env"):
        (tmp_path / name).symlink_to(shutil.which(name))
    process = run_sh("all", env={"PATH": str(tmp_path)})
    assert process.returncode == 2 and "needs Python" in process.stderr


@pytest.fixture
def run_sh_with_bare_python(tmp_path):
    """Runs a copy of ./run.sh, in tmp_path, with a Python that lacks torch."""
    for name in ("run.sh", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    return lambda *arguments: subprocess.run(
        [str(tmp_path / "run.sh"), *arguments],
        capture_output=True,
        encoding="utf-8",
        env={
            **os.environ,
            "PATH": f"{bare / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
        },
    )


def test_run_sh_makes_no_environment_for_a_misspelled_target(tmp_path, run_sh_with_bare_python):
    """The refusal comes before any download."""
    process = run_sh_with_bare_python("vanilla_pretrian")
    assert process.returncode == 2 and "Did you mean vanilla_pretrain" in process.stderr
    assert not (tmp_path / ".venv").exists()


def test_run_sh_leaves_an_environment_that_it_did_not_make(tmp_path, run_sh_with_bare_python):
    """One that lacks packages is refused; one that has all is used."""
    mine = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(mine)], check=True)
    process = run_sh_with_bare_python("python", "-c", "import torch")
    assert process.returncode == 2 and "./run.sh did not make it" in process.stderr
    assert (mine / "pyvenv.cfg").exists()
    packages = next(mine.glob("lib/python*/site-packages"))
    (packages / "ours.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    process = run_sh_with_bare_python("python", "-c", "import sys, torch; print(sys.prefix)")
    assert process.stdout.strip() == str(mine), process.stderr


def test_run_sh_makes_its_environment_anew_when_its_python_is_gone(
    tmp_path, run_sh_with_bare_python
):
    mine = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(mine)], check=True)
    (mine / "complete").touch()
    (mine / "bin" / "python").unlink()
    (mine / "bin" / "python").symlink_to(tmp_path / "gone")
    process = run_sh_with_bare_python("python", "-c", "import torch")
    assert process.returncode == 2 and "could not be installed" in process.stderr  # without a net
    assert subprocess.run([mine / "bin" / "python", "-m", "pip", "--version"]).returncode == 0
    assert not (mine / "complete").exists() and (mine / "incomplete").exists()


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
