"""Finding submissions in a folder: as Gradescope and Canvas export them, repositories as
Classroom 50 and GitHub Classroom name them, or one zip or folder a person.

Nothing is unpacked or run here, and no link is followed. What cannot be graded is listed too, with
its problem, so that no submission disappears.
"""

import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from os.path import commonprefix
from pathlib import Path

from autograder.report import harmless
from common.files import UserError
from jobs.deliverables import FOLDERS, STUDENT_FILES, has_code

from .late import read_time

METADATA = "submission_metadata.yml"  # Gradescope's
LARGEST_METADATA = 64 << 20  # bytes; larger ones are not read
DEEPEST = 50  # nested lists in it
WRAPPER = re.compile(r"assignment_\d+_export|submissions|.+-submissions", re.IGNORECASE | re.DOTALL)
GRADESCOPE = re.compile(r"submission_\d+")
CANVAS = re.compile(
    r"(?P<name>.+?)(?P<late>_LATE)?_(?P<id>\d+)_(?:(?P<file_id>\d+)_(?P<file>.*)|(?:text|link)\.html?)",
    re.IGNORECASE | re.DOTALL,
)
CANVAS_ANONYMOUS = re.compile(
    r"(?P<name>anon_[0-9a-z]+)(?P<late>_LATE)?_(?P<file_id>\d+)_(?P<file>.*)",
    re.IGNORECASE | re.DOTALL,
)
# what Canvas adds to the name of a resubmitted file
AGAIN = re.compile(r"-(\d+)(?=\.[^.]*\Z|\Z)")
# endings that are not part of a name
ENDING = re.compile(r"(\.tar)?\.(zip|rar|7z|tar|gz|tgz|bz2|xz|py|ipynb|pdf|docx?)\Z", re.IGNORECASE)
PASSED_OVER = {"__macosx", "thumbs.db", "desktop.ini", "__pycache__"}
# may be the course's own files beside plain submissions
PAPERS = {".csv", ".htm", ".html", ".json", ".md", ".txt", ".xlsx", ".yaml", ".yml"}
DEPTH, MOST_FOLDERS = 4, 200  # how far a submission's folder is searched for the student's files
ASK = "Ask for a zip of the files that the handout lists."
EXPECTED = (
    "expected one zip or folder for each student, an unpacked download from Canvas, an unpacked "
    "export from Gradescope, or a folder of cloned repositories, each called assignment-username"
)


@dataclass(frozen=True)
class Found:
    """A submission as found in the folder.

    Attributes:
        source: the zip, or the folder that holds the student's files, as
            checks.support.staging.stage takes it.
        label: its path in the folder of submissions, for messages. It may contain anything.
        person: whose it is, according to its name.
        identities: (kind, value) pairs, strongest first, to look up in a roster. A kind is a field
            of grades.Person, or "any" if any of them may have the value.
        submitted: when, in UTC; None if unknown. File times are those of the download, so they are
            not used.
        late: whether the export marks it as late; None if it does not say.
        problem: why it cannot be graded; "" if it can be.
        paper: whether it may be a file of the course (page, table, text) and not a submission,
            unless it has a student's name.
    """

    source: Path
    label: str
    person: str
    identities: tuple[tuple[str, str], ...]
    submitted: datetime | None = None
    late: bool | None = None
    problem: str = ""
    paper: bool = False


def find_submissions(folder: Path) -> list[Found]:
    """Find every submission in a folder.

    Returns:
        The submissions in an order that depends on names alone. Of two by one person without a
        time, the later in the list is the newer.

    Raises:
        UserError: the folder does not exist or has no submission; the message says what was
            expected.
    """
    if not folder.is_dir():
        what = "is a file: unpack it, and give the folder" if folder.exists() else "does not exist"
        raise UserError(harmless(f"{folder} {what}; {EXPECTED}."))
    try:
        root, names = _unwrap(folder)
    except OSError as error:
        raise UserError(harmless(f"{folder} cannot be read: {error.strerror}.")) from None
    if has_code(root):
        raise UserError(
            harmless(f"{root} is a single submission. Give a folder of them: {EXPECTED}.")
        )
    prefix = _repositories(root, names)
    if METADATA in names or names and all(GRADESCOPE.fullmatch(name) for name in names):
        found = _gradescope(root, names)
    elif prefix:
        found = [_repository(root, name, prefix) for name in names if _is_folder(root / name)]
    elif 2 * sum(bool(_canvas_name(name)) for name in names) >= len(names) > 0:
        found = _canvas(root, names)
    else:
        found = [_plain(root, name) for name in names]
    if all(one.paper for one in found):
        raise UserError(harmless(f"{folder} has no submissions: {EXPECTED}."))
    shift = "" if root == folder else f"{root.name}/"
    return [
        Found(
            one.source,
            shift + one.label,
            *_clean(one),
            one.submitted,
            one.late,
            one.problem,
            one.paper,
        )
        for one in found
    ]


