"""What somebody wrote themselves: the text between the markers of their files; and hashes of what they trained."""
import hashlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from autograder.intake import Refused, take
from checks.support.staging import END, START, code_limit, result_limit
from deliverables import WRITTEN

LONGEST = 60_000        # characters between markers; the reference has 8,500, and comparing takes time


@dataclass(frozen=True)
class Own:
    """What is compared of one person.

    Attributes:
        person: the id.
        text: what stands between the markers, all files one after the other.
        results: SHA-256 of the weights and predictions, by file name; not of predictions that are one answer again and again.
        problem: why there is no text to compare; "" if there is.
    """
    person: str
    text: str = ""
    results: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def read_own(person: str, source: Path) -> Own:
    """Read a submission, a zip or a folder. Whatever is wrong with it becomes its problem."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        results = {}
        try:
            take(source, Path(folder) / "results", result_limit)
            results = {path.name: digest for path in sorted((Path(folder) / "results").iterdir()) if (digest := _digest(path))}
        except (Refused, OSError):
            pass        # none, or bad ones, which grading has told about
        try:
            take(source, Path(folder) / "code", code_limit)
            files = [Path(folder) / "code" / name for name in WRITTEN]
            text = "".join(f"# {path.name}\n{regions(path.read_bytes().decode('utf-8'))}\n" for path in files if path.is_file())
        except UnicodeDecodeError:
            return Own(person, "", results, "The code is not UTF-8.")
        except (Refused, OSError) as error:
            return Own(person, "", results, str(error))
    if len(text) > LONGEST:
        return Own(person, "", results, f"There are {len(text):,} characters between the markers, more than the {LONGEST:,} that are "
                                        "compared.")
    return Own(person, text, results)


def regions(text: str) -> str:
    """The lines between the markers of a file. One without markers counts as a whole: taking them away is no way out."""
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


def _digest(path):
    """The hash of a file of results; "" for predictions that are all alike."""
    if path.suffix == ".predictions" and len(set(path.read_bytes().split())) < 2:
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
