"""What has changed in a class since the last complete run: for history.csv, and for whoever reads
what a run prints.
"""

from dataclasses import dataclass

from .grades import GradedClass
from .text import percent, points

# what a person's grade consists of, for someone who was not there before
NOBODY = {"total": None, "submission": None, "checks": {}, "overrides": {}, "marks": {}}


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
            return "a new submission" if self.new else "the submission is gone"
        item = f"{self.what} {self.item}".strip()
        old = f", was {self.old}" if self.old else ""
        return f"{item}: {self.new or 'none'}{old} ({self.why})"


def snapshot(graded: GradedClass) -> dict:
    """All that changes are told of, as data for JSON."""
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
        people[id] = {
            "total": entry.total if entry.final and graded_at_all else None,
            "submission": submission and [submission.label, submission.digest],
            "checks": {
                check["id"]: [check["verdict"], round(check["score"] / check["max_score"], 6)]
                for check in entry.checks
            },
            "penalty": entry.penalty,
            "overrides": overrides.get(id, {}),
            "marks": marks.get(id, {}),
        }
    worth = {check.id: check.points for check in graded.manifest.checks.values()}
    return {"worth": worth, "people": people}


def compare(before: dict, after: dict, again: dict) -> list[Change]:
    """The changes between two snapshots, person by person; for each whose total changed, the last
    one is the total, with all reasons.

    Args:
        before: {} for the first run.
        again: the "digests" of submissions and the "checks" that staff had graded again.
    """
    worth = before.get("worth", {}), after["worth"]
    people = before.get("people", {})
    changes = []
    for id, new in after["people"].items():
        old = people.get(id, NOBODY)
        own = [Change(what, id, *rest) for what, *rest in _of_person(old, new, worth, again)]
        if id in people and old["total"] != new["total"]:
            reasons = "; ".join(change.text for change in own)
            totals = (_points(person["total"]) for person in (old, new))
            own.append(Change("total", id, "", *totals, reasons))
        changes += own
    for id in people.keys() - after["people"].keys():
        why = "neither in the roster nor among the submissions"
        changes.append(Change("left the class", id, "", _points(people[id]["total"]), "", why))
    return changes


def _of_person(old, new, worth, again):
    """Yield (what, item, old, new, why) for a person's changes."""
    handed_in = [person["submission"] or ["", ""] for person in (old, new)]
    same = handed_in[0][1] == handed_in[1][1]
    if old["submission"] and not same:
        yield "submission", "", handed_in[0][0], handed_in[1][0], "another one counts"
    for id in new["checks"] if same else ():
        if id not in old["checks"]:
            continue
        if old["checks"][id] != new["checks"][id]:
            by_staff = handed_in[1][1] in again["digests"] and id in again["checks"]
            why = "graded again" if by_staff else "the check or what it depends on has changed"
            ends = (_end(person["checks"][id], of[id]) for person, of in zip((old, new), worth))
            yield "check", id, *ends, why
    for id in new["checks"]:
        if id in old["checks"] and worth[0].get(id) != worth[1][id]:
            yield "points", id, _points(worth[0].get(id)), _points(worth[1][id]), "of the manifest"
    for key in old["overrides"].keys() | new["overrides"].keys():
        given, left = new["overrides"].get(key), old["overrides"].get(key, ["", ""])
        if given != left and (given or left[0]):
            kind, _, item = key.partition(" ")
            yield kind, item, left[0], *(given or ["", "withdrawn"])
    for key in old["marks"].keys() | new["marks"].keys():
        given, left = new["marks"].get(key), old["marks"].get(key)
        if given != left:
            rubric, _, marker = key.partition(" ")
            why = f"by {marker}" if given is not None else f"no longer in written/{marker}.csv"
            yield "mark", rubric, _points(left), _points(given), why
    if "penalty" in old and old["penalty"] != new["penalty"]:
        yield "penalty", "", percent(old["penalty"]), percent(new["penalty"]), "for lateness"


def _end(check, most):
    """How a check ended, in words."""
    verdict, share = check
    return f"{points(share * (most or 0))} of {points(most)}, {verdict}"


def _points(value):
    return "" if value is None else points(value)
