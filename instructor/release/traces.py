"""Finds what a release of some problems says of the others: their questions, files and targets."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from autograder.manifest import problem_of
from instructor.course import Course
from instructor.documents.facts import UNGRADED
from jobs.targets import TARGETS, chosen

UNREAD = (".zip", ".tsv", "wiki.txt")


def find_traces(texts: dict[str, str], course: Course) -> list[str]:
    """Search the texts of a release for problems that it does not have.

    Args:
        texts: name in the release, with slashes -> text, as `leaks.text_of` gives it.
        course: its problems.

    Returns:
        A sentence for each trace, with the file and, in texts, the line; [] if there are none.
    """
    if not course.others:
        return []
    targets = [name for name, target in TARGETS.items() if target.question[0] in course.others]
    mine, theirs = _names(course.handed_out), _names(course.others)
    # a target such as `look` is a word, too
    words = [name for name in targets if "_" in name] + sorted(theirs - mine)
    all_problems = replace(course, problems=(), given=()).manifest()
    ids = [id for id in (*all_problems.questions, *UNGRADED) if problem_of(id) in course.others]
    shown = [f"{problem_of(id)}({id[-1]})" for id in ids]
    plain = re.compile(
        rf"(?<![\w.])(?:{_any(shown)})"
        rf"|\b[Pp]roblems?[ ~_]?(?:{_any(course.others)})\b"
        rf"|(?<=run\.sh )(?:{_any(targets)})\b"
        rf"|\b(?:{_any(words)})\b"
    )
    # 6d, not 1e-5 or .2f; in a PDF, 1d may be a fraction
    whole = re.compile(rf"(?<![\w.\\#])(?:{_any(ids)})(?!\w|-\d)|{plain.pattern}")
    found = []
    for name, text in sorted(texts.items()):
        if whole.search(name):
            found.append(f"{name}: its name is of a problem that is not handed out.")
        if name.endswith("/manifest.toml"):  # links to other problems' questions may stay
            text = re.sub(r"(?m)^builds_on = .*", "", text)
        pattern = plain if name.endswith(".pdf") else whole
        found += [
            f"{name}, line {text.count(chr(10), 0, match.start()) + 1}: '{match[0]}' is of a "
            "problem that is not handed out."
            for match in pattern.finditer("" if name.endswith(UNREAD) else text)
        ]
    return found


def _any(words: Iterable[str]) -> str:
    """A pattern for one of these words; for nothing, if there are none."""
    return "|".join(map(re.escape, words)) or "(?!)"


def _names(numbers: Iterable[str]) -> set[str]:
    """The names of the files of some problems."""
    return {
        PurePosixPath(name).name
        for problem in chosen(numbers)
        for name in (*problem.code, *problem.answers, *problem.supplied, *problem.needed)
    }
