"""The grading manifest: which checks there are, and their points. Scores are computed from it
alone.
"""

import math
import re
import tomllib
from collections.abc import Collection
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path

KINDS = ("basic", "hidden", "written")


class ManifestError(ValueError):
    """The manifest contradicts itself; the message names the entry."""


@dataclass(frozen=True)
class Question:
    """A question: its points are the sum of its checks' points; builds_on names the questions whose
    code it runs; imports, modules that its checks' processes need besides every question's; steps,
    the titles of a long question's parts.
    """

    id: str
    title: str
    points: float
    extra_credit: bool = False
    builds_on: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """A check: an automatic one (kind "basic" or "hidden"), or a part that is graded by hand
    ("written").

    seconds (of CPU time) and memory (MiB) are its limits; partial
    says whether it gives partial credit; artifacts are the files that it uses besides the code;
    step is the number of the question's step that it belongs to, 0 if there are none.
    """

    id: str
    question: str
    kind: str
    title: str
    points: float
    seconds: float
    memory: int
    partial: bool = False
    artifacts: tuple[str, ...] = ()
    step: int = 0

    @property
    def coded(self) -> bool:
        """Whether it is graded automatically."""
        return self.kind != "written"

    def runs(self, hidden: bool) -> bool:
        """Whether it runs in a copy with hidden checks, or without."""
        return self.kind == "basic" or hidden and self.kind == "hidden"


@dataclass(frozen=True)
class Manifest:
    """All questions and checks, in file order; settings are the other tables, for the checks
    themselves.
    """

    questions: dict[str, Question]
    checks: dict[str, Check]
    settings: dict

    @property
    def problems(self) -> list[str]:
        """The problems that have graded questions, in the manifest's order."""
        return list(dict.fromkeys(problem_of(id) for id in self.questions))

    def only(self, problems: Collection[str]) -> "Manifest":
        """The manifest of some problems; of all if none are named. What builds on another problem's
        questions loses that link.
        """
        kept = {
            id: question
            for id, question in self.questions.items()
            if not problems or problem_of(id) in problems
        }
        return Manifest(
            {
                id: replace(question, builds_on=tuple(q for q in question.builds_on if q in kept))
                for id, question in kept.items()
            },
            {id: check for id, check in self.checks.items() if check.question in kept},
            self.settings,
        )

    def bases(self, question: str) -> list[str]:
        """The questions that one builds on, directly or indirectly, in the manifest's order."""
        found = set(self.questions[question].builds_on)
        for id in reversed(self.questions):  # a question comes after those that it builds on
            if id in found:
                found.update(self.questions[id].builds_on)
        return [id for id in self.questions if id in found]

    def select(self, names: list[str]) -> list[Check]:
        """The checks selected by `names`: ids (9a-0-basic) or their beginnings up to a dash
        (9a-0), questions (9a) or problems (9). No names select all.

        Raises:
            KeyError: a name that matches nothing.
        """
        chosen = set()
        for name in names:
            found = [
                check.id
                for check in self.checks.values()
                if f"{check.id}-".startswith(f"{name}-")
                or re.fullmatch(re.escape(name) + r"[a-z]+", check.question)
            ]
            if not found:
                raise KeyError(name)
            chosen.update(found)
        return [check for check in self.checks.values() if check.id in chosen or not names]

    def names(self) -> list[str]:
        """All names that `select` knows: problems, questions, ids and their beginnings."""
        beginnings = [id.rpartition("-")[0] for id in self.checks]
        return list(dict.fromkeys([*self.problems, *self.questions, *beginnings, *self.checks]))


def problem_of(question: str) -> str:
    """The problem that a question belongs to: "9" for "9a"."""
    return re.sub(r"[a-z]+$", "", question)


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest and its parts: the files of its name in the folders beside it, a
    problem each. What builds on a problem whose part is not there has no such link.

    Raises:
        ManifestError: an unknown or missing field, a malformed or duplicate id, or points that do
            not add up.
    """
    content = {"questions": {}, "check": []}
    for part in (path, *sorted(path.parent.glob(f"*/{path.name}"))):
        try:
            tables = tomllib.loads(part.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise ManifestError(f"{part}: {error}") from None
        content["questions"] |= tables.pop("questions", {})
        content["check"] += tables.pop("check", [])
        content |= tables
    problems = {problem_of(id) for id in content["questions"]}
    questions = {}
    for id, entry in content["questions"].items():
        links = [base for base in entry.get("builds_on", []) if problem_of(base) in problems]
        entry = entry | {"builds_on": links}
        question = questions[id] = _made(Question, f"question {id}", entry, id=id)
        if unknown := [other for other in question.builds_on if other not in questions]:
            raise ManifestError(
                f"question {id}: builds on {unknown[0]}, which is not an earlier question"
            )
    checks = {}
    for entry in content["check"]:
        id = entry.get("id", "without id")
        name = re.fullmatch(r"(\w+)-\d+-(\w+)", id)
        if not name or name[1] not in questions or name[2] not in KINDS:
            raise ManifestError(
                f"check {id}: an id is QUESTION-NUMBER-KIND, with a known QUESTION and KIND one of "
                f"{', '.join(KINDS)}"
            )
        if id in checks:
            raise ManifestError(f"check {id} appears twice")
        entry = content.get("defaults", {}) | entry
        del entry["id"]
        check = _made(Check, f"check {id}", entry, id=id, question=name[1], kind=name[2])
        checks[id] = check
        steps = len(questions[check.question].steps)
        if check.coded and check.step not in range(min(steps, 1), steps + 1):
            raise ManifestError(
                f"check {id}: step {check.step} is not one of question {check.question}'s {steps} "
                "steps"
            )
        if check.points <= 0:
            raise ManifestError(f"check {id} has no points")

    for question in questions.values():
        total = sum(check.points for check in checks.values() if check.question == question.id)
        if not math.isclose(total, question.points):
            raise ManifestError(
                f"question {question.id} has {question.points:g} points, but its "
                f"checks have {total:g} in total. Change one of them in its {path.name}."
            )
    return Manifest(
        questions,
        checks,
        {name: content[name] for name in content.keys() - {"questions", "defaults", "check"}},
    )


def _made(kind, what, entry, /, **known):
    """A Question or a Check with these fields."""
    allowed = [field for field in fields(kind) if field.name not in known]
    if wrong := [*entry.keys() - {field.name for field in allowed}]:
        raise ManifestError(f"{what}: unknown field {wrong[0]}")
    needed = [field.name for field in allowed if field.default is MISSING]
    if lacks := [name for name in needed if name not in entry]:
        raise ManifestError(f"{what}: lacks {lacks[0]}")
    lists = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
    return kind(**entry | lists, **known)
