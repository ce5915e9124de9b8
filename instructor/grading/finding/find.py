"""Finding submissions in a folder: as Gradescope, Canvas and Moodle export them, cloned
repositories named assignment-id, or one zip or folder a person.

Nothing is unpacked or run here, and no link is followed. What cannot be graded is listed too, with
its problem, so that no submission disappears.
"""

import contextlib
import os
import re
from dataclasses import dataclass, replace
from datetime import datetime
from os.path import commonprefix
from pathlib import Path

from common.files import UserError
from jobs.deliverables import has_code

from .contents import ADVICE, is_folder, locate, visible
from .late import read_time
from .metadata import METADATA, read_metadata
from .names import clean
from .repository import git_folder

FLAGS = re.IGNORECASE | re.DOTALL
WRAPPER = re.compile(r"assignment_\d+_export|submissions|.+-submissions", FLAGS)
# of a download that its system has split; Google Drive adds a time
PART = re.compile(r"(submissions|.+-submissions|.+-\d{8}T\d{6}Z)(-\d+)+(\.zip)?", FLAGS)
GRADESCOPE = re.compile(r"submission_\d+")  # a submission's folder
DOWNLOADED = {  # names in other downloads, by their system
    "moodle": re.compile(
        r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(file|onlinetext)([_.](?P<file>.*))?", FLAGS
    ),
    "canvas, anonymous": re.compile(
        r"(?P<name>anon_[0-9a-z]+)(?P<late>_LATE)?_(?P<file_id>\d+)_(?P<file>.*)", FLAGS
    ),
    "canvas": re.compile(
        r"(?P<name>.+?)(?P<late>_LATE)?_(?P<id>\d+)_((?P<file_id>\d+)_(?P<file>.*)|"
        r"(text|link)\.html?)",
        FLAGS,
    ),
}
# what Canvas adds to the name of a resubmitted file
AGAIN = re.compile(r"-(\d+)(?=\.[^.]*\Z|\Z)")
# endings that are not part of a name
ENDING = re.compile(r"(\.tar)?\.(zip|rar|7z|tar|gz|tgz|bz2|xz|py|ipynb|pdf|docx?)\Z", re.IGNORECASE)
# may be the course's own files beside plain submissions
PAPERS = {".csv", ".htm", ".html", ".json", ".md", ".txt", ".xlsx", ".yaml", ".yml"}
EXPECTED = (
    "expected one zip or folder for each student, an unpacked download from Canvas or Moodle, an "
    "unpacked export from Gradescope, or a folder of cloned repositories, each called "
    "assignment-id"
)


@dataclass(frozen=True)
class Found:
    """A submission as found in the folder. All text is `clean`, but for `entry`.

    Attributes:
        source: the zip, or the folder that holds the student's files, as
            checks.support.staging.stage takes it.
        label: its path in the folder of submissions, for messages.
        person: whose it is, according to its name.
        identities: (kind, value) pairs, strongest first, to look up in a roster. A kind is a field
            of grades.Person, or "any" if any of them may have the value.
        submitted: when, in UTC; None if unknown. File times are those of the download, so they are
            not used.
        late: whether the export marks it as late; None if it does not say.
        problem: why it cannot be graded; "" if it can be.
        paper: whether it may be a file of the course (page, table, text) and not a submission,
            unless it has a student's name.
        repository: the clone that it is; then its commit is graded (commits.py), not its files.
        entry: the name of its file or folder in the download, exactly as it is there.
        system: whose download it is in: "canvas", "moodle" or "gradescope"; "" if of none.
    """

    source: Path
    label: str
    person: str
    identities: tuple[tuple[str, str], ...]
    submitted: datetime | None = None
    late: bool | None = None
    problem: str = ""
    paper: bool = False
    repository: Path | None = None
    entry: str = ""
    system: str = ""


def find_submissions(folder: Path) -> list[Found]:
    """Find every submission in a folder.

    Returns:
        The submissions in an order that depends on names alone. Of two by one person without a
        time, the later in the list is the newer.

    Raises:
        UserError: the folder does not exist, has no submission, or has the parts of a split
            download; the message says what was expected.
    """
    if not folder.is_dir():
        what = (
            "is a file: unpack it, and any other parts, into one folder, and give that"
            if folder.exists()
            else "does not exist"
        )
        raise UserError(f"{folder} {what}; {EXPECTED}.")
    try:
        root, names = _unwrap(folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}.") from None
    if _is_submission(root):
        raise UserError(f"{root} is a single submission. Give a folder of them: {EXPECTED}.")
    if METADATA in names or names and all(map(GRADESCOPE.fullmatch, names)):
        found = _of_gradescope(root, names)
    elif 2 * sum(bool(_download(name)[1]) for name in names) >= len(names) > 0:
        found = _of_canvas_or_moodle(root, names)
    else:
        prefix = _prefix(root, names)
        found = [_plain(root, name, prefix) for name in names]
    if all(one.paper for one in found):
        raise UserError(f"{folder} has no submissions: {EXPECTED}.")
    return (
        [replace(one, label=clean(f"{root.name}/{one.label}")) for one in found]
        if root != folder
        else found
    )


