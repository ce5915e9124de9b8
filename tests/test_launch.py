"""./run.sh, run.bat and src/launch.py: which Python runs, and what it is told."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from conftest import ROOT


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


def test_text_is_utf_8_whatever_the_locale():
    process = run_sh("python", "-c", "import sys; print(sys.flags.utf8_mode)")
    assert process.stdout == "1\n"


def test_run_sh_works_through_a_link(tmp_path):
    (tmp_path / "link").symlink_to(ROOT / "run.sh")
    process = subprocess.run(
        [str(tmp_path / "link"), "help"], capture_output=True, encoding="utf-8"
    )
    assert process.returncode == 0 and "vanilla_pretrain" in process.stdout


@pytest.fixture
def copied(tmp_path):
    """A copy in tmp_path, without .venv."""
    for name in ("run.sh", "collect_submission.sh", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "src", tmp_path / "src")


@pytest.fixture
def alone(copied, tmp_path):
    """Runs a script of that copy where nothing but it is on the PATH, and what the test puts into
    tmp_path / "bin".
    """
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "env"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    return lambda *words: subprocess.run(
        [tmp_path / words[0], *words[1:]],
        capture_output=True,
        encoding="utf-8",
        env={"PATH": str(tmp_path / "bin")},
    )


SCRIPTS = pytest.mark.parametrize(
    ("words", "told"),
    [(["run.sh", "help"], "vanilla_pretrain"), (["collect_submission.sh", "-h"], "--for-gpu")],
)


@SCRIPTS
def test_both_scripts_say_when_there_is_no_python(alone, words, told):
    process = alone(*words)
    assert process.returncode == 2 and "needs Python" in process.stderr


@SCRIPTS
@pytest.mark.parametrize("name", ["bin/python3.11", "bin/python3.14", ".venv/bin/python"])
def test_both_scripts_find_a_python_of_another_name(alone, tmp_path, words, told, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).symlink_to(sys.executable)
    process = alone(*words)
    assert process.returncode == 0 and told in process.stdout, process.stderr


@pytest.fixture
def run_sh_with_bare_python(copied, tmp_path):
    """Runs a copy of ./run.sh, in tmp_path, with a Python that lacks torch."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    others = [
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not shutil.which("uv", path=folder)
    ]
    return lambda *arguments: subprocess.run(
        [str(tmp_path / "run.sh"), *arguments],
        capture_output=True,
        encoding="utf-8",
        env={
            **os.environ,
            "PATH": os.pathsep.join((str(bare / "bin"), *others)),
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


@SCRIPTS
def test_both_scripts_let_uv_fetch_a_python_where_there_is_none(alone, tmp_path, words, told):
    uv = tmp_path / "bin" / "uv"
    uv.write_text(
        "#!/usr/bin/env bash\n"
        f'[ "$1 $2" = "python find" ] && echo "{sys.executable}" || echo "$@" >> {tmp_path}/asked\n',
        encoding="utf-8",
    )
    uv.chmod(0o755)
    process = alone(*words)
    assert process.returncode == 0 and told in process.stdout, process.stderr
    assert "python install" in (tmp_path / "asked").read_text(encoding="utf-8")


def test_run_bat_hands_over():
    text = (ROOT / "run.bat").read_bytes().decode("ascii")
    assert text.count("\n") == text.count("\r\n")
    assert '"%~dp0src\\launch.py" %*\r\nexit /b %errorlevel%\r\n' in text
    assert re.search(r"\(3, 11\)", text) and "uv python find" in text
    labels = {*re.findall(r"^:(\w+)", text, re.MULTILINE)}
    assert labels == {*re.findall(r"goto (\w+)", text)} | {"run"}
