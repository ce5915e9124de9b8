"""Finds what a release of some problems says of the others: their questions, files and targets."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from autograder.manifest import problem_of
from instructor.course import Course
from instructor.documents.facts import UNGRADED
from jobs.problems import PROBLEMS
from jobs.targets import TARGETS

from .leaks import text_of


def find_traces(files: dict[str, bytes], course: Course) -> list[str]:
    """Search the files of a release for problems that it does not have.

    Args:
        files: name in the release, with slashes -> content.
        course: its problems.

    Returns:
        A sentence for each trace, with the file and, in texts, the line; [] if there are none.
    """
    others = "".join(course.others)
    if not others:
        return []
    targets = [name for name, target in TARGETS.items() if target.question[0] in others]
    # a target such as `look` is a word, too
    words = [name for name in targets if "_" in name] + sorted(_names_of(course))
    whole = replace(course, problems=(), given=()).manifest()
    ids = [id for id in (*whole.questions, *UNGRADED) if problem_of(id) in course.others]
    shown = [f"{problem_of(id)}({id[-1]})" for id in ids]
    pattern = re.compile(
        rf"(?<![\w.\\#])(?:{'|'.join(ids)})(?!\w|-\d)"  # 6d, not 1e-5 or .2f
        rf"|(?<![\w.])(?:{'|'.join(map(re.escape, shown))})"
        rf"|\b[Pp]roblems?[ ~_]?[{others}]\b"
        rf"|(?<=run\.sh )(?:{'|'.join(targets)})\b"
        rf"|\b(?:{'|'.join(map(re.escape, words))})\b"
    )
    found = []
    for name, content in sorted(files.items()):
        if PurePosixPath(name).suffix not in (".npz", ".tsv") and not name.endswith("wiki.txt"):
            text = text_of(name, content)
            found += [
                f"{name}, line {text.count(chr(10), 0, match.start()) + 1}: '{match[0]}' is of a "
                "problem that is not handed out."
                for match in pattern.finditer(text)
            ]
        found += [
            f"{name}: its name is of a problem that is not handed out."
            for _ in pattern.finditer(name)
        ]
    return found


def _names_of(course: Course) -> Iterable[str]:
    """The names of the other problems' files, those left out that these have, too."""
    mine = {name for number in course.handed_out for name in _files(number)}
    for number in course.others:
        for name in {*_files(number)} - mine:
            yield PurePosixPath(name).name


def _files(number):
    if number in PROBLEMS:
        problem = PROBLEMS[number]
        yield from (*problem.CODE, *problem.ANSWERS, *problem.SUPPLIED, *problem.NEEDED)
