"""What to grade of one person's zip, folder or file: which folder has the code."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from autograder.intake import Refused, home_of
from instructor.grading.text import clean
from jobs.deliverables import FOLDERS, STUDENT_FILES, original_name

PASSED_OVER = {"__macosx", "thumbs.db", "desktop.ini", "__pycache__"}
ADVICE = "Hand in the submission.zip that ./collect_submission.sh makes, or the files in it."
NONE = f"none of {', '.join(STUDENT_FILES)}"


def locate(path: Path) -> tuple[Path, str]:
    """The zip or folder to grade of a submission at `path`, and what is wrong with it, or ""."""
    try:
        if path.is_symlink():
            return path, "It is a link, which is not followed. Put the file or folder itself there."
        if path.is_dir():
            return _inside(path), ""
        if not path.is_file():
            return path, "It is neither a file nor a folder. Hand it in again."
        if path.suffix.lower() != ".zip":
            return path, clean(f"It is a single {path.suffix} file, not a zip. {ADVICE}")
        return path, ""
    except Refused as error:
        return path, str(error)
    except OSError as error:
        return path, f"It cannot be read: {error.strerror}."


def _inside(top):
    """The folder with the code in a folder, or the only zip."""
    files = []
    for folder, folders, names in os.walk(top, onerror=_fail):  # follows no link
        folders[:] = visible(folders)
        files += [Path(folder, name) for name in visible(names)]
    paths = [PurePosixPath(path.relative_to(top).as_posix()) for path in files]
    if home := home_of(paths, STUDENT_FILES, FOLDERS):
        return top / home
    zips = [path for path in files if path.suffix.lower() == ".zip"]
    zips = [path for path in zips if stat.S_ISREG(os.lstat(path).st_mode)]
    if len(zips) > 1:
        raise Refused(f"It has {len(zips)} zip files. Keep the right one of them.")
    if zips:
        return zips[0]
    alike = [str(path) for path in paths if original_name(path.name) in STUDENT_FILES]
    rename = f"; there is {alike[0]!r}: rename it" if alike else ""
    raise Refused(f"It has {NONE}{rename}. {ADVICE}")


def _fail(error):
    raise error


def visible(names: Iterable[str]) -> list[str]:
    """Names in a folder, sorted, without those that systems and tools add."""
    return sorted(
        name for name in names if not name.startswith(".") and name.lower() not in PASSED_OVER
    )


def is_folder(path: Path) -> bool:
    """Whether it is a folder itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()
