"""Root causes: which failed checks one fault explains, so that a reader knows where to start."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from autograder.manifest import Check, Manifest
from autograder.verdicts import Verdict

from .feedback import Feedback

LONGEST = 200  # characters of a sentence
PLACE = re.compile(r"(\S+)(?::|, line )(\d+)\b")  # of a message: file and line


@dataclass
class Cause:
    """One fault: the question whose part to write or mend, what is wrong, the checks that it
    explains, and the points that they lost.

    `mark` is equal in messages that tell of the same fault; `subject` is the function that was
    called; `named`: a message says more than that a result is wrong.
    """

    question: str
    text: str
    mark: str = ""
    subject: str = ""
    named: bool = True
    checks: list[Check] = field(default_factory=list)
    points: float = 0.0


def root_causes(manifest: Manifest, found: Iterable[Feedback]) -> list[Cause]:
    """Group failed checks that share a cause, the most points first.

    An unwritten part, or the line of an exception, is one cause wherever it is met, and a known
    mistake is one in all questions that build on each other. Other failures belong to the cause in
    the function that they call. Hidden checks belong to the first cause of their question.
    """
    failed = [(item, _read(item)) for item in found if item.failed]
    failed.sort(key=lambda pair: (pair[0].check.kind == "hidden", not pair[1].named))
    causes: list[Cause] = []
    for item, cause in failed:
        if (cost := item.check.points - (item.score or 0.0)) > 0:
            same = _same(manifest, item.check, cause, causes)
            if same is None:
                causes.append(same := cause)
            same.checks.append(item.check)
            same.points = round(same.points + cost, 4)
    return sorted(causes, key=lambda cause: -cause.points)


def without_numbers(text: str) -> str:
    """A message with # for each number, so that equal mistakes read alike."""
    return re.sub(r"\d+(?:[.,]\d+)*(?:e[-+]\d+)?", "#", text)


def _same(manifest: Manifest, check: Check, cause: Cause, causes: list[Cause]) -> Cause | None:
    """The cause among those found that explains this failure, too."""
    bases = manifest.bases(check.question)
    own = [other for other in causes if other.question == check.question]
    below = [other for other in causes if other.question in bases]
    known = causes if PLACE.match(cause.mark) else own + below
    same = [other for other in known if other.mark == cause.mark]
    if check.kind == "hidden":
        same += own + (below if cause.mark else [])
    elif not cause.named:
        same += [other for other in own if other.subject and other.subject == cause.subject]
        # what builds on a fault was graded again without it, but for results of trainings
        same += own + below if check.artifacts else []
    return next(iter(same), None)


def _read(item: Feedback) -> Cause:
    """The cause that a basic check's message tells, or that a hidden check's title is; the mark of
    the latter is that of no other: whether something is missing, for `_same`.
    """
    question = item.check.question
    if item.check.kind == "hidden":
        missing = item.verdict == Verdict.NOT_IMPLEMENTED
        text = f"Hidden checks fail that no basic check explains, the first on: {item.check.title}"
        return Cause(question, text, "missing" if missing else "")
    first, _, more = item.message.strip().partition("\n")
    subject = re.search(r"([A-Za-z_][\w.]*)\(", first)
    subject = subject[1] if subject else ""
    if part := re.fullmatch(PLACE.pattern + r"  (.+)", first):
        text = f"{part[3]} is not written yet: {part[1]}, line {part[2]}"
        return Cause(question, text, first, part[3])
    if mistake := re.search(r"^Likely cause: (.+)", more, re.MULTILINE):
        text = _sentence(mistake[1])
        return Cause(question, text[:1].upper() + text[1:], text, subject)
    if item.verdict != Verdict.WRONG_ANSWER:
        place = re.match(PLACE.pattern + r": \w+", first)
        return Cause(question, _cut(first), place[0] if place else first)
    text = _sentence(first)
    return Cause(question, text, without_numbers(text), subject, named=False)


def _sentence(text):
    """The first sentence, without its period, and without the index and the tolerance."""
    text = re.split(r"(?<=[^.\s])\.(?= [A-Z]|$)", text)[0]
    return _cut(re.sub(r"(?: \(at index .*?\)\))?, where \S+ is allowed", "", text))


def _cut(text):
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
