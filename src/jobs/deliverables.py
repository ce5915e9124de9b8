"""The files to hand in, by their paths in src/submission."""

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from common.files import why_not_utf8
from jobs.targets import MADE_BY, PROBLEMS, chosen


def lent(problems: Iterable[str]) -> list[str]:
    """The files of other problems that the code of these imports."""
    own = {name for problem in chosen(problems) for name in problem.code}
    return [name for problem in chosen(problems) for name in problem.needed if name not in own]


def supplied_to(problems: Iterable[str]) -> list[str]:
    """The files that students of these problems are given."""
    supplied = (name for problem in chosen(problems) for name in problem.supplied)
    return ["__init__.py", *dict.fromkeys(supplied), *lent(problems)]


# The files that students write code in.
STUDENT_FILES = tuple(name for problem in PROBLEMS.values() for name in problem.code)
# Those for numbers and choices, with their questions.
ANSWERS = {name: id for problem in PROBLEMS.values() for name, id in problem.answers.items()}
# Given files. Grading uses our own copies of these. A file that students write in another
# assignment is given in this one.
GIVEN = tuple(supplied_to(PROBLEMS))
CODE = (*GIVEN, *STUDENT_FILES)
DELIVERABLES = (*CODE, *ANSWERS, *MADE_BY)
FOLDERS = tuple(sorted({name.rpartition("/")[0] for name in DELIVERABLES} - {""}))
_PLACES = {PurePosixPath(name).name: name for name in DELIVERABLES}

# what browsers and systems add to the name of a copy, before its ending
_COPY = re.compile(r"( ?\(\d+\)|[ -]\d+|( -)? copy)(?=\.|$)")
# what says that a part is not written: in code; in JSON and in TOML
STUB = re.compile(r'(?m)^\s*raise NotImplementedError\("(\w+): (\S+)[^"]*"\)')
_BLANK = re.compile(r'(?m)^[^#\n]*?(?:\bnull\b|= "")')


def place_of(name: str) -> str:
    """The path of a file in src/submission, with its problem's folder; other names stay as they
    are.
    """
    return _PLACES.get(name, name)


def names_in(folder: Path) -> list[str]:
    """The names of everything at a submission's top and in the problems' folders."""
    return [
        path.relative_to(folder).as_posix()
        for place in (folder, *(folder / name for name in FOLDERS))
        if place.is_dir()
        for path in place.iterdir()
    ]


def look_alike(folder: Path, *missing: str) -> str:
    """Words on the file that may be one of the missing ones under another name, or on the folder
    that may have it, such as "; there is 'name (1).py': rename it"; "" if there is none.
    """
    places = {*missing, *(name.rpartition("/")[0] for name in missing)} - {""}
    found = [
        name
        for name in sorted(names_in(folder))
        if (original := original_name(name)) in places and original != name
    ]
    return f"; there is {found[0]!r}: rename it" if found else ""


def original_name(name: str) -> str:
    """A file's name before a browser, an editor or a system changed it, as to "Name (1).py" or
    "name.py.txt"; with its problem's folder.
    """
    return place_of(_COPY.sub("", name.casefold()).removesuffix(".txt"))


def why_unusable(folder: Path, name: str, source: Path | None = None) -> str:
    """Why a student's file cannot be used although its work is there, in sentences that say what to
    do: it has another name or encoding, or its folder has another name. "" otherwise.

    Args:
        source: the folder that `folder` has the known files of.
    """
    if not (folder / name).is_file():
        alike = look_alike(folder, name) or (source and look_alike(source, name))
        return f"{name} is missing{alike}." if alike else ""
    content = (folder / name).read_bytes()
    # a JSON parser reads UTF-16, too, and Python the encoding that a comment declares
    if name.endswith(".json") or re.match(rb"(.*\n)?.*coding[:=](?!\s*utf-?8)", content):
        return ""
    return why_not_utf8(name, content)


def unwritten(name: str, content: bytes) -> list[tuple[int, str, str]]:
    """The stubs in a file of code, or the first blank in an answer file: of each its line, its
    question, and what it is.
    """
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    if name in ANSWERS:
        parts = [(match, ANSWERS[name], "your answers") for match in _BLANK.finditer(text)][:1]
    else:
        parts = [(match, match[1], match[2]) for match in STUB.finditer(text)]
    return [(1 + text.count("\n", 0, match.end()), *part) for match, *part in parts]


def has_code(folder: Path) -> bool:
    """Whether a folder has any file that students write, in its place or at the top."""
    return any(
        os.path.lexists(folder / place)
        for name in STUDENT_FILES
        for place in (name, PurePosixPath(name).name)
    )
