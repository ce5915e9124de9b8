"""Prepares a submission for grading: the student's files, with our own copies of the given
files.
"""

import ast
import difflib
import re
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from autograder import Submission
from autograder.intake import Refused, take
from autograder.report import harmless
from common.files import UserError
from jobs.deliverables import (
    ANSWERS,
    FOLDERS,
    MADE_BY,
    STUDENT_FILES,
    SUPPLIED,
    files_of,
    has_code,
    lent,
    look_alike,
    names_in,
    original_name,
    place_of,
    why_unusable,
)
from jobs.problems import PROBLEMS

SRC = Path(__file__).resolve().parents[2]
# in a release: a second copy of the starter, since students change theirs
UNSPOILED = SRC / "checks" / "given"
# The starter as handed out. In the repository, a test checks it against the generator's output.
GIVEN = UNSPOILED if (UNSPOILED / "__init__.py").is_file() else SRC / "submission"
# decoding as in ./run.sh, for the checks of results
DECODER = next(SRC.glob("jobs/problem*/answers.py"), None)
START, END = "### START_CODE_HERE ###", "### END_CODE_HERE ###"
OFFERED = "numpy, torch (but not in files for NumPy alone), tqdm and Python's standard library"
RESULTS, HANDED_IN = "results", "handed-in"  # folders next to the package
SIZE_LIMIT = {".params": 256 << 20, ".predictions": 4 << 20}  # bytes

LAZY_INIT = '''"""Stands for __init__.py in grading: what is missing costs only what needs it."""
import importlib

_FILES = {files!r}
_DEFINED_IN = {defined_in!r}


def __getattr__(name):
    if name in _FILES:
        return importlib.import_module(_FILES[name], __name__)
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    module = importlib.import_module("." + _DEFINED_IN[name], __name__)
    if not hasattr(module, name):
        where = module.__name__
        raise ImportError(f"cannot import name {{name!r}} from {{where!r}}", name=where)
    return getattr(module, name)
'''


class NotTaken(UserError):
    """The submission cannot be graded; the message tells the student why."""


