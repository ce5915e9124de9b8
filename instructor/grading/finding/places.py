"""Where a clone's repository is, and whether all of it is there."""

import os
from pathlib import Path

MOST_OBJECTS = 200_000  # files of objects and branches
AGAIN = "Clone it again."


class Unreadable(Exception):
    """The clone cannot be read now, for a reason that may be the staff's; the message says it."""


class Undecided(Unreadable):
    """A person has to decide which commit counts; the message says why."""


class TooLarge(Exception):
    """It is no submission, whoever cloned it; the message says why."""


def git_folder(path: Path) -> Path | None:
    """Where the repository of a folder is: in .git, or the folder itself if the clone is bare; None
    if it is no clone.
    """
    if os.path.lexists(path / ".git"):
        return path / ".git"
    bare = (path / "HEAD").is_file() and all((path / name).is_dir() for name in ("objects", "refs"))
    return path if bare else None


def require_plain(git: Path) -> None:
    """Raise Unreadable unless all of a clone's objects and branches are in its own folder."""
    if git.is_symlink() or not git.is_dir():
        raise Unreadable(f"Its .git is no folder, but names a repository elsewhere. {AGAIN}")
    objects = git / "objects"
    for name in ("alternates", "http-alternates"):
        if os.path.lexists(objects / "info" / name):
            raise Unreadable(
                "It borrows objects from another repository. Clone it without --shared and "
                "--reference."
            )
    waiting, seen = [objects, *(path for path in [git / "refs"] if os.path.lexists(path))], 0
    if waiting[-1].is_symlink():
        raise Unreadable(f"Its folder of branches is a link. {AGAIN}")
    if objects.is_symlink() or not objects.is_dir():
        raise Unreadable(f"It has no folder of objects. {AGAIN}")
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                seen += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not entry.is_file(follow_symlinks=False) or seen > MOST_OBJECTS:
                    raise Unreadable(
                        "Its folders of objects and branches have links, devices, or too many "
                        f"files. {AGAIN}"
                    )
