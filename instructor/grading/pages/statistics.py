"""Numbers about people, checks and sections: pure functions of grades, for pages and gradebooks."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import StatisticsError, correlation, mean, median

from instructor.grading.grades import Entry, GradedClass

FEWEST = 10  # people, for a meaningful correlation
LOW = 0.1  # a discrimination below it is suspicious
MANY = 0.2  # if this share of a check's points was lost


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


def unmarked(graded: GradedClass, entry: Entry) -> list[str]:
    """The ids of the written parts that have no points yet."""
    written = [check.id for check in graded.manifest.checks.values() if not check.coded]
    return [id for id in written if id not in entry.written]


def excused(entry: Entry) -> bool:
    """Whether the course or its gradebook has excused the person."""
    return bool(entry.excused) or entry.person.excused


def counted(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that statistics count: final grades, no strangers, nobody excused."""
    graded = [entry for entry in entries if entry.report and entry.final]
    return [entry for entry in graded if entry.person.enrolled and not excused(entry)]


def average(scores: list[float]) -> tuple[float | None, float | None]:
    """The mean and the median; None without scores."""
    return (mean(scores), median(scores)) if scores else (None, None)


def items(graded: GradedClass) -> dict[str, tuple[float | None, float | None, bool]]:
    """Of every automatic check by its id, from counted entries: its difficulty, the mean share of
    its points that people earn; its discrimination, the correlation of its points with those of
    all other automatic checks; None where undefined. And whether it is suspicious: many people lose
    points who are otherwise no worse than the rest.
    """
    coded = {check.id: check.points for check in graded.manifest.checks.values() if check.coded}
    scores = [entry.scores for entry in counted(graded.entries)]
    totals = [sum(own.get(id, 0) for id in coded) for own in scores]
    found = {}
    for id, most in coded.items():
        points = [own[id] for own in scores if id in own]
        others = [round(total - own[id], 6) for own, total in zip(scores, totals) if id in own]
        difficulty = mean(points) / most if points else None
        try:
            related = correlation(points, others) if len(points) >= FEWEST else None
        except StatisticsError:  # all have the same
            related = None
        suspicious = related is not None and related < LOW and difficulty <= 1 - MANY
        found[id] = difficulty, related, suspicious
    return found


def sections(graded: GradedClass) -> list[tuple]:
    """For each section its name, its people who are neither strangers nor excused, how many of them
    count, their mean and median, and the mean points by problem of those that are graded or marked;
    by name, [] unless there are two sections.
    """
    groups = defaultdict(list)
    for entry in graded.entries:
        if entry.person.enrolled and not excused(entry):
            groups[entry.person.section].append(entry)
    rows = []
    for name, entries in sorted(groups.items()):
        tallies = [by_question(graded, entry) for entry in counted(entries)]
        problems = {}
        for question in graded.manifest.questions:
            means = problems.setdefault(question[:-1], [])
            if points := [tally[question] for tally in tallies if tally[question] is not None]:
                means.append(mean(points))
        scores = average([entry.total for entry in counted(entries)])
        by_problem = [sum(means) if means else None for means in problems.values()]
        rows.append((name, len(entries), len(tallies), *scores, *by_problem))
    return rows if len(groups.keys() - {""}) > 1 else []


def agreement(marked_twice: Iterable[tuple[str, float, float]]) -> list[tuple]:
    """For each written part, by id: how often it was marked twice, the share of equal points, and
    the average and largest difference of the two markers.
    """
    apart = defaultdict(list)
    for rubric, one, other in marked_twice:
        apart[rubric].append(abs(one - other))
    return [
        (rubric, len(found), found.count(0) / len(found), mean(found), max(found))
        for rubric, found in sorted(apart.items())
    ]
