"""Builds a GradedClass: which submission of a person counts, and for how much."""

import base64
import hashlib
import hmac
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from checks.support.session import MANIFEST
from instructor.course import read_course

from .database import TAKEN_IN, State
from .decision_files import read_decisions
from .decisions import EXCUSED, EXTENSION, Decisions
from .finding import late
from .finding.found import UNREAD
from .grades import Entry, GradedClass, Person, Submission
from .settings import Settings, read_settings


def load_class(folder: Path) -> GradedClass:
    """The class in a folder, with all results that are stored, whatever has changed since.

    Raises:
        UserError: nothing was graded there, a grading is running, or a file of the class is wrong.
    """
    with State(folder) as state:
        return class_of(state, read_settings(folder), decisions_of(state, folder, state.people()))


def class_of(
    state: State, settings: Settings, decisions: Decisions, wanted: dict[str, str] | None = None
) -> GradedClass:
    """The GradedClass of a state.

    Args:
        wanted: the fingerprints of today: what has another one is pending. By default, everything
            that is stored counts.
    """
    manifest = read_course().manifest(MANIFEST)
    submissions, overrides = {}, {}
    for submission in state.submissions():
        submissions.setdefault(submission.person, []).append(submission)
    for override in decisions.overrides:
        overrides.setdefault(override.person, []).append(override)
    people = state.people()
    ids = {person.id for person in people} | state.left()
    graded = GradedClass(manifest, settings.title, [], settings.due, handout=settings.handout)
    graded.decisions, graded.history, graded.codes = decisions, state.history(), _codes(state, ids)
    for person, folder in zip(people, _folders([person.id for person in people]), strict=True):
        start = Entry(person, folder, for_staff=[] if person.enrolled else ["Not in the roster."])
        _decide(start, overrides.get(person.id, []), decisions)
        own = submissions.get(person.id, [])
        candidates = [_entry(state, manifest, settings, start, item, wanted) for item in own]
        entry = _chosen(candidates, settings.keep) if candidates else start
        if candidates:
            graded.submissions[person.id] = own[candidates.index(entry)]
        graded.entries.append(entry)
    _mark(graded)
    return graded


def decisions_of(state: State, folder: Path, people: list[Person]) -> Decisions:
    """What people decided, in the files of a class.

    Args:
        people: who is in the class now.

    Raises:
        UserError: something in the files is wrong.
    """
    ids = {person.id for person in people}
    left = {person.id for person in state.people()} | state.left()
    manifest = read_course().manifest(MANIFEST)
    return read_decisions(folder, ids, left - ids, _codes(state, ids | left), manifest)


def _codes(state, ids):
    """A unique code for everyone, for anonymous marking: the same in every run. People who have
    left keep theirs: a form may be older.
    """
    result, taken, secret = {}, set(), state.get("seed") or ""
    for id in sorted(ids):
        digest = hmac.digest(secret.encode(), f"code {id}".encode(), "sha256")
        text = base64.b32encode(digest).decode()
        length = next(length for length in range(6, 53) if text[:length] not in taken)
        taken.update(text[:n] for n in range(6, length + 1))
        result[id] = text[:length]
    return result


def _decide(entry, overrides, decisions):
    """Apply what staff decided about a person to the entry."""
    entry.excused = "EX in the Canvas gradebook." if entry.person.excused else ""
    for override in overrides:
        text = f"{override.text}{f' for {override.item}' * bool(override.item)}, by staff"
        if override.kind == EXTENSION:
            entry.extension = int(override.value)
            text = f"You have {override.text}"
        elif override.kind == EXCUSED:
            entry.excused = override.reason
            text = "You are excused"
        else:
            entry.manual[override.item] = override.value
        entry.reasons.append(f"{text}: {override.reason}")
    reasons = {"", *(override.reason for override in overrides)}  # an answer with points is one
    for request in decisions.requests:
        if request.person == entry.person.id and request.answer not in reasons:
            about = request.check or "your grade"
            entry.reasons.append(f"Your question about {about}: {request.answer}")


def _mark(graded):
    """Add the marks of written parts to the class."""
    entries = {entry.person.id: entry for entry in graded.entries}
    for (id, rubric), part in graded.decisions.parts().items():
        if part.points is not None:
            entries[id].written[rubric] = part.points
        if part.comment:
            entries[id].comments[rubric] = part.comment
        points = [*part.marks.values()]
        if len(points) > 1:
            graded.marked_twice.append((rubric, *points[:2]))
        if part.points is None and points:
            marks = ", ".join(f"{marker} gives {mark:g}" for marker, mark in part.marks.items())
            graded.conflicts.append(f"{rubric} of {id}: {marks}")


