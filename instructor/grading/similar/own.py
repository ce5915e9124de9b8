"""A person's own work: the text between the markers, and hashes of it and of the results."""

import functools
import hashlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from autograder.intake import Refused, take
from checks.support.staging import (
    END,
    GIVEN,
    START,
    NotTaken,
    code_limit,
    put_in_place,
    result_limit,
)
from common.files import why_not_utf8
from jobs.deliverables import FOLDERS, STUDENT_FILES

LONGEST = 60_000  # characters between markers; the reference has 8,500, and comparing takes time


@dataclass(frozen=True)
class Own:
    """The data of one person that is compared.

    Attributes:
        person: the id.
        text: the code between the markers, all files concatenated.
        digests: SHA-256 of the weights, the predictions and the code written in each file, by the
            file's name with a note such as its number of lines: few lines may be equal by chance.
        problem: why there is no text to compare; "" if there is.
    """

    person: str
    text: str = ""
    digests: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def read_own(person: str, source: Path) -> Own:
    """Read a submission, a zip or a folder. Any error becomes its problem."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        digests = {}
        try:
            take(source, Path(folder) / "results", result_limit)
            digests = dict(
                _result(path)
                for path in sorted((Path(folder) / "results").iterdir())
                if path.stat().st_size
            )
        except (Refused, OSError):
            pass  # none, or bad ones, which grading has reported
        try:
            take(source, Path(folder) / "taken", code_limit, folders=FOLDERS)
            code = Path(folder) / "code"
            put_in_place(Path(folder) / "taken", code)
            code = {
                name: (code / name).read_bytes()
                for name in STUDENT_FILES
                if (code / name).is_file()
            }
        except (Refused, NotTaken, OSError) as error:
            return Own(person, "", digests, str(error))
    for name, content in code.items():
        if written := _written(name, content.decode("utf-8", "surrogateescape")):
            counted = f"{len(written)} line{'s' * (len(written) > 1)}"
            digests[f"{name}, {counted}"] = hashlib.sha256(
                "\n".join(written).encode("utf-8", "surrogateescape")
            ).hexdigest()
    if why := next(filter(None, (why_not_utf8(*file) for file in code.items())), ""):
        return Own(person, "", digests, why)
    text = "".join(
        f"# {name}\n{regions(content.decode('utf-8'))}\n" for name, content in code.items()
    )
    if len(text) > LONGEST:
        return Own(
            person,
            "",
            digests,
            f"There are {len(text):,} characters between the markers, more than the {LONGEST:,} "
            "that are compared.",
        )
    return Own(person, text, digests)


def regions(text: str) -> str:
    """The lines between the markers of a file; all lines if there are no markers, so that removing
    them hides nothing.
    """
    lines, inside, found = [], False, False
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for line in text.split("\n"):
        if line.strip() == START:
            inside = found = True
        elif line.strip() == END:
            inside = False
        elif inside:
            lines.append(line)
    return "\n".join(lines) if found else text


def _result(path):
    """What a file of results is called, and its hash."""
    if path.suffix == ".predictions":  # text, whose line ends depend on the system
        lines = path.read_bytes().splitlines()
        same, digest = len(set(lines)) < 2, hashlib.sha256(b"\n".join(lines)).hexdigest()
    else:
        with open(path, "rb") as file:
            same, digest = False, hashlib.file_digest(file, "sha256").hexdigest()
    return path.name + ", always the same answer" * same, digest


def _written(name, text):
    """The lines between the markers that are nowhere in the starter's file, without trailing
    blanks.
    """
    return [line for line in map(str.rstrip, regions(text).split("\n")) if line not in _given(name)]


@functools.cache
def _given(name):
    lines = (GIVEN / name).read_text(encoding="utf-8").split("\n")
    return {"", *map(str.rstrip, lines)}
