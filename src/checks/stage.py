"""Getting a submission ready to be graded: the student's files, with our own in place of those that were given."""
import ast
import difflib
import shutil
from pathlib import Path

from autograder import Submission
from files import UserError

GIVEN = Path(__file__).parent / "given"                     # the starter as it was handed out
ANSWERS = Path(__file__).parents[1] / "answers.py"          # decoding as ./run.sh does it, for the checks of results
WRITTEN = ("attention.py", "dataset.py", "helper.py", "model.py")       # what students fill in
REPLACED = ("trainer.py", "utils.py")                       # and what grading takes from us, as __init__.py
START, END = "### START_CODE_HERE ###", "### END_CODE_HERE ###"
OFFERED = "torch, numpy, tqdm and Python's standard library"
SIZE_LIMIT = 1 << 20        # bytes of a Python file

LAZY_INIT = '''"""Stands for __init__.py in grading: the same names, but one that is missing costs only the checks that need it."""
import importlib

_DEFINED_IN = {defined_in!r}


def __getattr__(name):
    if name in {files!r}:
        return importlib.import_module("." + name, __name__)
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    module = importlib.import_module("." + _DEFINED_IN[name], __name__)
    if not hasattr(module, name):
        raise ImportError(f"cannot import name {{name!r}} from {{module.__name__!r}}", name=module.__name__)
    return getattr(module, name)
'''


def stage(folder: Path, into: Path) -> tuple[Submission, list[str]]:
    """Copy the student's code from `folder` into the folder `into`, as the package `submission`, ready to be graded.

    Returns:
        The Submission, and notices: what is missing, and what was changed outside the student's places.

    Raises:
        UserError: there is no submission in `folder`.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder. Check --submission.")
    if not any((folder / name).is_file() for name in WRITTEN):
        raise UserError(f"{folder} has none of {', '.join(WRITTEN)}: it is no submission. Check --submission.")
    package = into / "submission"
    package.mkdir(parents=True)
    notices = []
    for path in sorted(folder.glob("*.py")):
        if path.name in REPLACED or path.name == "__init__.py":
            continue
        if path.is_symlink() or not path.is_file():
            raise UserError(f"{path} is no regular file. Put a copy of the file there; nothing was graded.")
        if path.stat().st_size > SIZE_LIMIT:
            raise UserError(f"{path} has more than {SIZE_LIMIT >> 20} MiB: that is no program. Nothing was graded.")
        shutil.copyfile(path, package / path.name)
        if path.name in WRITTEN:
            notices += changes_outside(path)
    for name in REPLACED:
        shutil.copyfile(GIVEN / name, package / name)
    (package / "__init__.py").write_text(_lazy_init(), encoding="utf-8")
    shutil.copyfile(ANSWERS, into / ANSWERS.name)

    notices += [f"{name} is missing: what needs it cannot be graded." for name in WRITTEN if not (folder / name).is_file()]
    for name in (*REPLACED, "__init__.py"):
        if (folder / name).is_file() and _text(folder / name) != _text(GIVEN / name):
            notices.append(f"{name} was changed. It is a given file, and graded as it was handed out.")
    return Submission((into,), package, "submission", OFFERED), notices


def _lazy_init():
    """An __init__.py with the exports of the given one."""
    tree = ast.parse((GIVEN / "__init__.py").read_text(encoding="utf-8"))
    files = [Path(name).stem for name in (*WRITTEN, *REPLACED)]
    return LAZY_INIT.format(files=files, defined_in={alias.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom)
                                        for alias in node.names})


def changes_outside(path: Path) -> list[str]:
    """A notice for the lines outside the markers in which a student's file differs from the starter; none if it doesn't."""
    numbers, mine = _outside(_text(path))
    _, given = _outside(_text(GIVEN / path.name))
    changed = [numbers[min(first, len(numbers) - 1)] for tag, _, _, first, _ in
               difflib.SequenceMatcher(None, given, mine, autojunk=False).get_opcodes() if tag != "equal"]
    if not changed:
        return []
    where = "in line " if len(changed) == 1 else "at lines "
    more = f" and {len(changed) - 5} more places" if len(changed) > 5 else ""
    return [f"{path.name} differs from the starter outside the markers, {where}{', '.join(map(str, changed[:5]))}{more}. "
            "That is graded as it stands; was it meant?"]


def _outside(text):
    """The lines that are not between markers, and their numbers. Blank lines and blanks at line ends don't count."""
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
