"""The files of a release: an allow-list of this project's, texts made for students, and a cohort's
data.
"""

import hashlib
import re
import subprocess
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from common.files import UserError, read_text
from instructor import ROOT
from instructor.course import Course
from instructor.datasets.worlds.editions import EDITIONS
from instructor.datasets.worlds.exercises import as_json, blank, make_matrices, write_exercises
from instructor.datasets.worlds.world import SIZES, make_world, statistics, write_world

from .choosing import chosen_files, chosen_text
from .starter import starter_tree
from .student_texts import OF_HANDOUT, PAGES, student_pyproject, student_readme

# What is released: of folders, the files that git tracks and that have these suffixes.
FOLDERS = {
    "src": {".py", ".toml", ".ini", ".ipynb", ".json", ".zip", ".js", ".css", ".html"},
    "data": {".txt", ".tsv", ".md", ".json", ".jsonl"},
}
FILES = (
    *("LICENSE", "run.sh", "run.bat", "collect_submission.sh", "collect_submission.bat"),
    *("environment.yml", "requirements.lock"),
    *("docs/running.md", "slurm.sbatch", "train_on_gpu.ipynb"),
    ".gitattributes",  # so that git leaves line ends as they are on Windows, too
)
ASSISTANTS = ("AGENTS.md", "CLAUDE.md")  # how AI assistants should help: names they look for
# what a Git host reads, so that a release can be a template repository, and what editors read
WORKFLOW = ".github/workflows/basic-checks.yml"
TEMPLATES = (WORKFLOW, ".vscode/settings.json", ".devcontainer/devcontainer.json", ".gitignore")
BINARY = (".pdf", ".zip")


def release_files(course: Course, handout: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a release: name, with slashes -> content.

    Args:
        course: what the README says, and the problems.
        handout: the files of the folder handout/; may be empty.

    Raises:
        UserError: git does not track a file.
    """
    numbers = course.handed_out
    files = {name: (ROOT / name).read_bytes() for name in chosen_files(released_files(), numbers)}
    given = {f"src/checks/given/{name}": text.encode() for name, text in starter_tree().items()}
    files |= {name: given[name] for name in chosen_files([*given], numbers)}
    pages = chosen_files(sorted(tracked_files((PAGES,), (f"{PAGES}/*.md",))), numbers)
    if not handout:
        pages.remove(OF_HANDOUT)
    templates = Path(__file__).parent / "template"
    made = {
        name: chosen_text(name, content.decode(), numbers)
        for name, content in files.items()
        if name.endswith(".py")
    }
    made |= {name: read_text(templates / Path(name).name.lstrip(".")) for name in TEMPLATES}
    made |= {
        "course.toml": replace(course, problems=(), given=()).as_toml(),
        "pyproject.toml": student_pyproject(read_text(ROOT / "pyproject.toml")),
        "README.md": student_readme(course, pages),
    }
    if course.assistants:
        made |= dict.fromkeys(ASSISTANTS, course.assistants)
    files |= {name: text.encode() for name, text in made.items()}
    files |= {f"handout/{name}": content for name, content in handout.items()}
    return {name: _line_ends(name, content) for name, content in sorted(files.items())}


def _line_ends(name, content):
    """The same bytes from every system: CRLF in .bat files, LF in other texts."""
    if name.endswith(BINARY):
        return content
    content = content.replace(b"\r\n", b"\n")
    return content.replace(b"\n", b"\r\n") if name.endswith(".bat") else content


def write_tree(files: dict[str, bytes], tree: Path) -> None:
    """Write the files of a release into a new folder, with the same permissions everywhere."""
    for name, content in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    for path in [tree, *tree.rglob("*")]:  # regardless of the umask
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)


def write_archive(files: dict[str, bytes], archive: Path) -> None:
    """Write the zip of a release: one folder, the same bytes on every machine and day."""
    from collect import write_zip

    top = tomllib.loads(read_text(ROOT / "pyproject.toml"))["project"]["name"]
    entries = ((f"{top}/{name}", content) for name, content in files.items())
    write_zip(archive, entries, zipfile.ZIP_STORED)


def read_tree(tree: Path) -> dict[str, bytes]:
    """The files in a folder: name, with slashes -> content."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


# Which files


def tracked_files(folders: Iterable[str], needed: Iterable[str]) -> set[str]:
    """The names of the files in these folders that git tracks; in a copy without history, of all.

    Args:
        folders: folders of this project.
        needed: patterns; a file that matches one must not be left out.

    Raises:
        UserError: git fails to list its files, or doesn't track one that is needed.
    """
    if (ROOT / ".git").exists():
        command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *folders]
        try:
            process = subprocess.run(command, capture_output=True, encoding="utf-8")
        except FileNotFoundError:
            raise UserError(
                "git is not installed, and only files that it tracks leave this project. Install "
                "git, or build in a copy without the folder .git."
            ) from None
        if process.returncode:
            raise UserError(f"git cannot list the project's files in {ROOT}: {process.stderr}")
        tracked = {*process.stdout.split("\0")} - {""}
    else:
        tracked = _matching(f"{folder}/**/*" for folder in folders)
    if forgotten := sorted(_matching(needed) - tracked):
        raise UserError(
            f"git does not track {', '.join(forgotten)}, and only tracked files leave this "
            "project. Add them (git add), or remove them."
        )
    return tracked


def _matching(patterns):
    paths = (path for pattern in patterns for path in ROOT.glob(pattern))
    return {path.relative_to(ROOT).as_posix() for path in paths if path.is_file()}


def released_files() -> list[str]:
    """The names of the files here that are released unchanged, sorted.

    Raises:
        UserError: git fails to list its files, or doesn't track one that is needed.
    """
    kept = {
        name
        for name in tracked_files(FOLDERS, ("src/submission/**/*.py", "src/checks/**/*.py"))
        if PurePosixPath(name).suffix in FOLDERS[name.split("/")[0]] and "/." not in name
    }
    return sorted(kept | set(FILES))


# A cohort


def draw_cohort(files: dict[str, bytes], cohort: int, gold: Path) -> tuple[int, ...]:
    """Replace the worlds and exercises in a release by a cohort's own.

    Args:
        files: of the release; these change.
        cohort: the seed.
        gold: the folder to make for the test answers.

    Returns:
        All secret seeds.
    """
    # a hash, so that one seed does not reveal another
    seeds = {
        name: int.from_bytes(hashlib.sha256(f"{cohort} {name}".encode()).digest()[:7], "big")
        for name in (*EDITIONS, "exercises")
    }
    figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch)
        for size, (_, folder) in EDITIONS.items():
            people, documents = make_world(seeds[size], SIZES[size])
            write_world(people, documents, data / folder, gold / folder)
            for name, value in statistics(people, documents).items():
                figures[name] = f"{figures.get(name, f'| {name} |')} {value} |"
        write_exercises(seeds["exercises"], data, gold)
        drawn = {f"data/{name}": content for name, content in read_tree(data).items()}
    files |= {name: drawn[name] for name in drawn.keys() & files.keys()}
    text = as_json(blank(make_matrices(seeds["exercises"])))
    for name in files:
        if name.endswith("problem5/hand_attention.json"):
            files[name] = text.encode()
    if about := files.get("data/problem1.md", b"").decode():
        row = re.compile(r"^\| (.+?) \|.*$", re.MULTILINE)
        about = row.sub(lambda found: figures.get(found[1], found[0]), about)
        files["data/problem1.md"] = about.encode()
    return cohort, *seeds.values()