def _entry(state, manifest, settings, start, item: Submission, wanted):
    """The person's Entry if this submission counts."""
    submitted = datetime.fromisoformat(item.submitted) if item.submitted else None
    entry = replace(
        start, source=item.label, submitted=submitted, remarks=[], for_staff=[*start.for_staff]
    )
    entry.days_late = late.days_late(
        submitted,
        settings.due,
        settings.grace_minutes,
        item.late,
        settings.canvas_late_days,
        start.extension,
    )
    entry.penalty = late.penalty(
        entry.days_late, settings.late_percent / 100, settings.free_days, settings.late_cap / 100
    )
    if item.late and (submitted is None or settings.due is None):
        days = f"{entry.days_late} day{'s' * (entry.days_late != 1)} late"
        entry.remarks.append(
            "It is marked as late, without a time: that counts as "
            f"{days if entry.days_late else 'on time'}."
        )
    coded = [check.id for check in manifest.checks.values() if check.coded]
    outcomes = state.outcomes(item.digest, wanted) if item.digest else {}
    if not item.digest:
        entry.refused = item.remark
    elif refused := outcomes.get(TAKEN_IN, {}).get("refused"):
        entry.refused = refused
    else:
        if outcomes.keys() - {TAKEN_IN}:
            entry.report = _report(manifest, outcomes)
        graded = {check["id"] for check in entry.checks if check["verdict"]}
        entry.pending = [id for id in coded if id not in graded and id not in entry.manual]
    if item.digest and item.remark:
        of_staff = item.digest.startswith(UNREAD) or not start.person.enrolled
        (entry.for_staff if of_staff else entry.remarks).append(item.remark)
    return entry


def _report(manifest, outcomes):
    """A report as from autograder.report.as_dict, with today's points and titles, of the graded
    checks in the manifest.
    """
    taken_in = {"notices": [], "isolation": "", "isolation_reason": ""} | outcomes.get(TAKEN_IN, {})
    checks = []
    for check in manifest.checks.values():
        if check.coded and check.id in outcomes:
            outcome = outcomes[check.id]
            part = outcome["score"] / outcome["max_score"]
            checks.append(
                {
                    **outcome,
                    "question": check.question,
                    "title": check.title,
                    "score": part * check.points,
                    "max_score": check.points,
                }
            )
    total = sum(check.points for check in manifest.checks.values() if check.coded)
    return {
        "score": sum(check["score"] for check in checks),
        "max_score": total,
        "max_score_here": sum(check["max_score"] for check in checks),
        "notices": taken_in["notices"],
        "isolation": taken_in["isolation"],
        "isolation_reason": taken_in["isolation_reason"],
        "seconds": sum(check["seconds"] for check in checks),
        "checks": checks,
    }


def _chosen(candidates, keep):
    """The submission that counts: one that can be graded before one that can't; then the latest, or
    the best. Without times, the one found last is the latest.
    """

    def worth(entry):
        time = entry.submitted.timestamp() if entry.submitted else 0.0
        # One without a grade yet may be the best: then there is no grade.
        points = (not entry.final, entry.automatic) if keep == "best" else ()
        return not entry.refused, points, time, candidates.index(entry)

    chosen = max(candidates, key=worth)
    others = [entry for entry in candidates if entry is not chosen]
    if others:
        chosen.remarks.append(
            f"{len(candidates)} submissions: {chosen.source} counts, the {keep} that could be "
            f"graded; not {', '.join(entry.source for entry in others)}."
        )
    chosen.remarks += [
        f"{entry.source} was refused: {entry.refused}" for entry in others if entry.refused
    ]
    return chosen


def _folders(ids):
    """A folder name for each person: plain, and unique even where case is ignored."""
    plain = [re.sub(r"[^A-Za-z0-9_-]+", "-", id)[:40].strip("-") for id in ids]
    taken = [name.lower() for name in plain]
    return [
        name
        if name == id and taken.count(name.lower()) == 1
        else f"{name or 'person'}-{hashlib.sha256(id.encode()).hexdigest()[:8]}"
        for id, name in zip(ids, plain)
    ]