def _unwrap(folder):
    """The folder of the submissions, and its contents: `folder`, or the one in it that an export
    made.
    """
    names = visible(os.listdir(folder))
    others = [name for name in names if not _is_paper(folder / name)]
    parts = [PART.fullmatch(name) for name in others]
    if len(parts) > 1 and all(parts) and len({part[1] for part in parts}) == 1:
        raise UserError(
            f"{folder / clean(others[0])} is a part of a download. Unpack all parts into one "
            "folder, and give that. If it is one person's work, rename it."
        )
    if len(others) == 1 and WRAPPER.fullmatch(others[0]) and METADATA not in names:
        inner = folder / others[0]
        if is_folder(inner) and not _is_submission(inner):
            return inner, visible(os.listdir(inner))
    return folder, names


def _is_submission(folder):
    return has_code(folder) or has_code(folder / "src" / "submission")


def _is_paper(path):
    return path.suffix.lower() in PAPERS and not path.is_dir()


def _found(path, person, identities, **details):
    """The submission at a path in a download, with what is known of it."""
    source, problem = locate(path)
    identities = ((kind, clean(value)) for kind, value in identities)
    details = {"problem": problem} | details
    return Found(
        source,
        clean(path.name),
        clean(person) or "(no name)",
        tuple((kind, value) for kind, value in identities if value),
        entry=path.name,
        **details,
    )


# The layouts


def _plain(root, name, prefix=""):
    """A zip or folder called by anything that identifies a person; a folder's name may begin with
    `prefix`, or with the words of it up to any dash.
    """
    path = root / name
    paper = _is_paper(path)
    if path.is_dir():
        names = [name.removesuffix(".git")]
        if is_folder(path) and name.startswith(prefix):
            names += [names[0][dash.end() :] for dash in re.finditer("-", prefix)]
    else:
        names = [path.stem if paper else ENDING.sub("", name)]
    identities = [("any", part) for part in names]
    return _found(path, names[-1], identities, paper=paper, repository=_clone(path))


def _prefix(root, names):
    """What the names of most folders begin with if they are clones: "assignment-"; else ""."""
    folders = [name for name in names if is_folder(root / name)]
    clones = [name for name in folders if git_folder(root / name)]
    if len(clones) < 2 or 2 * len(clones) < len(folders):
        return ""
    return re.match(r"(.*-)?", commonprefix(clones), re.DOTALL)[0]


def _clone(path):
    """The clone at `path`, or the only one in this folder; None if there is none."""
    if not is_folder(path):
        return None
    if git_folder(path):
        return path
    with contextlib.suppress(OSError):  # `locate` says that it cannot be read
        inside = [path / name for name in visible(os.listdir(path))]
        if len(inside) == 1 and is_folder(inside[0]) and git_folder(inside[0]):
            return inside[0]
    return None


def _download(name):
    """The system whose downloads have such names, and the match; ("", None) if none has."""
    matches = ((system, pattern.fullmatch(name)) for system, pattern in DOWNLOADED.items())
    return next((found for found in matches if found[1]), ("", None))


def _of_canvas_or_moodle(root, names):
    """Canvas' or Moodle's download: a file for each that was handed in, or in Moodle a folder for
    each person. Loose files of one person are one submission, which cannot be graded.
    """
    people, found = {}, []
    for name in names:
        system, match = _download(name)
        if not match:
            found.append(_plain(root, name))
            continue
        parts = match.groupdict()
        again = AGAIN.search(parts["file"] or "")
        order = (int(parts.get("file_id") or 0), int(again[1]) if again else 0, name)
        late = bool(parts["late"]) if "late" in parts else None
        key = system.partition(",")[0], parts["name"], parts.get("id") or ""
        people.setdefault(key, []).append((order, root / name, late))
    for (system, who, number), files in people.items():
        # Moodle's number is not a student's: its grading worksheet has it as "Participant 4711"
        known = ("id", f"Participant {number}") if system == "moodle" else ("canvas_id", number)
        anonymous = not number or who.lower() == "student"
        identities = (known,) * bool(number) + (("name", who),) * (not anonymous)
        person = f"{who}_{number}" if number else who
        files.sort()
        whole = [file for file in files if file[1].suffix.lower() == ".zip" or file[1].is_dir()]
        for _, path, late in whole or files[-1:]:
            loose = not whole and len(files) > 1
            problem = (
                {"problem": f"It is {len(files)} loose files and no zip. {ADVICE}"} if loose else {}
            )
            found.append(_found(path, person, identities, late=late, system=system, **problem))
    return found


def _of_gradescope(root, names):
    """Gradescope's export: a folder for each submission, and a file with its submitters and its
    time.
    """
    metadata = {
        name: about if isinstance(about, dict) else {}
        for name, about in read_metadata(root / METADATA).items()
        if GRADESCOPE.fullmatch(name)
    }
    found = []
    for name in sorted({*metadata, *names}, key=lambda name: (len(name), name)):
        if name in names and _is_paper(root / name):
            continue
        about = metadata.get(name, {})
        created = about.get(":created_at")  # text, or Ruby's form of a time with a zone
        if isinstance(created, dict):
            created = created.get("utc") or created.get("time")
        details = {"submitted": read_time(created), "system": "gradescope"}
        if name not in names:
            details["problem"] = (
                "The export names this submission, but does not contain it. Export it again."
            )
        people = about.get(":submitters")
        people = (
            [one for one in people if isinstance(one, dict)] if isinstance(people, list) else []
        )
        for person in people or [{}]:
            email, number, who = (
                value if isinstance(value := person.get(key), str) else ""
                for key in (":email", ":sid", ":name")
            )
            identities = (("email", email), ("sis_id", number), ("id", number), ("name", who))
            called = email or number or who or name
            found.append(_found(root / name, called, identities, **details))
    return found
