"""The files of a release: an allow-list of this project's, texts made for students, and a cohort's
data.
"""

import hashlib
import re
import subprocess
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from common.files import UserError, read_text
from instructor import ROOT
from instructor.course import Course

from .choosing import chosen_files, chosen_text
from .starter import starter_tree
from .student_texts import OF_HANDOUT, PAGES, student_gitignore, student_pyproject, student_readme

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
TEMPLATES = (WORKFLOW, ".vscode/settings.json", ".devcontainer/devcontainer.json")
BINARY = {".pdf", ".zip"}


def zip_of(out: Path) -> Path:
    """The zip that belongs to the folder of a release."""
    return out.with_name(out.name + ".zip")


def project_name() -> str:
    """The name of the folder in the zip."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]


def make_tree(
    tree: Path,
    course: Course,
    cohort: int | None = None,
    gold: Path | None = None,
    handout: dict[str, bytes] | None = None,
) -> tuple[int, ...]:
    """Write the files of a release.

    Args:
        tree: the folder to make.
        course: what the README says, and the problems.
        cohort: the seed of new worlds, instead of those in data/.
        gold: with a cohort, the folder to make for the test answers.
        handout: the files of the folder handout/, name -> content; by default none.

    Returns:
        The secret seeds of the cohort; () without one.

    Raises:
        UserError: a file is missing.
    """
    numbers = course.handed_out
    names = chosen_files(released_files(), numbers)
    pages = chosen_files(sorted(tracked_files((PAGES,), (f"{PAGES}/*.md",))), numbers)
    if not handout:
        pages.remove(OF_HANDOUT)
    for name in names:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = (ROOT / name).read_bytes()
        except OSError as error:
            raise UserError(
                f"{name} belongs in a release and cannot be read: {error.strerror}. Restore it."
            ) from None
        path.write_bytes(_line_ends(path, content))
    starter = {f"src/checks/given/{name}": text for name, text in starter_tree().items()}
    texts = {name: (tree / name) for name in names if name.endswith((".py", ".toml"))}
    texts = {name: path.read_text(encoding="utf-8") for name, path in texts.items()}
    texts |= {name: starter[name] for name in chosen_files([*starter], numbers)}
    made = {name: chosen_text(name, text, numbers) for name, text in texts.items()}
    made |= {
        "course.toml": replace(course, problems=(), given=()).as_toml(),
        "pyproject.toml": student_pyproject((ROOT / "pyproject.toml").read_text(encoding="utf-8")),
        "README.md": student_readme(course, pages),
    }
    templates = Path(__file__).parent / "template"
    made |= {name: read_text(templates / PurePosixPath(name).name) for name in TEMPLATES}
    made[".gitignore"] = student_gitignore(course.handed_out)
    if course.assistants:
        made |= dict.fromkeys(ASSISTANTS, course.assistants)
    for name, text in made.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8", newline="\n")
    for name, content in (handout or {}).items():
        (tree / "handout").mkdir(exist_ok=True)
        (tree / "handout" / name).write_bytes(_line_ends(Path(name), content))
    seeds = ()
    if cohort is not None:
        seeds = (cohort, *_write_cohort(cohort, tree / "data", gold))
        written = [path.relative_to(tree).as_posix() for path in tree.glob("data/**/*.*")]
        for name in {*written} - {*chosen_files(written, numbers)}:
            (tree / name).unlink()
    for folder in sorted(tree.rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    for path in [tree, *tree.rglob("*")]:  # regardless of the umask
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)
    return seeds


def tracked_files(folders: Iterable[str], needed: Iterable[str]) -> set[str]:
    """The names of the files in these folders that git tracks; in a copy without history, of all.

    Args:
        folders: folders of this project.
        needed: patterns; a file that matches one must not be left out.

    Raises:
        UserError: git fails to list its files, or doesn't track one that is needed.
    """
    if (ROOT / ".git").exists():
        try:
            process = subprocess.run(
                ["git", "-C", str(ROOT), "ls-files", "-z", "--", *folders], capture_output=True
            )
        except FileNotFoundError:
            raise UserError(
                "git is not installed, and only files that it tracks leave this project. Install "
                "git, or build in a copy without the folder .git."
            ) from None
        if process.returncode:
            raise UserError(
                f"git cannot list the project's files in {ROOT}: "
                f"{process.stderr.decode(errors='replace').strip()}"
            )
        tracked = {*process.stdout.decode("utf-8").split("\0")} - {""}
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


def cohort_seed(cohort: int, size: str) -> int:
    """The seed of one of a cohort's worlds: a hash, so that one seed does not reveal another."""
    return int.from_bytes(hashlib.sha256(f"{cohort} {size}".encode()).digest()[:7], "big")


def _write_cohort(cohort, data, gold):
    """Draw a cohort's worlds and exercises; returns their seeds."""
    from instructor.datasets.worlds.editions import EDITIONS
    from instructor.datasets.worlds.exercises import as_json, blank, make_matrices, write_exercises
    from instructor.datasets.worlds.world import SIZES, make_world, statistics, write_world

    figures = {}
    for size, (_, folder) in EDITIONS.items():
        people, documents = make_world(cohort_seed(cohort, size), SIZES[size])
        write_world(people, documents, data / folder, gold / folder)
        for name, value in statistics(people, documents).items():
            figures.setdefault(name, []).append(str(value))
    if (about := data / "problem1.md").exists():
        text = about.read_text(encoding="utf-8")
        for name, values in figures.items():
            row = f"| {name} | {' | '.join(values)} |"
            text = re.sub(rf"(?m)^\| {re.escape(name)} \|.*$", lambda _: row, text)
        about.write_text(text, encoding="utf-8", newline="\n")
    exercises = cohort_seed(cohort, "exercises")
    write_exercises(exercises, data, gold)
    text = as_json(blank(make_matrices(exercises)))
    for path in data.parent.glob("src/**/problem5/hand_attention.json"):
        path.write_text(text, encoding="utf-8", newline="\n")
    return [*(cohort_seed(cohort, size) for size in EDITIONS), exercises]


def _line_ends(path, content):
    """The same bytes from every system: CRLF in .bat files, LF in other texts."""
    if path.suffix in BINARY:
        return content
    content = content.replace(b"\r\n", b"\n")
    return content.replace(b"\n", b"\r\n") if path.suffix == ".bat" else content


def read_tree(tree: Path) -> dict[str, bytes]:
    """The files in a folder: name, with slashes -> content."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


def zip_tree(tree: Path, archive: Path) -> None:
    """Write the zip of a release: one folder, the same bytes on every machine and day."""
    from collect import write_zip

    write_zip(
        archive,
        (
            (f"{project_name()}/{name}", content)
            for name, content in sorted(read_tree(tree).items())
        ),
        zipfile.ZIP_STORED,
    )
