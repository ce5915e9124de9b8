"""Makes real repositories and clones for tests, with the times of commits set."""

import os
import subprocess
from pathlib import Path

from conftest import SOLUTION

CODE = (SOLUTION / "model.py").read_text(encoding="utf-8")
HOME = "src/submission"


def git(folder: Path, *words: str, when: str = "2026-02-10 12:00 +0000", check: bool = True) -> str:
    """Run git as a student or staff member would, at a time; returns its output."""
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
    }
    for who in ("AUTHOR", "COMMITTER"):
        settings |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}
    process = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=settings,
        capture_output=True,
        encoding="utf-8",
    )
    assert not check or process.returncode == 0, process.stderr
    return process.stdout.strip()


def commit(folder: Path, when: str, files: dict[str, str] | None = None, *words: str) -> str:
    """Commit files, by default model.py with its time in it; returns the hash."""
    files = {f"{HOME}/model.py": f"# {when}\n{CODE}"} if files is None else files
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "work", *words, when=when)
    return git(folder, "rev-parse", "HEAD")


def student(folder: Path, *times: str) -> Path:
    """A student's repository with a commit at each time."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    for when in times:
        commit(folder, when)
    return folder


def clone(origin: Path, to: Path, *options: str) -> Path:
    """Clone a repository as staff would."""
    to.parent.mkdir(parents=True, exist_ok=True)
    git(to.parent, "clone", "--quiet", *options, origin.as_uri(), str(to))
    return to
