"""Numbers about people, checks and sections: pure functions of grades, for pages and gradebooks."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from statistics import StatisticsError, correlation, mean, median

from autograder import Check, Verdict

from .causes import root_causes, without_numbers
from .feedback import feedback_on
from .grades import Entry, GradedClass
from .text import line

FEWEST = 10  # people, for a meaningful correlation
LOW = 0.1  # a discrimination below it is suspicious
MANY = 0.2  # if this share of people fails the check
MOST = 10  # entries of a list of the most common


def by_question(graded: GradedClass, entry: Entry) -> dict[str, float | None]:
    """The points of every question of the manifest, before any penalty; None if checks are pending
    or nothing is graded. Points that staff added to the total belong to no question.
    """
    result = dict.fromkeys(graded.manifest.questions)
    given = entry.scores | entry.written
    for check in graded.manifest.checks.values():
        if check.id in given:
            result[check.question] = round((result[check.question] or 0) + given[check.id], 4)
    return result | {graded.manifest.checks[id].question: None for id in entry.pending}


def unmarked(graded: GradedClass, entry: Entry) -> list[Check]:
    """The written parts that have no points yet."""
    checks = graded.manifest.checks.values()
    return [check for check in checks if not check.coded and check.id not in entry.written]


def counted(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that statistics count: final grades, no strangers, nobody excused."""
    graded = [entry for entry in entries if entry.report and entry.final]
    return [entry for entry in graded if entry.person.enrolled and not entry.excused]


@dataclass(frozen=True)
class Item:
    """How an automatic check went among counted people.

    Attributes:
        ran, passed: how many people it ran for, and how many of them passed.
        discrimination: the correlation of its points with those of all other automatic checks;
            None where that is undefined or few people count.
        verdicts, messages: of those who failed, with how many; the most common first.
    """

    check: Check
    ran: int
    passed: int
    discrimination: float | None
    verdicts: list[tuple[str, int]]
    messages: list[tuple[str, int]]

    @property
    def suspicious(self) -> bool:
        """Whether many fail who are otherwise no worse than the rest."""
        many = self.passed <= (1 - MANY) * self.ran
        return many and self.discrimination is not None and self.discrimination < LOW


def items(graded: GradedClass) -> list[Item]:
    """Every automatic check, those that most people fail first."""
    went = {check.id: [] for check in graded.manifest.checks.values() if check.coded}
    for entry in counted(graded.entries):
        total = sum(entry.scores.values())
        for outcome in entry.checks:
            own = entry.scores[outcome["id"]]
            went[outcome["id"]].append((outcome, own, round(total - own, 6)))
    found = []
    for id, people in went.items():
        failed = [outcome for outcome, *_ in people if outcome["verdict"] != Verdict.PASSED]
        try:
            enough = people if len(people) >= FEWEST else []
            related = correlation([own for _, own, _ in enough], [rest for *_, rest in enough])
        except StatisticsError:  # nobody, or all have the same
            related = None
        verdicts = Counter(outcome["verdict"] for outcome in failed).most_common()
        messages = Counter(_first_line(outcome["details"]) for outcome in failed).most_common(1)
        numbers = len(people), len(people) - len(failed), related
        found.append(Item(graded.manifest.checks[id], *numbers, verdicts, messages))
    return sorted(found, key=lambda item: item.passed - item.ran)


def mistakes(graded: GradedClass) -> list[tuple[str, str, list[Entry]]]:
    """(question, cause, people) of the most common causes of lost points."""
    groups = defaultdict(list)
    for entry in graded.entries:
        found = feedback_on(graded.manifest, entry.checks, entry.scores)
        causes = root_causes(graded.manifest, found)
        for key in {(cause.question, without_numbers(cause.text)) for cause in causes}:
            groups[key].append(entry)
    common = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [(*key, people) for key, people in common[:MOST]]


def sections(graded: GradedClass) -> list[tuple]:
    """The whole class and, if there are several, each section: its name, its people who are neither
    strangers nor excused, how many of them count, and their mean and median total (None without
    any).
    """
    entries = [e for e in graded.entries if e.person.enrolled and not e.excused]
    groups, names = [("all", entries)], sorted({entry.person.section for entry in entries})
    if len(names) > 1:
        groups += [(name, [e for e in entries if e.person.section == name]) for name in names]
    rows = []
    for name, people in groups:
        totals = [entry.total for entry in counted(people)]
        middle = (mean(totals), median(totals)) if totals else (None, None)
        rows.append((line(name) or "none", len(people), len(totals), *middle))
    return rows


def histogram(totals: list[float], most: float) -> list[tuple[int, int]]:
    """(lowest points, people) of about 20 equal steps from 0 to `most`."""
    step = max(1, round(most / 20))
    counts = Counter(int(min(max(total, 0), most) // step) for total in totals)
    return [(step * i, counts[i]) for i in range(int(most // step) + 1)]


def agreement(marked_twice: Iterable[tuple[str, float, float]]) -> list[tuple[str, int, int]]:
    """(id of a written part, how often two people marked it, how often they agreed)."""
    parts = groupby(sorted(marked_twice), key=lambda pair: pair[0])
    found = [(part, [one == other for _, one, other in pairs]) for part, pairs in parts]
    return [(part, len(equal), sum(equal)) for part, equal in found]


def _first_line(details):
    return line(without_numbers(details.strip().split("\n")[0][:400]))
