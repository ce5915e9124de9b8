"""Finding submissions in a folder: as Gradescope, Canvas and Moodle export them, cloned
repositories named assignment-id, or one zip or folder a person.

Nothing is unpacked or run here, and no link is followed. What cannot be graded is listed too, with
its problem, so that no submission disappears.
"""

import contextlib
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from os.path import commonprefix
from pathlib import Path

from common.files import UserError
from instructor.grading.text import clean
from jobs.deliverables import has_code

from .contents import ADVICE, is_folder, locate, visible
from .metadata import METADATA, read_metadata
from .repository import git_folder

FLAGS = re.IGNORECASE | re.DOTALL
WRAPPER = re.compile(r"assignment_\d+_export|submissions|.+-submissions", FLAGS)
# of a download that its system has split; Google Drive adds a time
PART = re.compile(r"(submissions|.+-submissions|.+-\d{8}T\d{6}Z)(-\d+)+(\.zip)?", FLAGS)
GRADESCOPE = re.compile(r"submission_\d+")  # a submission's folder
DOWNLOADED = [  # other systems, and the names in their downloads; of two files the higher is newer
    (system, re.compile(name, FLAGS))
    for system, name in (
        ("moodle", r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)([_.].*)?"),
        ("canvas", r"(?P<name>anon_[0-9a-z]+)(?P<late>_LATE)?_(?P<file>\d+)_.*"),
        (
            "canvas",
            r"(?P<name>.+?)(?P<late>_LATE)?_(?P<id>\d+)_((?P<file>\d+)_.*|(text|link)\.html?)",
        ),
    )
]
# may be the course's own files beside plain submissions
PAPERS = {".csv", ".htm", ".html", ".json", ".md", ".txt", ".xlsx", ".yaml", ".yml"}
# endings of files that are not part of a name
ENDING = re.compile(
    r"(\.tar)?\.(zip|rar|7z|tar|gz|tgz|bz2|xz|py|ipynb|pdf|docx?)\Z"
    rf"|({'|'.join(map(re.escape, sorted(PAPERS)))})\Z",
    re.IGNORECASE,
)
EXPECTED = (
    "expected one zip or folder for each student, an unpacked download from Canvas or Moodle, an "
    "unpacked export from Gradescope, or a folder of cloned repositories, each called "
    "assignment-id"
)


@dataclass(frozen=True)
class Found:
    """A submission as found in the folder. All text is `clean`.

    Attributes:
        path: the file or folder in the download, exactly as it is called there.
        label: its name, for messages.
        source: the zip, or the folder that holds the student's files, as
            checks.support.staging.stage takes it.
        person: whose it is, according to its name.
        identities: (kind, value) pairs, strongest first, to look up in a roster. A kind is a field
            of grades.Person, or "any" if any of them may have the value.
        problem: why it cannot be graded; "" if it can be.
        submitted: when, in UTC; None if unknown. File times are those of the download, so they are
            not used.
        late: whether the export marks it as late; None if it does not say.
        paper: whether it may be a file of the course (page, table, text) and not a submission,
            unless it has a student's name.
        repository: the clone that it is; then its commit is graded (commits.py), not its files.
        system: whose download it is in: "canvas", "moodle" or "gradescope"; "" if of none.
    """

    path: Path
    label: str
    source: Path
    person: str
    identities: tuple[tuple[str, str], ...]
    problem: str = ""
    submitted: datetime | None = None
    late: bool | None = None
    paper: bool = False
    repository: Path | None = None
    system: str = ""


def find_submissions(folder: Path) -> list[Found]:
    """Find every submission in a folder.

    Returns:
        The submissions in an order that depends on names alone. Of two by one person without a
        time, the later in the list is the newer.

    Raises:
        UserError: the folder does not exist, has no submission or the parts of a split download,
            or an export is damaged; the message says what was expected.
    """
    if not folder.is_dir():
        what = "is a file: unpack it, and give the folder" if folder.exists() else "does not exist"
        raise UserError(f"{folder} {what}; {EXPECTED}.")
    try:
        names = visible(os.listdir(folder))
        others = [name for name in names if not _is_paper(folder / name)]
        inner = folder / others[0] if len(others) == 1 and WRAPPER.fullmatch(others[0]) else None
        if inner and is_folder(inner) and not _is_submission(inner):
            folder, names = inner, visible(os.listdir(inner))  # that an export made
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}.") from None
    parts = [PART.fullmatch(name) for name in others]
    if len(parts) > 1 and all(parts) and len({part[1] for part in parts}) == 1:
        raise UserError(
            f"{folder / clean(others[0])} is a part of a download. Unpack all parts into one "
            "folder, and give that. If it is one person's work, rename it."
        )
    if _is_submission(folder):
        raise UserError(f"{folder} is a single submission. Give a folder of them: {EXPECTED}.")
    if METADATA in names or names and all(map(GRADESCOPE.fullmatch, names)):
        found = _of_gradescope(folder, names)
    elif 2 * sum(bool(_download(name)[1]) for name in names) >= len(names) > 0:
        found = _of_canvas_or_moodle(folder, names)
    else:
        prefix = _prefix(folder, names)
        found = [_plain(folder / name, prefix) for name in names]
    if all(item.paper for item in found):
        raise UserError(f"{folder} has no submissions: {EXPECTED}.")
    return found


