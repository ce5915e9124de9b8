"""Statistics of a class and its checks: pure functions of grades, for the class page."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import StatisticsError, correlation, mean, median

from instructor.grading.grades import Entry, GradedClass

from .tally import by_question

FEWEST = 10  # people, for a meaningful correlation
LOW = 0.1  # a discrimination below it is suspicious
MANY = 0.2  # if this share of a check's points was lost


@dataclass(frozen=True)
class Item:
    """Item statistics of a check; None where undefined.

    Attributes:
        difficulty: the mean share of its points that people earn.
        discrimination: the correlation of its points with those of all other automatic checks.
    """

    difficulty: float | None
    discrimination: float | None

    @property
    def suspicious(self) -> bool:
        """Whether many people lose points who are otherwise no worse than the rest."""
        return (
            self.discrimination is not None
            and self.discrimination < LOW
            and self.difficulty <= 1 - MANY
        )


@dataclass(frozen=True)
class Section:
    """A section: its people, how many of them count, and their mean and median (None without any).

    problems has the mean points by problem, of those that are graded or marked.
    """

    name: str
    people: int
    counted: int
    mean: float | None
    median: float | None
    problems: dict[str, float | None]


@dataclass(frozen=True)
class Agreement:
    """A written part: how often it was marked twice, the share of equal points, and the average and
    largest difference of the two markers.
    """

    rubric: str
    pairs: int
    equal: float
    difference: float
    largest: float


def excused(entry: Entry) -> bool:
    """Whether the course or its gradebook has excused the person."""
    return bool(entry.excused) or entry.person.excused


def counted(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that statistics count: final grades, no strangers, nobody excused."""
    return [
        entry
        for entry in entries
        if entry.report and entry.final and entry.person.enrolled and not excused(entry)
    ]


def items(graded: GradedClass) -> dict[str, Item]:
    """The Item of every automatic check by its id, from counted entries."""
    coded = {check.id: check.points for check in graded.manifest.checks.values() if check.coded}
    scores = [entry.scores for entry in counted(graded.entries)]
    totals = [sum(own.get(id, 0) for id in coded) for own in scores]
    found = {}
    for id, most in coded.items():
        pairs = [
            (own[id], round(total - own[id], 6)) for own, total in zip(scores, totals) if id in own
        ]
        difficulty = mean(points / most for points, _ in pairs) if pairs else None
        found[id] = Item(difficulty, _correlation(pairs))
    return found


def _correlation(pairs):
    """Pearson's; None for few people, or if all have the same."""
    try:
        return correlation(*zip(*pairs)) if len(pairs) >= FEWEST else None
    except StatisticsError:
        return None


def sections(graded: GradedClass) -> list[Section]:
    """The sections by name, without strangers and excused people; [] unless there are two."""
    groups = defaultdict(list)
    for entry in graded.entries:
        if entry.person.enrolled and not excused(entry):
            groups[entry.person.section].append(entry)
    if len(groups.keys() - {""}) < 2:
        return []
    return [_section(graded, name, groups[name]) for name in sorted(groups)]


def _section(graded, name, entries):
    scores = [entry.total for entry in counted(entries)]
    tallies = [by_question(graded, entry) for entry in counted(entries)]
    problems = dict.fromkeys(question[:-1] for question in graded.manifest.questions)
    for question in graded.manifest.questions:
        if points := [tally[question] for tally in tallies if tally[question] is not None]:
            problems[question[:-1]] = (problems[question[:-1]] or 0) + mean(points)
    return Section(
        name,
        len(entries),
        len(scores),
        mean(scores) if scores else None,
        median(scores) if scores else None,
        problems,
    )


def agreement(marked_twice: Iterable[tuple[str, float, float]]) -> list[Agreement]:
    """How far two markers agree on each written part, in the order of the parts' ids."""
    apart = defaultdict(list)
    for rubric, one, other in marked_twice:
        apart[rubric].append(abs(one - other))
    return [
        Agreement(rubric, len(found), found.count(0) / len(found), mean(found), max(found))
        for rubric, found in sorted(apart.items())
    ]
