r"""What of this project a release of some problems has: the files of these problems, and texts
without the others.

A file belongs to a problem by its folder (`problem5`), its question (`cases/5c.zip`) or the
problem's contents.py; all other files are everybody's. Targets, help, deliverables and collection
follow from the contents.py that are there (jobs/targets.py), points and pages from the parts of the
manifest. Markdown says what belongs
to a problem by `<!-- problem 5 -->`, the handout by \ifproblem. A file of another problem that
these need (NEEDED) is given as solved.
"""

import re
from fnmatch import fnmatch
from pathlib import PurePosixPath

from autograder.manifest import problem_of
from jobs.deliverables import lent
from jobs.targets import PROBLEMS, TARGETS, chosen, targets_of

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
    """The problems that a name names, by a folder or a question."""
    path = PurePosixPath(name)
    found = {match[1] for part in path.parts if (match := re.fullmatch(r"problem(\d+)", part))}
    if path.parent.name == "cases" and re.match(rf"{QUESTION}\.", path.name):
        found.add(problem_of(path.stem))
    return found


def chosen_text(name: str, text: str, numbers: tuple[str, ...]) -> str:
    """A file's text in a release of some problems: files given as solved, and without what is said
    of other problems.
    """
    for folder in SUBMISSIONS:
        inside = name.removeprefix(folder)
        if inside != name and inside in lent(numbers):
            return solved(inside)
        if inside == "__init__.py" and inside != name:
            return _package(text, numbers)
    if name.endswith(".md"):
        return chosen_markdown(text, numbers)
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


def chosen_markdown(text: str, numbers: tuple[str, ...]) -> str:
    """A document without what concerns other problems: blocks between `<!-- problem 1 6 -->` and
    `<!-- end of problem 1 6 -->` if one of them is lacking, and rows of tables that name another
    problem, a question of it or a target that is not there.
    """

    def block(match):
        return match[2] if {*match[1].split()} <= {*numbers} else ""

    text = re.sub(
        r"<!-- problem ([\d ]+) -->\n(.*?)<!-- end of problem \1 -->\n",
        block,
        text,
        flags=re.DOTALL,
    )
    there = targets_of(numbers)

    def is_of_others(line):
        named = re.findall(r"(?:\bproblem |^\| )(\d)(?=[a-z]? |[:;,.])", line)
        targets = [name for name in re.findall(r"^\| \w+ \| `(\w+)` \|", line) if name in TARGETS]
        return {*named} - {*numbers} or {*targets} - there.keys()

    return "".join(
        line for line in text.splitlines(True) if not line.startswith("|") or not is_of_others(line)
    )
