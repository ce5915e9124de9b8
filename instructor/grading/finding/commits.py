"""Takes the commit of a clone that counts, as a zip: then it is a submission as any other."""

import hashlib
import os
import re
import stat
import zipfile
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from autograder.intake import Limits
from autograder.report import harmless
from common.files import private, writing
from jobs.deliverables import FOLDERS

from .find import Found
from .history import Before, choose, elsewhere, look_at, lost, rewritten, said, time_of
from .places import AGAIN, TooLarge, Undecided, Unreadable
from .refs import KINDS
from .repository import Commit, reading
from .trees import find_files, limit_of

POINTER = b"version https://git-lfs."  # what stands in place of a file in Git LFS
SMALL = 1024  # bytes; no pointer is larger
DECIDED = "graded"  # the branch that staff make in a clone to decide which commit counts


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


def rule_of(at: datetime | None, branch: str | None) -> str:
    """The rule by which a commit counts, as text."""
    return f"{at.isoformat() if at else 'last'} {branch or ''}".strip()


def take_commit(
    found: Found,
    archive: Path,
    at: datetime | None = None,
    branch: str | None = None,
    before: list[Before] = (),
) -> tuple[Found, Taken]:
    """Write the files of the commit that counts into a zip: then it is a submission as any other.

    Args:
        found: a submission with a repository.
        archive: the zip to write.
        at: the deadline; by default, the last commit counts.
        branch: by default, the one that HEAD names.
        before: what earlier runs graded, oldest first.

    Returns:
        The submission with the zip as its source and its time, and what was Taken.

    Raises:
        Unreadable: the clone is damaged or incomplete, or git is missing; or a person has to decide
            whether the commit counts that an earlier run graded, since nothing else does.
    """
    taken = Taken()
    with reading(found.repository) as clone:
        try:
            _take(clone, found, archive, at, branch, before, taken)
        except TooLarge as error:
            taken.problem = str(error)
    taken.problem = harmless(taken.problem)  # these may name branches and files
    taken.remarks = [*map(harmless, taken.remarks)]
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


def _take(clone, found, archive, at, branch, before, taken):
    """Fill in what was taken, and write the zip if there is no problem."""
    names = {ref.removeprefix(KINDS[0]).removeprefix(KINDS[1]) for ref in clone.refs()}
    decided = _is_decided(clone)
    if decided:
        before, names = [], {DECIDED}
        taken.remarks.append(f"The branch {DECIDED}, made in this clone, counts.")
    name = DECIDED if decided else _branch(clone, branch, names, taken)
    tip, log = _tip(clone, name, names, taken)
    history = clone.history(tip) if tip else []
    gone = rewritten(clone, history, log, at, before)
    first = next((one for one in before if one.rule == rule_of(at, branch)), None)
    if tip:
        taken.commit, remarks = choose(clone, history, log, at)
        newer = elsewhere(clone, tip, at, taken.commit, sorted(names - {name}))
        taken.remarks += remarks + [text for text in (gone, newer) if text]
    if taken.commit:
        taken.remarks += look_at(clone, history, log, at, taken.commit, first)
        files, taken.problem, remarks = find_files(clone, taken.commit.hash)
        taken.remarks += remarks
    elif tip and clone.shallow:
        raise Unreadable(
            f"It is shallow, and has no commit before {said(at)}. Fetch the others: git fetch "
            "--unshallow."
        )
    elif tip:
        oldest = min(history, key=lambda one: one.time)
        taken.problem = (
            f"It has no commit before {said(at)}; the first one is of {said(oldest, at)}. {newer}"
        ).strip()
    if gone:
        _require_decision(clone, history, log, at, first, gone, taken)
    if not taken.problem:
        taken.remarks += _not_committed(clone, found, taken.commit, files)
        _write(clone, files, archive, taken)


def _require_decision(clone, history, log, at, first, gone, taken):
    """Raise Undecided if rewriting the history took away what counted before it."""
    why = taken.problem
    if at and first and first.commit not in {one.hash for one in history}:
        why = why or f"{first.commit[:12]} counted before."
    elif at and (one := lost(clone, history, log, at)):
        why = why or f"{one.hash[:12]}, of {said(one, at)}, would count before it."
    if why:
        raise Undecided(
            harmless(
                f"{gone} {why} Decide which commit counts (git branch {DECIDED} COMMIT in the "
                "clone): until then, the grade of an earlier run stays."
            )
        )


# The branch


