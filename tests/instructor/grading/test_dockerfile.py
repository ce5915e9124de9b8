"""The image for grading, as far as it can be looked at without building it."""

import fnmatch
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from conftest import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LINES = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", TEXT)).splitlines()
INSTRUCTIONS = [line.split(None, 1) for line in LINES if line.strip()]
IGNORED = [
    line
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def ignored(path):
    """Whether a path, or a folder above it, stays out of the image."""
    parts = path.split("/")
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    return any(
        fnmatch.fnmatchcase(
            "/" + name if pattern.startswith("**/") else name, pattern.replace("**/", "*/")
        )
        for name in above
        for pattern in IGNORED
    )


def test_it_is_made_of_instructions():
    known = {"FROM", "RUN", "ARG", "ENV", "COPY", "WORKDIR", "VOLUME", "ENTRYPOINT", "CMD"}
    names = [name for name, _ in INSTRUCTIONS]
    assert names[0] == "FROM" and set(names) <= known
    for _, command in (pair for pair in INSTRUCTIONS if pair[0] == "RUN"):
        assert subprocess.run(["sh", "-n", "-c", command]).returncode == 0, command


def test_pins_stand_in_pyproject_alone():
    assert (
        not re.search(r"==\s*\d", TEXT)
        and "COPY pyproject.toml" in TEXT
        and "'.[instructor]'" in TEXT
    )
    script = re.search(r'python -c "(.*?)" >', TEXT)[1]
    printed = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout.splitlines()
    assert (
        printed
        == tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "dependencies"
        ]
    )
    assert any(line.startswith("torch>=") for line in printed)


def test_what_it_installs_is_to_be_had():
    """Of Debian, with bubblewrap; nothing in a folder that is closed."""
    packages = re.search(r"--no-install-recommends (.*?)&&", TEXT.replace("\\\n", " "))[1].split()
    assert {"python3", "bubblewrap", "git", "libseccomp2"} <= set(packages) and "/root" not in TEXT
    if not shutil.which("apt-cache"):
        pytest.skip("no apt here")
    said = subprocess.run(
        ["apt-cache", "policy", *packages], capture_output=True, encoding="utf-8"
    ).stdout
    if "Candidate" not in said:
        pytest.skip("apt has no lists here")
    assert all(
        re.search(rf"(?m)^{name}:\n.*\n  Candidate: (?!\(none\))", said) for name in packages
    ), said


def test_the_repository_is_in_it_and_nothing_of_students():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8"
    ).stdout.splitlines()
    assert [path for path in tracked if ignored(path)] == []
    for path in (
        ".git/config",
        ".venv/bin/python",
        "grades/grades.sqlite",
        "term/grades.sqlite",
        "term/roster.csv",
        "written.csv",
        "src/submission/__pycache__/model.pyc",
        "demo-2/x.params",
        "work/ada/submission.zip",
    ):
        assert ignored(path), path
