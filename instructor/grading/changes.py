"""What has changed in a class since the last complete run: for history.csv, and for whoever reads
what a run prints.
"""

from dataclasses import dataclass

from .grades import GRADER_ERROR, GradedClass
from .text import percent, points

# what a person's grade consists of, for someone who was not there before
NOBODY = {
    "total": None,
    "submission": None,
    "refused": "",
    "excused": "",
    "checks": {},
    "penalty": 0.0,
    "overrides": {},
    "marks": {},
}
MOST = 3  # checks that the reasons of a total name


@dataclass(frozen=True)
class Change:
    """A row of the history: what changed of whom (and in which check or part), from what, to what,
    and why.
    """

    what: str
    person: str
    item: str
    old: str
    new: str
    why: str

    @property
    def text(self) -> str:
        """The change in words, without the person."""
        if self.what == "submission":
            if not self.old:
                return "a submission has come in"
            return "another submission counts" if self.new else "the submission is gone"
        if self.what == self.new:  # an override that excuses
            return f"{self.what} ({self.why})"
        item = f"{self.what} {self.item}".strip()
        old = f", was {self.old}" if self.old else ""
        return f"{item}: {self.new or 'none'}{old} ({self.why})"


def snapshot(graded: GradedClass, wanted: dict[str, str] | None = None) -> dict:
    """All that changes are told of, as data for JSON.

    Args:
        wanted: the fingerprints of the checks; by default, they are not known.
    """
    overrides, marks = {}, {}
    for override in graded.decisions.overrides:
        key = f"{override.kind} {override.item}".strip()
        overrides.setdefault(override.person, {})[key] = [override.text, override.reason]
    for mark in graded.decisions.marks:
        if mark.points is not None:
            marks.setdefault(mark.person, {})[f"{mark.rubric} {mark.marker}"] = mark.points
    people = {}
    for entry in graded.entries:
        id, submission = entry.person.id, graded.submissions.get(entry.person.id)
        graded_at_all = entry.report or entry.written or entry.manual or entry.refused
        total = entry.total if entry.final and graded_at_all else None
        people[id] = {
            "total": "excused" if entry.excused else total,
            "submission": submission and [submission.label, submission.digest],
            "refused": entry.refused,
            "excused": "EX" * entry.person.excused,
            "checks": {
                check["id"]: [check["verdict"], round(check["score"] / check["max_score"], 6)]
                for check in entry.checks
            },
            "penalty": entry.penalty,
            "overrides": overrides.get(id, {}),
            "marks": marks.get(id, {}),
        }
    worth = {check.id: check.points for check in graded.manifest.checks.values()}
    return {"worth": worth, "wanted": wanted or {}, "people": people}


def compare(before: dict, after: dict) -> list[Change]:
    """The changes between two snapshots, person by person; for each whose total changed, the last
    one is the total, with all reasons.

    Args:
        before: {} for the first run.
    """
    before = {"worth": {}, "wanted": {}, "people": {}} | before
    worth, people = (before["worth"], after["worth"]), before["people"]
    other = {id for id, value in after["wanted"].items() if before["wanted"].get(id) != value}
    changes = []
    for id, new in after["people"].items():
        old = people.get(id, NOBODY)
        own = [Change(what, id, *rest) for what, *rest in _of_person(old, new, worth, other)]
        if id in people and old["total"] != new["total"]:
            reasons = _reasons(own)
            totals = (_points(person["total"]) for person in (old, new))
            own.append(Change("total", id, "", *totals, reasons))
        changes += own
    for id in people.keys() - after["people"].keys():
        why = "neither in the roster nor among the submissions"
        changes.append(Change("left the class", id, "", _points(people[id]["total"]), "", why))
    return changes


def _reasons(changes):
    """Why a total has changed, in words: of many checks, the first whose points have."""
    checks = [change for change in changes if change.what == "check"]
    moved = [change for change in checks if change.old.split(",")[0] != change.new.split(",")[0]]
    texts = [change.text for change in changes if change not in checks]
    texts += [change.text for change in moved[:MOST]]
    texts += [f"and {len(moved) - MOST} more checks"] * (len(moved) > MOST)
    return "; ".join(texts)


def _of_person(old, new, worth, other):
    """Yield (what, item, old, new, why) for a person's changes; `other` are the checks that are not
    what they were.
    """
    handed_in = [person["submission"] or ["", ""] for person in (old, new)]
    same = handed_in[0][1] == handed_in[1][1]
    if old is not NOBODY and not same:
        if not new["submission"]:
            why = "it is gone"
        else:
            why = "another one counts" if old["submission"] else "there was none"
        yield "submission", "", handed_in[0][0], handed_in[1][0], why
    if old["submission"] and same:
        yield from _of_checks(old, new, worth, other)
    for name, why in (("refused", "by the grader"), ("excused", "in the gradebook")):
        if old[name] != new[name] and (name == "excused" or old["submission"] and same):
            yield name, "", old[name], new[name], why
    for key in sorted(old["overrides"].keys() | new["overrides"].keys()):
        given, left = new["overrides"].get(key), old["overrides"].get(key, ["", ""])
        if given != left and (given or left[0]):
            kind, _, item = key.partition(" ")
            yield kind, item, left[0], *(given or ["", "withdrawn"])
    for key in sorted(old["marks"].keys() | new["marks"].keys()):
        given, left = new["marks"].get(key), old["marks"].get(key)
        rubric, _, marker = key.partition(" ")
        if given != left:
            why = f"by {marker}" if given is not None else f"no longer in written/{marker}.csv"
            why += ", out of other points" * (left is not None and _differ(worth, rubric))
            yield "mark", rubric, _points(left), _points(given), why
    if old["penalty"] != new["penalty"] and old["submission"]:
        yield "penalty", "", percent(old["penalty"]), percent(new["penalty"]), "for lateness"


def _of_checks(old, new, worth, other):
    """Yield the changes of the checks of one submission."""
    for id in [*new["checks"], *(old["checks"].keys() - new["checks"].keys())]:
        ends = [
            _end(person["checks"][id], points.get(id)) if id in person["checks"] else ""
            for person, points in zip((old, new), worth)
        ]
        before, after = old["checks"].get(id), new["checks"].get(id)
        if before == after:
            if _differ(worth, id):
                yield (
                    "points",
                    id,
                    *(_points(points.get(id)) for points in worth),
                    "of the manifest",
                )
            continue
        why = "the check or what it depends on has changed" if id in other else "graded again"
        if before is None:
            why = "not graded before"
        elif after is None:
            why = "to be graded again" if id in worth[1] else "no longer in the manifest"
        elif before[0] == GRADER_ERROR:
            why = "the grader had failed"
        yield "check", id, *ends, why


def _differ(worth, id):
    return worth[0].get(id) != worth[1].get(id)


def _end(check, most):
    """How a check ended, in words."""
    verdict, share = check
    return f"{points(share * (most or 0))} of {points(most)}, {verdict}"


def _points(value):
    return value if isinstance(value, str) else "" if value is None else points(value)
