"""Takes the commit of a clone that counts, as a zip: then it is a submission as any other."""

import stat
import tempfile
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from autograder.intake import Limits, Refused, home_of
from checks.support.staging import limit_of
from common.files import writing
from instructor.grading.private import private
from instructor.grading.text import clean, moment
from jobs.deliverables import FOLDERS, STUDENT_FILES

from .contents import ADVICE, NONE
from .find import Found
from .repository import AGAIN, EVERY_BRANCH, HASH, Repository, Unreadable


def take_commit(
    found: Found, at: datetime | None = None, branch: str = "", graded: str | None = None
) -> tuple[Found, str, str]:
    """Write the files of the commit that counts into a zip.

    Args:
        found: a submission with a repository; its source is the zip to write.
        at: the deadline; by default, the last commit counts.
        branch: "" for what HEAD names.
        graded: the commit that the first run after this deadline graded.

    Returns:
        The submission with the commit's label and time, or with its problem; the hash of the
        commit, or ""; and remarks for the staff and the student.

    Raises:
        Unreadable: the clone is damaged or incomplete, or git is missing.
        OSError: it cannot be read.
    """
    remarks, commit = [], None
    found = replace(found, problem="")  # of the folder
    try:
        with tempfile.TemporaryDirectory(prefix="clone-") as ours:
            clone = Repository(found.repository, Path(ours))
            tip = _tip(clone, branch, remarks)
            commit = clone.last(tip, before=at and at.timestamp())
            remarks += _remarks(clone, tip, commit, at, graded)
            if not commit:
                raise Refused(" ".join([f"It has no commit before {moment(at)}.", *remarks]))
            label, submitted = f"{found.label} at {commit.hash[:12]}", _time(commit)
            found = replace(found, label=label, submitted=submitted)
            _write(clone, commit.hash, found.source)
    except Refused as error:
        found = replace(found, problem=str(error))
    return found, commit.hash if commit else "", " ".join(remarks)


def _tip(clone, wanted, remarks):
    """The hash of the branch that counts: a named one, what HEAD names, or the only one."""
    if not wanted and HASH.fullmatch(clone.head):
        remarks.append(f"{clone.head[:12]} was checked out by hand: its history counts.")
        return clone.head
    if not clone.branches and clone.has_objects:
        raise Unreadable(f"It has no branch: the clone was interrupted. {AGAIN}")
    if not clone.branches:
        raise Refused("It is empty.")
    name = wanted or clone.head
    if name in clone.branches:
        return clone.branches[name]
    if len(clone.branches) == 1 and not wanted:
        return next(iter(clone.branches.values()))
    which = f"It has no branch {name}, but {', '.join(sorted(clone.branches)[:5])}."
    if wanted:
        raise Refused(which)
    raise Unreadable(f"{which} Choose one: git checkout NAME in the clone.")


def _remarks(clone, tip, commit, at, graded):
    """Sentences on what did not count."""
    remarks = []
    if commit and commit.hash != tip:
        remarks.append(f"Commits after {moment(at)} did not count.")
    if graded and (not commit or commit.hash != graded):
        now = f"; now {commit.hash[:12]} counts, dated {_dated(commit, at)}" if commit else ""
        remarks.append(f"An earlier run with this deadline graded {graded[:12]}{now}.")
    newer = clone.last(*EVERY_BRANCH, f"^{tip}", before=at and at.timestamp())
    if newer and (not commit or newer.time > commit.time):
        remarks.append(
            f"{newer.hash[:12]}, dated {_dated(newer, at)}, did not count: it is not in the branch "
            "that counts."
        )
    return remarks


def _time(commit):
    """When, in UTC; None if it is no time of these centuries."""
    return datetime.fromtimestamp(commit.time, UTC) if 0 < commit.time < 1 << 32 else None


def _dated(commit, at):
    """The time of a commit in words, in the deadline's time zone."""
    time = _time(commit)
    return moment(time.astimezone(at.tzinfo if at else UTC)) if time else "without a valid time"


def _write(clone, commit, archive):
    """Write the submission in a commit as a zip, with its modes: the intake refuses links."""
    files = clone.files(commit)
    home = home_of(files, STUDENT_FILES, FOLDERS)
    if not home:
        raise Refused(f"Its commit has {NONE} (a submodule's files do not count). {ADVICE}")
    homes = (home, *(home / folder for folder in FOLDERS))
    names = {path.relative_to(home).as_posix(): path for path in files if path.parent in homes}
    files = {name: files[path] for name, path in names.items() if limit_of(name) is not None}
    plain = {name: blob for name, blob in files.items() if stat.S_ISREG(blob.mode)}
    for name, blob in plain.items():
        if blob.size is None:
            raise Unreadable(f"It lacks {clean(name)}. {AGAIN}")
        if blob.size > limit_of(name):
            raise Refused(
                f"{clean(name)} is larger than the limit of {limit_of(name)} bytes. Is it the "
                "right file?"
            )
    if sum(blob.size for blob in plain.values()) > Limits().total or len(files) > Limits().files:
        raise Refused("Its files are too many or too large for a submission.")
    with private(), writing(archive) as temporary, zipfile.ZipFile(temporary, "w") as file:
        for name, blob in files.items():
            info = zipfile.ZipInfo(name)  # dated 1980: the same bytes in every run
            info.create_system, info.external_attr = 3, blob.mode << 16
            file.writestr(info, clone.content(blob) if name in plain else b"")