def stage(
    source: Path,
    into: Path,
    results: Path | None = None,
    problems: Collection[str] = tuple(PROBLEMS),
    reference: Path | None = None,
) -> tuple[Submission, list[str]]:
    """Read a submission and prepare it for grading: the code as the package `submission` in the
    folder `into`, weights and predictions in its folder RESULTS.

    Args:
        source: a folder or a zip file.
        into: an empty folder. Everything in it may be shown to the submission.
        results: where weights and predictions are, if not in `source`.
        problems: those that are graded.
        reference: the folder of the solution: files of other problems that the code of these
            imports are taken from there.

    Returns:
        The Submission, and notices of what is missing, left out, or changed outside the student's
        places.

    Raises:
        NotTaken: there is no submission, or it is invalid; nothing was graded.
    """
    taken = into / HANDED_IN
    notices = take_in(
        source,
        taken,
        code_limit if results else lambda name: code_limit(name) or result_limit(name),
    )
    if not has_code(taken):
        raise NotTaken(
            harmless(
                f"{source.name or source} has none of {', '.join(STUDENT_FILES)}: it is not a "
                f"submission{look_alike(taken, *STUDENT_FILES)}. Check --submission."
            )
        )
    if results is None:
        (into / RESULTS).mkdir()
        for path in list(taken.iterdir()):
            if result_limit(path.name):
                path.rename(into / RESULTS / path.name)
    else:
        notices += take_in(results, into / RESULTS, result_limit)
    package = into / "submission"
    put_in_place(taken, package)
    whole = source if source.is_dir() else None
    unusable = {
        name: why for name in files_of(problems) if (why := why_unusable(package, name, whole))
    }
    for name in unusable:
        (package / name).unlink(missing_ok=True)
    notices += [
        notice
        for name in files_of(problems)
        if name in STUDENT_FILES and (package / name).is_file()
        for notice in changes_outside(package / name, name)
    ]
    notices += [
        f"{unusable[name]} Checks that need it earn no points."
        if name in unusable
        else f"{name} is missing: checks that need it earn no points."
        for name in files_of(problems)
        if not (package / name).is_file()
    ]
    for name in (*SUPPLIED, "__init__.py"):
        if (package / name).is_file() and _text(package / name) != _text(GIVEN / name):
            notices.append(
                f"{name} was changed. It is a given file, so the original is used in grading."
            )
    for name in SUPPLIED:
        (package / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(GIVEN / name, package / name)
    for name in lent(problems) if reference else ():
        shutil.copyfile(reference / name, package / name)
    (package / "__init__.py").write_text(_lazy_init(), encoding="utf-8")
    if DECODER:  # with the problem that it belongs to
        shutil.copyfile(DECODER, into / DECODER.name)
    for path in (into, *into.rglob("*")):
        # regardless of the umask: the submission may run as another user
        path.chmod(0o755 if path.is_dir() else 0o644)
    return Submission((into,), package, "submission", OFFERED, unusable), notices


def put_in_place(taken: Path, package: Path) -> None:
    """Copy the submitted files to their places in a new package: those of a submission without
    folders to their problems' folders, with their imports from the package adjusted.

    Raises:
        NotTaken: there are two copies of a file.
    """
    package.mkdir()
    for path in sorted(taken.rglob("*")):
        name = path.relative_to(taken).as_posix()
        target = package / (place := place_of(name))
        if path.is_dir():
            continue
        if place != name and (taken / place).is_file():
            raise NotTaken(
                harmless(
                    f"{name} also exists as {place}. Submit only one of them. Nothing was graded."
                )
            )
        target.parent.mkdir(exist_ok=True)
        if place == name or path.suffix != ".py":
            shutil.copyfile(path, target)
        else:
            target.write_bytes(_relocated(path.read_bytes(), place))


def _relocated(code, place):
    """Adjust `from .x import` in the code of a submission without folders to the file's place."""
    folder = place.rpartition("/")[0]

    def anew(found):
        there, _, file = place_of(found[2].decode() + ".py").rpartition("/")
        if found[2] and there == folder:
            return found[0]
        module = ".".join(filter(None, (there, file.removesuffix(".py") if found[2] else "")))
        return found[1] + b".." + module.encode() + found[3]

    return re.sub(rb"(?m)^([ \t]*from )\.(\w*)([ \t]+import\b)", anew, code) if folder else code


def code_limit(name: str) -> int | None:
    """Return the size limit in bytes of a code or answer file; None for other files."""
    original = original_name(name)  # look-alikes are copied, to be named if a file is missing
    if name.endswith(".py") or original in STUDENT_FILES:
        return 1 << 20
    return 1 << 16 if original in ANSWERS else None


def result_limit(name: str) -> int | None:
    """Return the size limit in bytes of a result of ./run.sh; None for other files."""
    return SIZE_LIMIT[Path(name).suffix] if name in MADE_BY else None


def take_in(source: Path, into: Path, limit_of: Callable[[str], int | None]) -> list[str]:
    """Copy a submission's files into a new folder: those at its top and in the problems' folders.

    Args:
        limit_of: the size limit of a file in bytes; None to leave it out. See `code_limit` and
            `result_limit`.

    Returns:
        Notices of what was left out.

    Raises:
        NotTaken: the submission is invalid.
        UserError: there is no space for the copy.
    """
    try:
        if source.is_dir() and not any(map(limit_of, names_in(source))):
            into.mkdir()  # the checks report missing files
            return []
        return take(source, into, limit_of, folders=FOLDERS)
    except Refused as error:
        raise NotTaken(
            harmless(f"{error} Nothing of {source.name or source} was graded.")
        ) from None
    except OSError as error:
        raise UserError(
            f"There is no space for a copy of the submission in {into.parent}: {error.strerror}."
        ) from None


def _lazy_init():
    """Return an __init__.py with the exports of the given one."""
    tree = ast.parse((GIVEN / "__init__.py").read_text(encoding="utf-8"))
    files = {
        Path(name).stem: "." + name.removesuffix(".py").replace("/", ".")
        for name in (*STUDENT_FILES, *SUPPLIED)
    }
    return LAZY_INIT.format(
        files=files,
        defined_in={
            alias.name: node.module
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        },
    )


def changes_outside(path: Path, name: str) -> list[str]:
    """Return a notice of the lines outside the markers in which a student's file differs from the
    starter's; none if there are none.
    """
    numbers, mine = _outside(_text(path))
    _, given = _outside(_text(GIVEN / name))
    changed = [
        numbers[min(first, len(numbers) - 1)]
        for tag, _, _, first, _ in difflib.SequenceMatcher(
            None, given, mine, autojunk=False
        ).get_opcodes()
        if tag != "equal"
    ]
    if not changed:
        return []
    where = "in line " if len(changed) == 1 else "at lines "
    more = f" and {len(changed) - 5} more places" if len(changed) > 5 else ""
    return [
        f"{name} differs from the starter outside the markers, "
        f"{where}{', '.join(map(str, changed[:5]))}{more}. It is graded as submitted; was that "
        "intended?"
    ]


def _outside(text):
    """Return the lines outside the markers, with their numbers. Blank lines and trailing whitespace
    don't count.
    """
    numbers, lines, inside = [], [], False
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() == END:
            inside = False
        if not inside and line.strip():
            numbers.append(number)
            lines.append(line.rstrip())
        if line.strip() == START:
            inside = True
    return numbers or [1], lines


def _text(path):
    return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
