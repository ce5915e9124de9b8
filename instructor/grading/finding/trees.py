"""Which files of a commit are the submission."""

import stat
from itertools import islice
from pathlib import PurePosixPath

from autograder.intake import Limits
from checks.support.staging import code_limit, result_limit
from jobs.deliverables import FOLDERS, STUDENT_FILES

from .contents import ASK, DEPTH, MOST_FOLDERS, choose_home
from .repository import Entry, Repository

HERE = PurePosixPath()
PLACE = PurePosixPath("src/submission")  # of a release
SUBMODULE = 0o160000
NAMES = {PurePosixPath(name).name for name in STUDENT_FILES}


def find_files(clone: Repository, commit: str) -> tuple[dict[str, Entry], str, list[str]]:
    """The files of the submission in a commit.

    src/submission counts, at the top or in one folder there. Without it, the folders near the top
    are searched.

    Returns:
        The files by name; why there are none, or ""; remarks.

    Raises:
        Unreadable: folders are damaged or missing.
        TooLarge: they have too many files.
    """
    (top,) = clone.trees([f"{commit}^{{tree}}"])
    if _is(SUBMODULE, _entry(clone, top, PLACE)):
        return {}, f"{PLACE} is a submodule, whose files are elsewhere. {ASK}", []
    if files := _read(clone, _folder(clone, top, PLACE)):
        others = sorted(NAMES & top.keys())
        told = f"{others[0]} at its top did not count: {PLACE} did." if others else ""
        return files, "", [told] * bool(told)
    inside = _below(clone, {HERE: top})
    deeper = [_read(clone, _folder(clone, entries, PLACE)) for entries in inside.values()]
    if len(deeper := [files for files in deeper if files]) == 1:
        return deeper[0], "", []
    return _search(clone, top)


def limit_of(name: str) -> int | None:
    """The largest size of a file of a submission in bytes; None if it is none."""
    return code_limit(name) or result_limit(name)


def _is(kind, entry):
    return entry is not None and stat.S_IFMT(entry.mode) == kind


def _entry(clone, entries, path):
    """The entry of a path below a folder; None if there is none."""
    return _folder(clone, entries, path.parent).get(path.name)


def _folder(clone, entries, path):
    """The entries of a folder below another one; {} if there is no such folder."""
    if path == HERE:
        return entries
    entry = _entry(clone, entries, path)
    return clone.trees([entry.hash])[0] if _is(stat.S_IFDIR, entry) else {}


def _below(clone, level):
    """The folders in some folders, {path: entries}."""
    below = {
        path / name: entry.hash
        for path, entries in level.items()
        for name, entry in entries.items()
        if _is(stat.S_IFDIR, entry)
    }
    below = dict(islice(below.items(), MOST_FOLDERS + 1))
    return dict(zip(below, clone.trees([*below.values()]), strict=True)) if below else {}


def _read(clone, home):
    """The files to grade in a folder, by name; {} if it has no code."""
    found = {
        (PurePosixPath(folder) / name).as_posix(): entry
        for folder in ("", *FOLDERS)
        for name, entry in _folder(clone, home, PurePosixPath(folder)).items()
    }
    wanted = ((name, entry) for name, entry in sorted(found.items()) if limit_of(name) is not None)
    files = dict(islice(wanted, Limits().files + 1))  # one too many is refused with the zip
    return files if NAMES & found.keys() or {*STUDENT_FILES} & found.keys() else {}


def _search(clone, top):
    """Like find_files, where no folder is called as in a release."""
    folders = level = {HERE: top}
    for _ in range(DEPTH + 3):  # the folder itself, and a problem's folders in the deepest one
        level = _below(clone, level) if len(folders) <= MOST_FOLDERS else {}
        folders = folders | level
    homes = [
        path
        for path in folders
        if any(
            one.name in folders.get(parent, ())
            for one in map(path.joinpath, STUDENT_FILES)
            for parent in (one.parent, path)
        )
    ]
    cut = len(folders) > MOST_FOLDERS
    told = f"It has more than {MOST_FOLDERS} folders, and not all were searched."
    if homes:
        home, problem = choose_home(homes)
        files = {} if home is None else _read(clone, folders[home])
        return files, problem, [told] * cut
    modules = [
        path / name
        for path, entries in folders.items()
        for name, entry in entries.items()
        if _is(SUBMODULE, entry)
    ]
    others = f" {modules[0]} is a submodule, whose files are elsewhere." if modules else ""
    others += f" {told}" * cut
    return {}, f"Its commit has none of {', '.join(STUDENT_FILES)}.{others} {ASK}", []
