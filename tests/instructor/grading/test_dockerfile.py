"""The image for grading, as far as it can be looked at without building it."""

import fnmatch
import re
import subprocess
import sys
import tomllib

from helpers import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def ignored(path):
    """Whether a path, or a folder above it, stays out of the image."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    patterns = [line.replace("**/", "*/") for line in lines if line and not line.startswith("#")]
    parts = path.split("/")
    above = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    return any(
        fnmatch.fnmatchcase(f"/{name}" if pattern.startswith("*/") else name, pattern)
        for name in above
        for pattern in patterns
    )


def test_what_it_runs_is_for_a_shell_and_takes_its_pins_from_pyproject():
    text = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", TEXT))
    for command in re.findall(r"(?m)^RUN (.*)", text):
        assert subprocess.run(["sh", "-n", "-c", command]).returncode == 0, command
    command = [sys.executable, "-c", re.search(r'python -c "(.*?)" >', TEXT)[1]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert done.stdout.splitlines() == project["dependencies"]


def test_the_repository_is_in_it_and_nothing_of_students():
    words = ["git", "ls-files"]
    tracked = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8").stdout
    assert [path for path in tracked.splitlines() if ignored(path)] == []
    own = ".git/config .venv/bin/python src/submission/__pycache__/model.pyc"
    students = "grades/grades.sqlite term/roster.csv written.csv demo-2/x.params a/submission.zip"
    for path in own.split() + students.split():
        assert ignored(path), path