def _is_submission(folder):
    return has_code(folder) or has_code(folder / "src" / "submission")


def _is_paper(path):
    return path.suffix.lower() in PAPERS and not path.is_dir()


def _found(path, person, identities, **details):
    """The submission at a path in a download, with what is known of it."""
    source, problem = locate(path)
    identities = [(kind, clean(value)) for kind, value in identities]
    identities = tuple((kind, value) for kind, value in identities if value)
    person, details = clean(person) or "(no name)", {"problem": problem} | details
    return Found(path, clean(path.name), source, person, identities, **details)


# The layouts


def _plain(path, prefix=""):
    """A zip or folder called by anything that identifies a person; a folder's name may begin with
    `prefix`, or with the words of it up to any dash.
    """
    names = [path.name.removesuffix(".git") if path.is_dir() else ENDING.sub("", path.name)]
    if is_folder(path) and path.name.startswith(prefix):
        names += [names[0][dash.end() :] for dash in re.finditer("-", prefix)]
    identities = [("any", name) for name in names]
    return _found(path, names[-1], identities, paper=_is_paper(path), repository=_clone(path))


def _prefix(folder, names):
    """What the names of most folders begin with if they are clones: "assignment-"; else ""."""
    folders = [name for name in names if is_folder(folder / name)]
    clones = [name for name in folders if git_folder(folder / name)]
    if len(clones) < 2 or 2 * len(clones) < len(folders):
        return ""
    return re.match(r"(.*-)?", commonprefix(clones), re.DOTALL)[0]


def _clone(path):
    """The clone at `path`, or the only one in this folder; None if there is none."""
    if is_folder(path) and not git_folder(path):
        with contextlib.suppress(OSError):  # `locate` says that it cannot be read
            inside = [path / name for name in visible(os.listdir(path))]
            path = inside[0] if len(inside) == 1 else path
    return path if is_folder(path) and git_folder(path) else None


def _download(name):
    """The system whose downloads have such names, and the match; ("", None) if none has."""
    matches = ((system, pattern.fullmatch(name)) for system, pattern in DOWNLOADED)
    return next((found for found in matches if found[1]), ("", None))


def _of_canvas_or_moodle(folder, names):
    """Canvas' or Moodle's download: a file for each that was handed in, or in Moodle a folder for
    each person. What is no zip or folder counts only for people who have none.
    """
    people, found = defaultdict(list), []
    for name in names:
        system, match = _download(name)
        if not match:
            found.append(_plain(folder / name))
            continue
        parts = match.groupdict()
        late = bool(parts["late"]) if system == "canvas" else None
        file = int(parts.get("file") or 0), folder / name, late
        people[system, parts["name"], parts.get("id") or ""].append(file)
    for (system, who, number), files in people.items():
        # Moodle's number is not a student's: its grading worksheet has it as "Participant 4711"
        known = ("id", f"Participant {number}") if system == "moodle" else ("canvas_id", number)
        anonymous = not number or who.lower() == "student"
        identities = (known,) * bool(number) + (("name", who),) * (not anonymous)
        person = f"{who}_{number}" if number else who
        files.sort()
        whole = [file for file in files if file[1].suffix.lower() == ".zip" or file[1].is_dir()]
        details = {"system": system}
        if not whole and len(files) > 1:
            details["problem"] = f"It is {len(files)} loose files and no zip. {ADVICE}"
        for _, path, late in whole or files[-1:]:
            found.append(_found(path, person, identities, late=late, **details))
    return found


def _of_gradescope(folder, names):
    """Gradescope's export: a folder for each submission, and a file with its submitters and its
    time.
    """
    metadata, found = read_metadata(folder / METADATA), []
    known = set(filter(GRADESCOPE.fullmatch, metadata))
    for name in sorted(known.union(names), key=lambda name: (len(name), name)):
        if _is_paper(folder / name):
            continue
        submitted, people = metadata.get(name, (None, []))
        details = {"submitted": submitted, "system": "gradescope"}
        if name not in names:
            details["problem"] = "The export names it, but does not contain it. Export it again."
        for email, number, who in people or [("", "", "")]:
            identities = (("email", email), ("sis_id", number), ("id", number), ("name", who))
            called = email or number or who or name
            found.append(_found(folder / name, called, identities, **details))
    return found