def _is_decided(clone):
    """Whether staff made the branch DECIDED. In a bare clone, a student could have pushed it."""
    there = {ref for ref in clone.refs() if ref.startswith(KINDS[1])}
    return there and KINDS[1] + DECIDED not in there and clone.resolve(KINDS[0] + DECIDED)


def _branch(clone, wanted, names, taken):
    """The name of the branch that counts; "" for the history of the commit that HEAD names."""
    if wanted or clone.branch in names:
        return wanted or clone.branch
    if not clone.branch and clone.resolve("HEAD"):
        taken.remarks.append(
            "HEAD names no branch: the history of the commit that it names counts."
        )
        return ""
    if len(names) == 1:
        (name,) = names
        taken.remarks.append(f"Its only branch is {name}, which counts.")
        return name
    remote = re.match(r"ref: refs/remotes/origin/(.+)", clone.text("refs/remotes/origin/HEAD"))
    for name in (remote[1] if remote else "", "main") if clone.branch else ():
        if name in names:
            taken.remarks.append(f"It has no branch {clone.branch}: {name} counts.")
            return name
    if names and not clone.branch:
        there = ", ".join(sorted(names)[:5])
        raise Unreadable(harmless(f"Its HEAD is damaged. It has the branches {there}. {AGAIN}"))
    return clone.branch or "main"


def _tip(clone, name, names, taken):
    """The newest commit of the branch, and the branch's log; sets taken.problem if there is none.

    What was pushed counts: after a fetch it is in refs/remotes, and in a bare clone in refs/heads.
    """
    if not name:
        return clone.resolve("HEAD"), []
    local, remote = (clone.resolve(kind + name) for kind in KINDS)
    if not (local or remote):
        there = f"It has the branches {', '.join(sorted(names)[:5])}." if names else "It is empty."
        if not names and clone.has_objects:
            raise Unreadable(
                f"It has objects, but no branch: the clone was interrupted or is damaged. {AGAIN}"
            )
        taken.problem = f"There is no commit on its branch {name}. {there}"
    if remote and local and clone.contains(remote, local) is False:
        if clone.contains(local, remote):
            count = len(clone.history(local, remote))
            taken.remarks.append(
                f"{count} commit{'s' * (count != 1)} on the branch {name} in this folder "
                f"{'was' if count == 1 else 'were'} not pushed, and did not count."
            )
        elif not any("forced-update" in one.why for one in clone.log(KINDS[1] + name)):
            taken.remarks.append(
                f"Its history was rewritten, or has commits that were not pushed: {local[:12]}, "
                f"where the branch {name} is in this folder, is not in what was fetched, which "
                "counts."
            )
    return remote or local, clone.log(KINDS[1] + name)


# The files


def _write(clone, files, archive, taken):
    """Write the zip, with the modes of the commit: the intake refuses links and too many files."""
    plain = {name: entry for name, entry in files.items() if stat.S_ISREG(entry.mode)}
    sizes = clone.sizes([entry.hash for entry in plain.values()])
    for name, size in zip(plain, sizes, strict=True):
        if size > limit_of(name):
            taken.problem = (
                f"{name} is larger than the limit of {limit_of(name)} bytes. Is it the right file?"
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


def _not_committed(clone, found, commit, files):
    """A sentence on the files in the work tree that differ from the commit, if that is the one that
    was checked out.
    """
    if found.problem or not found.source.is_dir() or clone.resolve("HEAD") != commit.hash:
        return []
    differ = []
    for folder in ("", *FOLDERS):
        place = found.source / folder
        for path in sorted(place.iterdir()) if place.is_dir() else ():
            name = path.relative_to(found.source).as_posix()
            if limit_of(name) is None or not stat.S_ISREG(os.lstat(path).st_mode):
                continue
            entry = files.get(name)
            if path.stat().st_size > limit_of(name) or not entry or not _is(path, entry.hash):
                differ.append(name)
    more = f" and {len(differ) - 4} more" if len(differ) > 4 else ""
    return (
        [f"Not committed as in the folder: {', '.join(differ[:4])}{more}. The commit was graded."]
        if differ
        else []
    )


def _is(path, wanted):
    """Whether a file has the content of this hash of git, with its line ends or with git's."""
    digest, content = hashlib.sha1 if len(wanted) == 40 else hashlib.sha256, path.read_bytes()
    return wanted in (
        digest(b"blob %d\0" % len(one) + one).hexdigest()
        for one in (content, content.replace(b"\r\n", b"\n"))
    )