def _unwrap(folder):
    """The folder of the submissions, and its contents: `folder`, or the one in it that an export
    made.
    """
    names = _names(folder)
    others = [name for name in names if not _is_paper(folder / name)]
    inner = (
        folder / others[0]
        if len(others) == 1 and WRAPPER.fullmatch(others[0]) and METADATA not in names
        else None
    )
    if inner and _is_folder(inner) and not any(map(has_code, (inner, inner / "src/submission"))):
        return inner, _names(inner)
    return folder, names


def _names(folder):
    """The names in a folder, without files that systems and tools add."""
    return sorted(
        name
        for name in os.listdir(folder)
        if not name.startswith(".") and name.lower() not in PASSED_OVER
    )


def _is_folder(path):
    return path.is_dir() and not path.is_symlink()


def _is_paper(path):
    return path.suffix.lower() in PAPERS and not path.is_dir()


def _clean(found):
    """person and identities as valid text, with accents composed in the same way on all systems."""

    def clean(text):
        return " ".join(
            unicodedata.normalize("NFC", text.encode("utf-8", "backslashreplace").decode()).split()
        )

    identities = tuple((kind, clean(value)) for kind, value in found.identities)
    return clean(found.person) or "(no name)", tuple(
        (kind, value) for kind, value in identities if value
    )


# The files of a submission


def _locate(path):
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
        return path, f"It is not a zip, but {path.suffix or 'a file'} alone. {ASK}"
    except OSError as error:
        return path, f"It cannot be read: {error.strerror}."


def _inside(top):
    """Like _locate, for a folder: itself, the folder inside it with the code, or the only zip."""
    homes, zips, level, seen, deeper = [], [], [top], 0, False
    for depth in range(DEPTH + 1):
        below = []
        for folder in level:
            names = _names(folder)
            if home := has_code(folder):
                homes.append(folder)
            zips += [
                folder / name
                for name in names
                if name.lower().endswith(".zip") and stat.S_ISREG(os.lstat(folder / name).st_mode)
            ]
            below += [
                folder / name
                for name in names
                if _is_folder(folder / name) and not (home and name in FOLDERS)
            ]
        seen += len(below)
        level, deeper = below, bool(below) and (depth == DEPTH or seen > MOST_FOLDERS)
        if deeper:
            break
    if homes:  # the same rule as for a zip
        around = [
            home for home in homes if all(home == other or home in other.parents for other in homes)
        ]
        called = [home for home in homes if home.name == "submission"]
        if around or len(called) == 1:
            return (around or called)[0], ""
        one, other = (home.relative_to(top).as_posix() for home in homes[:2])
        return (
            top,
            f"It has code in several folders, {one} and {other}. Ask for a zip of the right files "
            "alone.",
        )
    if len(zips) == 1:
        return zips[0], ""
    if len(zips) > 1:
        return top, f"It has {len(zips)} zip files. Keep the right one of them."
    if deeper:
        return (
            top,
            f"It has many folders, and none of {', '.join(STUDENT_FILES)} near the top. {ASK}",
        )
    return top, f"It has none of {', '.join(STUDENT_FILES)}. {ASK}"


# The layouts


def _plain(root, name):
    source, problem = _locate(root / name)
    paper = _is_paper(root / name)
    person = name if (root / name).is_dir() else Path(name).stem if paper else ENDING.sub("", name)
    return Found(source, name, person, (("any", person),), problem=problem, paper=paper)


def _repositories(root, names):
    """The common prefix of cloned repositories, "assignment-"; "" if these are not repositories."""
    folders = [name for name in names if _is_folder(root / name)]
    prefix = root.name.removesuffix("submissions")
    if (
        len(prefix) > 1
        and prefix != root.name
        and folders
        and all(name.startswith(prefix) for name in folders)
    ):
        return prefix
    repositories = [name for name in folders if os.path.lexists(root / name / ".git")]
    if len(repositories) > 1 and len(repositories) == len(folders):
        return re.match(r"(.*-)?", commonprefix(repositories), re.DOTALL)[0]
    return ""


def _repository(root, name, prefix):
    """A clone. Its push time is not read: that needs git, and a repository can make git run
    programs.
    """
    login = name[len(prefix) :] or name
    source, problem = _locate(root / name)
    return Found(source, name, login, (("github", login), ("any", login)), problem=problem)


