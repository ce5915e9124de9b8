"""The trial of an isolation level, with Pythons that lie where it is hard to reach them: nobody
loses points for that.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proof import open_folder

from autograder.inside import sandbox
from helpers import ROOT, require_level
from instructor.mistakes.patches import make

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="Landlock needs root")

CLOSED = "closed to other users (chmod o+x opens it)"
CHOOSE = f"""
import sys
sys.path.insert(0, {str(ROOT / "src")!r})
from autograder.trial import Unavailable, choose
try:
    print(choose(sys.argv[1]).name)
except Unavailable as error:
    print(error)
"""
GRADE = f"""
import runpy
runpy.run_path({str(ROOT / "src" / "grader.py")!r}, run_name="__main__")
"""


def run(python, script, *arguments, before=(), **environment):
    """What a Python prints that is given a script, after the command `before`."""
    process = subprocess.run(
        [*before, str(python), "-c", script, *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        env={**os.environ, **environment},
    )
    return process.stdout + process.stderr


@pytest.fixture
def packages():
    """A folder with an installed package, `extra`, that others may enter."""
    with open_folder() as place:
        folder = place / "packages" / "site"
        (folder / "extra-1.0.dist-info").mkdir(parents=True)
        (folder / "extra.py").write_text("VALUE = 'late and all the same'\n", encoding="utf-8")
        yield folder


@pytest.fixture
def python(packages):
    """A Python in an environment that .pth files lead out of: to the packages of this one, and to
    `packages`.
    """
    folder = packages.parents[1] / "home" / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    here = [path for path in sys.path if any(Path(path).glob("*.dist-info"))]
    (more,) = folder.glob("lib/python*/site-packages")
    (more / "more.pth").write_text("\n".join([*here, f"{packages}\n"]), encoding="utf-8")
    return folder / "bin" / "python"


@pytest.mark.parametrize(
    ("bubblewrap", "mode", "says", "never"),
    [
        (True, 0o700, {"isolation: bubblewrap"}, "0 of"),
        pytest.param(False, 0o755, {"isolation: landlock"}, "0 of", marks=pytest.mark.landlock),
        (False, 0o700, {CLOSED, "Fix that"}, "points"),
    ],
)
def test_with_a_python_in_a_closed_folder_nobody_loses_a_point(
    python, packages, tmp_path, bubblewrap, mode, says, never
):
    """6b imports late. Either there is a level that is better, or no grade."""
    if bubblewrap:
        require_level("bubblewrap")
    submission = make((), tmp_path / "code")  # somebody else's
    for folder in (python.parents[2], packages.parent):
        folder.chmod(mode)
    path = {} if bubblewrap else {"PATH": str(tmp_path)}
    printed = run(python, GRADE, "6b", "--submission", str(submission), **path)
    assert all(part in printed for part in says) and never not in printed, printed


@pytest.mark.landlock
def test_packages_that_a_pth_file_leads_to_must_be_open_for_landlock(python, packages):
    assert run(python, CHOOSE, "landlock") == "landlock\n"
    packages.parent.chmod(0o700)
    printed = run(python, CHOOSE, "landlock")
    assert f"it cannot read {packages}" in printed and CLOSED in printed


@pytest.mark.landlock
def test_shared_memory_must_be_writable():
    mount = 'mount -t tmpfs -o ro tmpfs /dev/shm && exec "$@"'
    read_only = ["unshare", "-m", "sh", "-c", mount, "sh"]
    if subprocess.run([*read_only, "true"], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    printed = run(sys.executable, CHOOSE, "landlock", before=read_only)
    assert "it cannot write into /dev/shm, where the workers of a DataLoader" in printed


def test_only_folders_of_installed_packages_are_shown(packages, tmp_path, monkeypatch):
    """Whatever is on sys.path: neither the working directory, nor a repository, nor what the grader
    lies in.
    """
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    (ours / "autograder-1.0.dist-info").mkdir(parents=True)
    plain.mkdir()
    never = ["", str(plain), str(ROOT), str(ROOT / "src"), str(ours)]
    monkeypatch.setattr(sys, "path", [*never, str(packages)])
    monkeypatch.chdir(packages)
    monkeypatch.setattr(sandbox, "__file__", str(ours / "src" / "sandbox.py"))
    shown = sandbox.python_folders()
    assert str(packages) in shown and not {".", *never} & {*shown}


def test_two_servers_never_have_the_same_user(monkeypatch):
    """One could stop the other's forks."""
    found = []
    for number in (5, 6, 20_005):
        monkeypatch.setattr(os, "getpid", lambda: number)
        found += sandbox.free_users(2)
    if min(found) < 10**9:
        pytest.skip("this container has few user ids")
    assert len({*found}) == 6
