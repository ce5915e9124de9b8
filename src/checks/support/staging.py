"""Getting a submission ready to be graded: the student's files, with our own in place of those that
were given.
"""

import ast
import difflib
import re
import shutil
from pathlib import Path

from autograder import Submission
from autograder.intake import Refused, take
from autograder.report import harmless
from common.files import UserError
from jobs.deliverables import ANSWERS, FOLDERS, MADE_BY, STUDENT_FILES, SUPPLIED, has_code, place_of

SRC = Path(__file__).resolve().parents[2]
# in a release: the starter once more, since students change theirs
UNSPOILED = SRC / "checks" / "given"
# The starter as it was handed out. In the repository it is what the generator makes, which a test
# holds it to.
GIVEN = UNSPOILED if (UNSPOILED / "__init__.py").is_file() else SRC / "submission"
# decoding as ./run.sh does it, for the checks of results
DECODER = SRC / "jobs" / "problem1" / "answers.py"
START, END = "### START_CODE_HERE ###", "### END_CODE_HERE ###"
STUB = re.compile(r'(?m)^\s*raise NotImplementedError\("(\w+): (\S+)[^"]*"\)')
OFFERED = "numpy, torch (but not in numpy_attention.py), tqdm and Python's standard library"
RESULTS, HANDED_IN = "results", "handed-in"  # folders beside the package
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
    """What was handed in cannot be graded; the message says why, for whoever handed it in."""


def stage(source: Path, into: Path, results: Path | None = None) -> tuple[Submission, list[str]]:
    """Take in what was handed in, and make it ready to be graded: the code as the package
    `submission` in the folder `into`, weights and predictions in its folder RESULTS.

    Args:
        source: a folder or a zip file.
        into: an empty folder. Everything in it may be shown to the submission.
        results: where weights and predictions are, if not in `source`.

    Returns:
        The Submission, and notices: what is missing or was left out, and what was changed outside
        the student's places.

    Raises:
        NotTaken: there is no submission, or something in it is bad; nothing was graded then.
    """
    taken = into / HANDED_IN
    notices = _take(
        source,
        taken,
        code_limit if results else lambda name: code_limit(name) or result_limit(name),
    )
    if not has_code(taken):
        raise NotTaken(
            harmless(
                f"{source.name or source} has none of {', '.join(STUDENT_FILES)}: it is no "
                "submission. Check --submission."
            )
        )
    if results is None:
        (into / RESULTS).mkdir()
        for path in list(taken.iterdir()):
            if result_limit(path.name):
                path.rename(into / RESULTS / path.name)
    else:
        notices += _take(results, into / RESULTS, result_limit)
    package = into / "submission"
    put_in_place(taken, package)
    notices += [
        notice
        for name in STUDENT_FILES
        if (package / name).is_file()
        for notice in changes_outside(package / name, name)
    ]
    notices += [
        f"{name} is missing: what needs it cannot be graded."
        for name in (*STUDENT_FILES, *ANSWERS)
        if not (package / name).is_file()
    ]
    for name in (*SUPPLIED, "__init__.py"):
        if (package / name).is_file() and _text(package / name) != _text(GIVEN / name):
            notices.append(
                f"{name} was changed. It is a given file, and graded as it was handed out."
            )
    for name in SUPPLIED:
        (package / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(GIVEN / name, package / name)
    (package / "__init__.py").write_text(_lazy_init(), encoding="utf-8")
    shutil.copyfile(DECODER, into / DECODER.name)
    for path in (into, *into.rglob("*")):
        # whatever the umask: the submission may run as another user
        path.chmod(0o755 if path.is_dir() else 0o644)
    return Submission((into,), package, "submission", OFFERED), notices


def put_in_place(taken: Path, package: Path) -> None:
    """Copy what was taken in to its place in a new package: `encoder.py`, from a submission without
    folders, to `problem5/encoder.py`, where its imports from the package are made to fit.

    Raises:
        NotTaken: a file is there twice.
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
                    f"{name} is there twice, as {place}, too. Hand in one of them. Nothing was "
                    "graded."
                )
            )
        target.parent.mkdir(exist_ok=True)
        if place == name or path.suffix != ".py":
            shutil.copyfile(path, target)
        else:
            target.write_bytes(_relocated(path.read_bytes(), place))


def _relocated(code, place):
    """Code of a submission without folders, with `from .x import` as it has to be said from its
    place.
    """
    folder = place.rpartition("/")[0]

    def anew(found):
        there, _, file = place_of(found[2].decode() + ".py").rpartition("/")
        if found[2] and there == folder:
            return found[0]
        module = ".".join(filter(None, (there, file.removesuffix(".py") if found[2] else "")))
        return found[1] + b".." + module.encode() + found[3]

    return re.sub(rb"(?m)^([ \t]*from )\.(\w*)([ \t]+import\b)", anew, code) if folder else code


def unwritten(package: Path, questions: list[str]) -> list[str]:
    """A notice of the places that are still stubs, for these questions; none if all is written."""
    stubs = [
        (question, f"{function} ({name})")
        for name in STUDENT_FILES
        if (package / name).is_file()
        for question, function in STUB.findall(_text(package / name))
    ]
    places = {question: [place for of, place in stubs if of == question] for question in questions}
    places = {question: found for question, found in places.items() if found}
    if not places:
        return []
    if sum(map(len, places.values())) > 12:
        places = {
            question: [f"{len(found)} place{'s' * (len(found) > 1)}"]
            for question, found in places.items()
        }
    text = "; ".join(f"{question}: " + ", ".join(found) for question, found in places.items())
    return [f"Not written yet: {text}."]


def code_limit(name: str) -> int | None:
    """The most bytes that a file of code, or one of answers, may have; None for other files."""
    return 1 << 20 if name.endswith(".py") else 1 << 16 if place_of(name) in ANSWERS else None


def result_limit(name: str) -> int | None:
    """The most bytes that one of the results of ./run.sh may have; None for other files."""
    return SIZE_LIMIT[Path(name).suffix] if name in MADE_BY else None


def _take(source, into, limit_of):
    try:
        folders = [source / folder for folder in ("", *FOLDERS)] if source.is_dir() else []
        names = (
            path.relative_to(source).as_posix()
            for folder in folders
            if folder.is_dir()
            for path in folder.iterdir()
        )
        if folders and not any(map(limit_of, names)):
            into.mkdir()  # what is missing is for the checks to say
            return []
        return take(source, into, limit_of, folders=FOLDERS)
    except Refused as error:
        raise NotTaken(
            harmless(f"{error} Nothing of {source.name or source} was graded.")
        ) from None
    except OSError as error:
        raise UserError(
            f"There is no place for a copy of the submission in {into.parent}: {error.strerror}."
        ) from None


def _lazy_init():
    """An __init__.py with the exports of the given one."""
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
    """A notice for the lines outside the markers in which a student's file differs from the
    starter's of that name; none if it doesn't.
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
        f"{where}{', '.join(map(str, changed[:5]))}{more}. That is graded as it stands; was it "
        "meant?"
    ]


def _outside(text):
    """The lines that are not between markers, and their numbers. Blank lines and blanks at line
    ends don't count.
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
