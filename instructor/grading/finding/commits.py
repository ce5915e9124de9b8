"""Which commit of a clone counts, and its files as a zip: then it is a submission as any other."""

import hashlib
import os
import stat
import zipfile
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path, PurePosixPath

from autograder.intake import Limits
from autograder.report import harmless
from checks.support.staging import code_limit, result_limit
from common.files import private, writing
from jobs.deliverables import FOLDERS, STUDENT_FILES

from .contents import ASK, choose_home
from .find import Found
from .history import Before, look_at, said, time_of
from .refs import KINDS, Moved
from .repository import Commit, Entry, reading

POINTER = b"version https://git-lfs."  # what stands in place of a file in Git LFS
SMALL = 1024  # bytes; no pointer is larger


@dataclass
class Taken:
    """What a clone gives.

    Attributes:
        commit: the commit that counts; None if there is none.
        problem: why it cannot be graded; "" if it can be.
        remarks: sentences on its history, for the staff and the student.
    """

    commit: Commit | None = None
    problem: str = ""
    remarks: list[str] = field(default_factory=list)


def take_commit(
    found: Found,
    archive: Path,
    at: datetime | None = None,
    branch: str | None = None,
    before: Before | None = None,
) -> tuple[Found, Taken]:
    """Write the files of the commit that counts into a zip: then it is a submission as any other.

    Args:
        found: a submission with a repository.
        archive: the zip to write.
        at: the deadline; by default, the last commit counts.
        branch: by default, the one that HEAD names.
        before: what an earlier run graded.

    Returns:
        The submission with the zip as its source and its time, and what was Taken.

    Raises:
        Unreadable: the clone is damaged or incomplete, or git is missing.
    """
    taken = Taken()
    with reading(found.repository) as clone:
        tip, log = _tip(clone, branch, taken)
        if not taken.problem:
            history = clone.history(tip)
            _choose(clone, history, at, taken)
        if not taken.problem:
            taken.remarks += look_at(clone, history, log, at, taken.commit, before)
            files = _files(clone, taken)
        if not taken.problem:
            if taken.commit.hash == tip:
                taken.remarks += _not_committed(clone, found, files)
            _write(clone, files, archive, taken)
    taken.problem = harmless(taken.problem)  # it may name branches and files
    if not taken.commit:
        return replace(found, problem=taken.problem), taken
    return (
        replace(
            found,
            source=archive,
            label=f"{found.label} at {taken.commit.hash[:12]}",
            submitted=time_of(taken.commit),
            problem=taken.problem,
        ),
        taken,
    )


# The branch


def _tip(clone, wanted, taken):
    """The newest commit of the branch, and the branch's log; sets taken.problem if there is none.

    After `git fetch`, what was pushed is in refs/remotes; after `git pull`, and in a bare clone, in
    refs/heads.
    """
    if not wanted and not clone.branch:
        taken.remarks.append(
            "HEAD names no branch: the history of the commit that it names counts."
        )
        if tip := clone.resolve("HEAD"):
            return tip, []
    name = wanted or clone.branch
    names = {ref.removeprefix(KINDS[0]).removeprefix(KINDS[1]) for ref in clone.refs()}
    if not wanted and name not in names and len(names) == 1:
        (name,) = names
        taken.remarks.append(f"Its only branch is {name}, which counts.")
    local, remote = (clone.resolve(kind + name) for kind in KINDS)
    if not (local or remote):
        there = f"It has the branches {', '.join(sorted(names)[:5])}." if names else "It is empty."
        taken.problem = f"There is no commit on its branch {name or 'main'}. {there}"
        return None, []
    log = clone.log(f"refs/remotes/origin/{name}")
    if not remote or (local and local != remote and clone.contains(local, remote)):
        return local, log
    if local and not clone.contains(remote, local):
        moved = Moved(local, remote, log[-1].time if log else 0, "forced-update")
        log = log if any("forced-update" in one.why for one in log) else [*log, moved]
    return remote, log


