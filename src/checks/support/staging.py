"""Prepares a submission for grading: the student's files, with our own copies of the given
files.
"""

import ast
import itertools
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
    STUDENT_FILES,
    has_code,
    lent,
    look_alike,
    names_in,
    original_name,
    place_of,
    supplied_to,
    why_unusable,
)
from jobs.targets import MADE_BY, PROBLEMS, chosen

SRC = Path(__file__).resolve().parents[2]
# in a release: a second copy of the starter, since students change theirs
UNSPOILED = SRC / "checks" / "given"
# The starter as handed out. In the repository, a test checks it against the generator's output.
GIVEN = UNSPOILED if (UNSPOILED / "__init__.py").is_file() else SRC / "submission"
# decoding as in ./run.sh, for the checks of results
DECODER = next(SRC.glob("jobs/problem*/answers.py"), None)
START, END = "### START_CODE_HERE ###", "### END_CODE_HERE ###"
OFFERED = "numpy, torch (but not in files for NumPy alone), tqdm and Python's standard library"
WRITTEN = (*STUDENT_FILES, *ANSWERS, *MADE_BY)  # what tells a submission from other folders
RESULTS = "results"  # the folder of weights and predictions, next to the package
# statements that change torch for all code that runs later
GLOBAL = re.compile(r"^\s*((?:torch\.)?set_(?:default_\w+|grad_enabled)\()")
SIZE_LIMIT = {".params": 256 << 20, ".predictions": 4 << 20}  # bytes

LAZY_INIT = '''"""Stands for __init__.py in grading: what is missing costs only what needs it."""

IMPORTS = {imports!r}


def __getattr__(name):
    if name not in IMPORTS:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    exec(IMPORTS[name], globals())
    return globals()[name]
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
    package, taken = into / "submission", into / "handed-in"
    notices = take_in(source, taken, code_limit if results else limit_of)
    if not has_code(taken):
        raise NotTaken(
            harmless(
                f"{source.name or source} has none of {', '.join(STUDENT_FILES)}: it is not a "
                f"submission{look_alike(taken, *STUDENT_FILES)}. Check --submission."
            )
        )
    if results:
        notices += take_in(results, into / RESULTS, result_limit)
    else:
        (into / RESULTS).mkdir()
        for path in list(taken.iterdir()):
            if result_limit(path.name):
                path.rename(into / RESULTS / path.name)
    put_in_place(taken, package)
    unusable, missing = {}, []
    for name in (
        name for problem in chosen(problems) for name in (*problem.code, *problem.answers)
    ):
        if why := why_unusable(package, name, source if source.is_dir() else None):
            unusable[name] = why
            (package / name).unlink(missing_ok=True)
            notices.append(f"{why} Checks that need it earn no points.")
        elif not (package / name).is_file():
            missing.append(name)
        elif name in STUDENT_FILES and (line := first_change_outside(package / name, name)):
            notices.append(
                f"{name} differs from the starter outside the markers, first in line {line}. It is "
                "graded as submitted; was that intended?"
            )
        if (package / name).is_file():
            notices += global_settings(package / name, name)
    if missing:
        verb, it = ("is", "it") if len(missing) == 1 else ("are", "them")
        notices.append(
            f"{', '.join(missing)} {verb} missing: checks that need {it} earn no points."
        )
    for name in supplied_to(PROBLEMS):
        path = package / name
        if path.is_file() and _text(path) != _text(GIVEN / name):
            notices.append(
                f"{name} was changed. It is a given file, so the original is used in grading."
            )
        path.parent.mkdir(exist_ok=True)
        shutil.copyfile(GIVEN / name, path)
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
    """Move the submitted files into a new package; those that were handed in without their
    problem's folder get there.

    Raises:
        NotTaken: there are two copies of a file.
    """
    taken.rename(package)
    for folder in FOLDERS:  # also without files, so that one that lacks is named with its folder
        (package / folder).mkdir(exist_ok=True)
    for path in sorted(path for path in package.iterdir() if path.is_file()):
        place = package / place_of(path.name)
        if place != path and place.is_file():
            place = place_of(path.name)
            raise NotTaken(
                harmless(
                    f"{path.name} also exists as {place}. Submit only one of them. Nothing was "
                    "graded."
                )
            )
        path.rename(place)


def code_limit(name: str) -> int | None:
    """Return the size limit in bytes of a code or answer file; None for other files."""
    if Path(name).name.startswith("."):  # of an editor, or of a Mac
        return None
    original = original_name(name)  # look-alikes are copied, to be named if a file is missing
    if name.endswith(".py") or original in STUDENT_FILES:
        return 1 << 20
    return 1 << 16 if original in ANSWERS else None


def result_limit(name: str) -> int | None:
    """Return the size limit in bytes of a result of ./run.sh; None for other files."""
    return SIZE_LIMIT[Path(name).suffix] if name in MADE_BY else None


def limit_of(name: str) -> int | None:
    """Return the size limit in bytes of any file of a submission; None for other files."""
    return code_limit(name) or result_limit(name)


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
        return take(source, into, limit_of, folders=FOLDERS, known=WRITTEN)
    except Refused as error:
        raise NotTaken(
            harmless(f"{error} Nothing of {source.name or source} was graded.")
        ) from None
    except OSError as error:
        raise UserError(
            f"There is no space for a copy of the submission in {into.parent}: {error.strerror}."
        ) from None


def _lazy_init():
    """An __init__.py with the exports of the given one, and its modules."""
    tree = ast.parse((GIVEN / "__init__.py").read_text(encoding="utf-8"))
    imports = {}
    for node in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
        imports[node.module] = f"import submission.{node.module} as {node.module}"
        for alias in node.names:
            imports[alias.name] = f"from .{node.module} import {alias.name}"
    return LAZY_INIT.format(imports=imports)


def first_change_outside(path: Path, name: str) -> int | None:
    """The first line of a student's file that differs from the starter's outside the markers."""
    mine, given = _outside(_text(path)), _outside(_text(GIVEN / name))
    end = (mine[-1][0] if mine else 1, "")
    for (number, line), (_, other) in itertools.zip_longest(mine, given, fillvalue=end):
        if line != other:
            return number
    return None


def global_settings(path: Path, name: str) -> list[str]:
    """Notices of the lines of a file that change torch's settings for all other code."""
    return [
        f"{name}, line {number}: {found[1]}...) changes torch for all code that runs later, so "
        "right answers may fail. Pass dtype= or device= where a tensor needs it, and write `with "
        "torch.no_grad():` around what needs no gradients."
        for number, line in enumerate(_text(path).split("\n"), 1)
        if (found := GLOBAL.match(line))
    ]


def _outside(text):
    """(number, line) of the lines outside the markers. Blank lines and trailing whitespace don't
    count.
    """
    found, inside = [], False
    for number, line in enumerate(text.split("\n"), start=1):
        inside = inside and line.strip() != END
        if not inside and line.strip():
            found.append((number, line.rstrip()))
        inside = inside or line.strip() == START
    return found


def _text(path):
    return path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