def _canvas_name(name):
    return CANVAS_ANONYMOUS.fullmatch(name) or CANVAS.fullmatch(name)


def _canvas(root, names):
    """Canvas' download: a file for each that was handed in. Loose files of one person are one
    submission, which cannot be graded.
    """
    people, found = {}, []
    for name in names:
        match = _canvas_name(name)
        if not match:
            found.append(_plain(root, name))
            continue
        parts = match.groupdict()
        again = AGAIN.search(parts["file"] or "")
        order = (int(parts["file_id"] or 0), int(again[1]) if again else 0, name)
        people.setdefault((parts["name"], parts.get("id") or ""), []).append(
            (order, name, bool(parts["late"]))
        )
    for (who, number), files in people.items():
        anonymous = not number or who.lower() == "student"
        identities = [("canvas_id", number)] * bool(number) + [("name", who)] * (not anonymous)
        person = f"{who}_{number}" if number else who
        files.sort()
        zips = [
            file for file in files if file[1].lower().endswith(".zip") or (root / file[1]).is_dir()
        ]
        for _, name, late in zips:
            source, problem = _locate(root / name)
            found.append(Found(source, name, person, tuple(identities), None, late, problem))
        if not zips:
            _, name, late = files[-1]
            problem = (
                _locate(root / name)[1]
                if len(files) == 1
                else f"It is {len(files)} loose files and no zip. {ASK}"
            )
            found.append(Found(root / name, name, person, tuple(identities), None, late, problem))
    return found


def _gradescope(root, names):
    """Gradescope's export: a folder for each submission, and a file with its submitters and its
    time.
    """
    metadata = _read_metadata(root / METADATA)
    found = []
    for name in sorted({*metadata, *names}, key=lambda name: (len(name), name)):
        if name not in names:
            source, problem = (
                root / name,
                "The export names this submission, but does not contain it. Export it again.",
            )
        elif _is_paper(root / name):
            continue
        else:
            source, problem = _locate(root / name)
        about = metadata.get(name, {})
        created = about.get(":created_at")  # text, or Ruby's form of a time with a zone
        submitted = read_time(
            (created.get("utc") or created.get("time")) if isinstance(created, dict) else created
        )
        people = about.get(":submitters")
        people = (
            [one for one in people if isinstance(one, dict)] if isinstance(people, list) else []
        )
        for one in people or [{}]:
            email, number, who = (
                value if isinstance(value := one.get(key), str) else ""
                for key in (":email", ":sid", ":name")
            )
            identities = (("email", email), ("sis_id", number), ("id", number), ("name", who))
            found.append(
                Found(
                    source,
                    name,
                    email or number or who or name,
                    identities,
                    submitted,
                    None,
                    problem,
                )
            )
    return found


def _read_metadata(path):
    """Gradescope's metadata of each submission, {folder: plain data}; what cannot be read is left
    out.

    Only YAML events are read, down to the depth that is needed: no tag makes an object, and no
    alias is expanded.
    """
    import yaml

    result = {}
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_METADATA:
            return result
        with open(path, "rb") as file:
            events = yaml.parse(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            next(event for event in events if isinstance(event, yaml.MappingStartEvent))
            while isinstance(key := next(events), yaml.ScalarEvent):
                value = _plain_data(next(events), events, 3)
                if isinstance(value, dict):
                    result[key.value] = value
    except (OSError, ValueError, StopIteration, yaml.YAMLError):
        pass  # the folders are still found, and staff sees that their names identify nobody
    return {key: value for key, value in result.items() if GRADESCOPE.fullmatch(key)}


def _plain_data(event, events, depth):
    """The dict, list or string that an event begins; None for what is deeper than `depth`, and for
    aliases.
    """
    import yaml

    if isinstance(event, yaml.ScalarEvent):
        return None if not event.style and event.value in ("", "~", "null") else event.value
    if not isinstance(event, yaml.CollectionStartEvent):
        return None
    if not depth:
        level = 1
        while level:
            event = next(events)
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if level > DEEPEST:
                raise ValueError  # no export is this deep, and parsing it is slow
        return None
    values = []
    is_list = isinstance(event, yaml.SequenceStartEvent)
    while not isinstance(event := next(events), yaml.CollectionEndEvent):
        values.append(_plain_data(event, events, depth - 1))
    return (
        values
        if is_list
        else {key: value for key, value in zip(values[::2], values[1::2]) if isinstance(key, str)}
    )