def _choose(clone, history, at, taken):
    """Set the commit that counts: the last one before the deadline."""
    chosen = [one for one in history if at is None or one.time <= at.timestamp()]
    if not chosen:
        taken.problem = (
            f"It has no commit before {said(at)}; the first one is of {said(history[-1], at)}."
        )
        if clone.shallow:
            taken.problem += " The clone is shallow, and older ones are not in it."
        return
    taken.commit = chosen[0]
    if count := history.index(chosen[0]):
        taken.remarks.append(
            f"{count} later commit{'s' * (count != 1)}, the last of {said(history[0], at)}, "
            f"{'is' if count == 1 else 'are'} after {said(at)} and did not count."
        )


# The files


def _files(clone, taken) -> dict[str, Entry]:
    """The files of the submission in the commit, by name; sets taken.problem if there are none."""
    folders = clone.folders(taken.commit.hash)

    def has_code(path):
        places = [path / name for name in STUDENT_FILES]
        return any(
            place.name in folders.get(parent, ())
            for place in places
            for parent in (place.parent, path)
        )

    homes = [path for path in folders if has_code(path)]
    home, taken.problem = choose_home(homes) if homes else (None, _no_code(folders))
    if home is None:
        return {}
    found = {
        (PurePosixPath(folder) / name).as_posix(): entry
        for folder in ("", *FOLDERS)
        for name, entry in folders.get(home / folder, {}).items()
    }
    wanted = ((name, entry) for name, entry in sorted(found.items()) if _limit_of(name) is not None)
    return dict(islice(wanted, Limits().files + 1))  # one too many is refused with the zip


def _limit_of(name):
    return code_limit(name) or result_limit(name)


def _no_code(folders):
    modules = [
        (path / name).as_posix()
        for path, entries in folders.items()
        for name, entry in entries.items()
        if stat.S_IFMT(entry.mode) == 0o160000
    ]
    others = f" {modules[0]} is a submodule, whose files are elsewhere." if modules else ""
    return f"Its commit has none of {', '.join(STUDENT_FILES)}.{others} {ASK}"


def _write(clone, files, archive, taken):
    """Write the zip, with the modes of the commit: the intake refuses links and too many files."""
    plain = {name: entry for name, entry in files.items() if stat.S_ISREG(entry.mode)}
    sizes = clone.sizes([entry.hash for entry in plain.values()])
    for name, size in zip(plain, sizes, strict=True):
        if size > _limit_of(name):
            taken.problem = (
                f"{name} is larger than the limit of {_limit_of(name)} bytes. Is it the right file?"
            )
            return
    contents = clone.contents([entry.hash for entry in plain.values()], Limits().total)
    pointers = []
    with private(), writing(archive) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for name, entry in files.items():
            info = zipfile.ZipInfo(name)  # dated 1980: the same bytes in every run
            info.create_system, info.external_attr = 3, entry.mode << 16
            content = next(contents) if name in plain else b""
            file.writestr(info, content)
            if len(content) <= SMALL and content.startswith(POINTER):
                pointers.append(name)
    if pointers:
        taken.remarks.append(
            f"{', '.join(pointers)}: a pointer of Git LFS, not the file. Commit the file itself; "
            "the largest is far below the limits of hosts."
        )


def _not_committed(clone, found, files):
    """A sentence on the files in the work tree that differ from the commit."""
    if found.problem or not found.source.is_dir():
        return []
    differ = []
    for folder in ("", *FOLDERS):
        place = found.source / folder
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            name = path.relative_to(found.source).as_posix()
            if _limit_of(name) is None or not stat.S_ISREG(os.lstat(path).st_mode):
                continue
            if path.stat().st_size > _limit_of(name) or _hash(path, clone) != getattr(
                files.get(name), "hash", ""
            ):
                differ.append(name)
    more = f" and {len(differ) - 4} more" if len(differ) > 4 else ""
    return (
        [f"Not committed as in the folder: {', '.join(differ[:4])}{more}. The commit was graded."]
        if differ
        else []
    )


def _hash(path, clone):
    """The hash that git gives to the content of a file."""
    content = path.read_bytes()
    digest = hashlib.sha1 if clone.width == 40 else hashlib.sha256
    return digest(b"blob %d\0" % len(content) + content).hexdigest()
