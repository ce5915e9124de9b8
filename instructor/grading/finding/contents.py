"""What to grade of one person's zip, folder or file: which folder has the code."""

import os
import stat
from pathlib import Path, PurePath

from jobs.deliverables import FOLDERS, STUDENT_FILES, has_code, look_alike

PASSED_OVER = {"__macosx", "thumbs.db", "desktop.ini", "__pycache__"}
DEPTH, MOST_FOLDERS = 4, 200  # how far a submission's folder is searched for the student's files
ASK = "Ask for a zip of the files that the handout lists."


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
    """Like locate, for a folder: itself, the folder inside it with the code, or the only zip."""
    homes, zips, level, seen, deeper, alike = [], [], [top], 0, False, ""
    for depth in range(DEPTH + 1):
        below = []
        for folder in level:
            names = names_in(folder)
            if home := has_code(folder):
                homes.append(folder)
            alike = alike or look_alike(folder, *STUDENT_FILES)
            zips += [
                folder / name
                for name in names
                if name.lower().endswith(".zip") and stat.S_ISREG(os.lstat(folder / name).st_mode)
            ]
            below += [
                folder / name
                for name in names
                if is_folder(folder / name) and not (home and name in FOLDERS)
            ]
        seen += len(below)
        level, deeper = below, bool(below) and (depth == DEPTH or seen > MOST_FOLDERS)
        if deeper:
            break
    if homes:
        home, problem = choose_home([home.relative_to(top) for home in homes])
        return (top, problem) if home is None else (top / home, "")
    if len(zips) == 1:
        return zips[0], ""
    if len(zips) > 1:
        return top, f"It has {len(zips)} zip files. Keep the right one of them."
    if deeper:
        return (
            top,
            f"It has many folders, and none of {', '.join(STUDENT_FILES)} near the top. {ASK}",
        )
    return top, f"It has none of {', '.join(STUDENT_FILES)}{alike}. {ASK}"


def choose_home(homes: list[PurePath]) -> tuple[PurePath | None, str]:
    """Which of the folders with code is the submission, by the same rule as for a zip: the one that
    contains the others, or the only one called `submission`. If there is none, why.
    """
    around = [
        home for home in homes if all(home == other or home in other.parents for other in homes)
    ]
    called = [home for home in homes if home.name == "submission"]
    if around or len(called) == 1:
        return (around or called)[0], ""
    one, other = (home.as_posix() for home in (called or homes)[:2])
    return (
        None,
        f"It has code in several folders, {one} and {other}. Ask for a zip of the right files "
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
