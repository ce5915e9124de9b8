"""Root causes: which failed checks one fault explains, so that a reader knows where to start."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from autograder.manifest import Check, Manifest
from autograder.verdicts import Verdict

FINE = (None, Verdict.PASSED.value, Verdict.GRADER_ERROR.value)
LONGEST = 200  # characters of a sentence
PLACE = re.compile(r"(\S+)(?::|, line )(\d+)\b")  # of a message: file and line


@dataclass
class Cause:
    """One fault: the question whose part to write or mend, what is wrong, the ids of the checks
    that it explains, and the points that they lost.

    `mark` is equal in messages that tell of the same fault; `subject` is the function that was
    called; `named`: a message says more than that a result is wrong.
    """

    question: str
    text: str
    mark: str = ""
    subject: str = ""
    named: bool = True
    checks: list[str] = field(default_factory=list)
    points: float = 0.0


def root_causes(
    manifest: Manifest, checks: Iterable[dict], scores: dict[str, float]
) -> list[Cause]:
    """Group failed checks that share a cause, the most points first.

    An unwritten part, or the line of an exception, is one cause wherever it is met, and a known
    mistake is one in all questions that build on each other. Other failures belong to the cause in
    the function that they call. Hidden checks belong to the first cause of their question; of them,
    only the title and the verdict are used.

    Args:
        checks: of a report, as `as_dict` makes them.
        scores: the points of each check by id.
    """
    read = []
    for outcome in checks:
        check = manifest.checks.get(outcome["id"])
        if check and outcome["verdict"] not in FINE:
            read.append((check, _read(check, outcome)))
    read.sort(key=lambda pair: (pair[0].kind == "hidden", not pair[1].named))
    found: list[Cause] = []
    for check, cause in read:
        if (cost := check.points - scores.get(check.id, 0.0)) > 0:
            same = _same(manifest, check, cause, found)
            if same is None:
                found.append(same := cause)
            same.checks.append(check.id)
            same.points = round(same.points + cost, 4)
    return sorted(found, key=lambda cause: -cause.points)


def _same(manifest: Manifest, check: Check, cause: Cause, found: list[Cause]) -> Cause | None:
    """The cause among those found that explains this failure, too."""
    bases = manifest.bases(check.question)
    own = [one for one in found if one.question == check.question]
    below = [one for one in found if one.question in bases]
    known = found if PLACE.match(cause.mark) else own + below
    same = [one for one in known if one.mark == cause.mark]
    if check.kind == "hidden":
        same += own + (below if cause.mark else [])
    elif not cause.named:
        same += [one for one in own if one.subject and one.subject == cause.subject]
        # what builds on a fault was graded again without it, but for results of trainings
        same += own + below if check.artifacts else []
    return next(iter(same), None)


def _read(check, outcome):
    """The cause that a basic check's message tells, or that a hidden check's title is; the mark of
    the latter is that of no other: whether something is missing, for `_same`.
    """
    if check.kind == "hidden":
        missing = outcome["verdict"] == Verdict.NOT_IMPLEMENTED.value
        text = f"Hidden checks fail that no basic check explains, the first on: {check.title}"
        return Cause(check.question, text, "missing" if missing else "")
    first, _, more = outcome["message"].strip().partition("\n")
    subject = re.search(r"([A-Za-z_][\w.]*)\(", first)
    subject = subject[1] if subject else ""
    if part := re.fullmatch(PLACE.pattern + r"  (.+)", first):
        text = f"{part[3]} is not written yet: {part[1]}, line {part[2]}"
        return Cause(check.question, text, first, part[3])
    if mistake := re.search(r"^Likely cause: (.+)", more, re.MULTILINE):
        text = _sentence(mistake[1])
        return Cause(check.question, text[:1].upper() + text[1:], text, subject)
    if outcome["verdict"] != Verdict.WRONG_ANSWER.value:
        place = re.match(PLACE.pattern + r": \w+", first)
        return Cause(check.question, _cut(first), place[0] if place else first)
    text = _sentence(first)
    return Cause(check.question, text, re.sub(r"\d+", "#", text), subject, named=False)


def _sentence(text):
    """The first sentence, without its period, and without the index and the tolerance."""
    text = re.split(r"(?<=[^.\s])\.(?= [A-Z]|$)", text)[0]
    return _cut(re.sub(r" \(at index .*?\)\), where \S+ is allowed", "", text))


def _cut(text):
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
