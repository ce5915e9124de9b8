"""What to grade of one person's zip, folder or file: which folder has the code."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePath, PurePosixPath

from jobs.deliverables import STUDENT_FILES, look_alike

PASSED_OVER = {"__macosx", "thumbs.db", "desktop.ini", "__pycache__"}
DEPTH, MOST_FOLDERS = 6, 200  # how far a submission's folder is searched for the student's files
ASK = "Ask for a zip of the files that the handout lists."
NONE = f"none of {', '.join(STUDENT_FILES)}"


def locate(path: Path) -> tuple[Path, str]:
    """The zip or folder to grade of a submission at `path`, and what is wrong with it, or ""."""
    try:
        if path.is_symlink():
            return path, "It is a link, which is not followed. Put the file or folder itself there."
        if path.is_dir():
            return _inside(path)
        if not path.is_file():
            return path, "It is neither a file nor a folder. Ask for the submission again."
        if path.suffix.lower() == ".zip":
            return path, ""
        kind = f"{path.suffix} file" if path.suffix else "file"
        return path, f"It is a single {kind}, not a zip. {ASK}"
    except OSError as error:
        return path, f"It cannot be read: {error.strerror}."


def _inside(top):
    """Like locate, for a folder: the folder with the code, or the only zip."""
    files, level, seen = [], [top], 0
    for _ in range(DEPTH):
        paths = [folder / name for folder in level for name in names_in(folder)]
        level = [path for path in paths if is_folder(path)]
        files += [path for path in paths if not is_folder(path)]
        seen += len(level)
        if seen > MOST_FOLDERS:
            break
    home, problem = choose_home(PurePosixPath(path.relative_to(top)) for path in files)
    if home or problem:
        return (top, problem) if problem else (top / home, "")
    zips = [
        path
        for path in files
        if path.suffix.lower() == ".zip" and stat.S_ISREG(os.lstat(path).st_mode)
    ]
    if len(zips) == 1:
        return zips[0], ""
    if zips:
        return top, f"It has {len(zips)} zip files. Keep the right one of them."
    if level:
        return top, f"It has many folders, and {NONE} near the top. {ASK}"
    folders = sorted({top, *(path.parent for path in files)})
    alike = next(filter(None, (look_alike(folder, *STUDENT_FILES) for folder in folders)), "")
    return top, f"It has {NONE}{alike}. {ASK}"


def choose_home(files: Iterable[PurePosixPath]) -> tuple[PurePath | None, str]:
    """Which of the folders with code is the submission, by the same rule as for a zip: the one that
    contains the others, or the only one called `submission`.

    Args:
        files: relative paths of files. A folder has code if one that students write is in it, in
            its place or at the top.

    Returns:
        The folder; None if there is none, and why if there are several.
    """
    homes = set()
    for path in files:
        for name in map(PurePosixPath, STUDENT_FILES):
            if path.name == name.name:
                homes.add(path.parent)
                if path.parts[-len(name.parts) :] == name.parts:
                    homes.add(path.parents[len(name.parts) - 1])
    homes = sorted(homes)
    around = [
        home for home in homes if all(home == other or home in other.parents for other in homes)
    ]
    called = [home for home in homes if home.name == "submission"]
    if around or len(called) == 1:
        return (around or called)[0], ""
    if not homes:
        return None, ""
    first, second = (home.as_posix() for home in (called or homes)[:2])
    return (
        None,
        f"It has code in several folders, {first} and {second}. Ask for a zip of the right files "
        "alone.",
    )


def names_in(folder: Path) -> list[str]:
    """The names in a folder, without files that systems and tools add."""
    return sorted(
        name
        for name in os.listdir(folder)
        if not name.startswith(".") and name.lower() not in PASSED_OVER
    )


def is_folder(path: Path) -> bool:
    """Whether it is a folder itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()
