"""Launchers that make an environment in earnest, of two packages that are next to nothing: several
at once, killed, and without what they need.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import pytest

from conftest import ROOT

WHERE = ("python", "-c", "import sys, torch, tiny; print(sys.prefix)")


@pytest.fixture
def copy(tmp_path):
    """A copy that needs two packages, in a folder whose name has letters of many languages."""
    copy = tmp_path / "Übung 1 作业"
    (copy / "src").mkdir(parents=True)
    for name in ("run.sh", "src/launch.py", "src/environment.py", "src/torch_build.py"):
        shutil.copy(ROOT / name, copy / name)
    (tmp_path / "wheels").mkdir()
    for name in ("torch", "tiny"):
        wheel = tmp_path / "wheels" / f"{name}-0.1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as file:
            info = f"{name}-0.1.dist-info"
            file.writestr(f"{name}.py", "")
            file.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n"
            )
            file.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            file.writestr(f"{info}/RECORD", "")
    lock = f"tiny==0.1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    (copy / "requirements.lock").write_text(lock, encoding="utf-8")
    (copy / "pyproject.toml").write_text(
        '[project]\ndependencies = ["torch==0.1", "tiny==0.1"]\n', encoding="utf-8"
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    # an NVIDIA GPU, so that torch comes from where the other packages do
    (tmp_path / "bare" / "bin" / "nvidia-smi").symlink_to(sys.executable)
    return copy


@pytest.fixture
def start(copy, tmp_path):
    """Starts ./run.sh with that copy's packages, and without others."""
    path = [
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not shutil.which("uv", path=folder)
    ]
    settings = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "PYTHON", "TORCH_"))
    }
    settings |= {
        "PATH": os.pathsep.join([str(tmp_path / "bare" / "bin"), *path]),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_REQUIRE_VIRTUALENV": "1",  # whatever goes wrong, nothing gets into the system's Python
        "LC_ALL": "C",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
    }

    def start(*words, **more):
        return subprocess.Popen(
            [copy / "run.sh", *(words or WHERE)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=settings | more,
            start_new_session=True,
        )

    return start


def wait_for(path):
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not come")


def test_of_two_at_once_one_makes_the_environment_and_the_other_waits(copy, start):
    first = start()
    wait_for(copy / ".venv" / "incomplete")
    second, third = start(), start()
    told = []
    for process in (first, second, third):
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, f"{copy / '.venv'}\n"), err
        told.append(err)
    assert ["Making an environment" in err for err in told] == [True, False, False]
    assert ["this one waits" in err for err in told] == [False, True, True]


def test_one_that_is_killed_is_followed_by_one_that_makes_it(copy, start):
    first = start()
    wait_for(copy / ".venv" / "incomplete")
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    second = start()
    out, err = second.communicate(timeout=120)
    assert out == f"{copy / '.venv'}\n" and "making it was interrupted" in err, err


@pytest.mark.full
def test_a_python_that_became_the_systems_is_not_used(copy, start):
    """Without its pyvenv.cfg, it is another name of the Python that made it."""
    start().communicate(timeout=120)
    (copy / ".venv" / "pyvenv.cfg").unlink()
    out, err = start().communicate(timeout=120)
    assert out == f"{copy / '.venv'}\n", err
    assert (copy / ".venv" / "pyvenv.cfg").exists()
