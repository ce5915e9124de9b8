"""What of this project a release of some problems has: the files of these problems.

A file belongs to a problem by the name of its folder or its own (`problem5`), its question
(`cases/5c.zip`) or the problem's contents.py; all other files are everybody's. Targets, help,
deliverables, collection and points follow from what is there. A file of another problem that these
need (`needed`) is given as solved.
"""

import re
from fnmatch import fnmatch
from pathlib import PurePosixPath

from autograder.manifest import problem_of
from jobs.deliverables import lent
from jobs.targets import PROBLEMS, chosen

from .starter import END, SOLUTION, START

SUBMISSIONS = ("src/submission/", "src/checks/given/")
QUESTION = r"[1-9][a-z]"


def chosen_files(names: list[str], numbers: tuple[str, ...]) -> list[str]:
    """Those of a release's files that a release of some problems has."""
    mine, others = _owned(numbers), _owned(PROBLEMS.keys() - {*numbers})
    return [
        name
        for name in names
        if _problems_in(name) <= {*numbers} and (_matches(name, mine) or not _matches(name, others))
    ]


def _owned(numbers):
    """Patterns of files that belong to some problems, by their names in a release."""
    found = []
    for problem in chosen(numbers):
        found += problem.files
        names = (*problem.code, *problem.answers, *problem.supplied, *problem.needed)
        found += [f"{folder}{name}" for folder in SUBMISSIONS for name in names]
    return found


def _matches(name, patterns):
    return any(fnmatch(name, pattern) for pattern in patterns)


def _problems_in(name):
    """The problems that a name names, itself or by a question."""
    path = PurePosixPath(name)
    found = {*re.findall(r"problem(\d+)", name)}
    if path.parent.name == "cases" and re.match(rf"{QUESTION}\.", path.name):
        found.add(problem_of(path.stem))
    return found


def chosen_text(name: str, text: str, numbers: tuple[str, ...]) -> str:
    """A file's text in a release of some problems: a file of another one as solved."""
    for folder in SUBMISSIONS:
        inside = name.removeprefix(folder)
        if inside != name and inside in lent(numbers):
            return solved(inside)
        if inside == "__init__.py" and inside != name:
            return _package(text, numbers)
    return text


def solved(name: str) -> str:
    """A file of the solution as a given file: without markers, and without the tasks above them."""
    text = (SOLUTION / name).read_text(encoding="utf-8")
    text = re.sub(rf"(?:^[ \t]*#[^\n]*\n)*^[ \t]*{START}\n", "", text, flags=re.MULTILINE)
    return re.sub(rf"^[ \t]*{END}\n", "", text, flags=re.MULTILINE)


def _package(text, numbers):
    """__init__.py without the imports of modules that are not there."""
    there = {PurePosixPath(pattern).stem for pattern in _owned(numbers) if pattern.endswith(".py")}
    return "".join(
        line
        for line in text.splitlines(True)
        if not (found := re.match(r"from \.(\w+) import ", line)) or found[1] in there
    )
