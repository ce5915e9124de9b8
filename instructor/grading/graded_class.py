"""Builds a GradedClass from the state: which submission of a person counts, and for how much."""

import base64
import hashlib
import hmac
import json
import os
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from checks.support.session import MANIFEST, Setting
from common.files import UserError
from instructor.course import read_course
from instructor.grading.grades import Entry, GradedClass

from .finding import late
from .finding.found import UNREAD
from .fingerprint import Fingerprints
from .marks import resolve
from .overrides import EXCUSED, EXTENSION
from .state import State

KEEP = ("latest", "best")


def load_class(out: Path) -> GradedClass:
    """The class that was graded into the folder `out`.

    Raises:
        UserError: nothing was graded there, or a grading is running.
    """
    with State(out) as state:
        return class_of(state)


def load_sources(out: Path) -> dict[str, Path]:
    """The path of the submission that counts for each person, by id; only graded ones.

    Raises:
        UserError: as load_class.
    """
    with State(out) as state:
        source = {one.label: Path(os.fsdecode(one.source)) for one in state.handed()}
        return {
            entry.person.id: source[entry.source]
            for entry in class_of(state, stale=True).entries
            if entry.report
        }


def options_of(state: State) -> dict:
    """The options of the last run, as data.

    Raises:
        UserError: there was none.
    """
    if (text := state.get("options")) is None:
        folder = state.path.parent
        raise UserError(
            f"Nothing was graded in {folder}. First: python -m instructor grade SUBMISSIONS --out "
            f"{folder}"
        )
    return json.loads(text)


def setting_of(options: dict) -> Setting:
    """The Setting for these options."""
    return Setting(
        hidden=True,
        gold=Path(options["gold"]),
        data=options["data"] and Path(options["data"]),
        preset=options["preset"],
        weak=options["weak"],
        seconds=options["seconds"],
        problems=read_course().numbers,
    )


def class_of(state: State, stale: bool = False) -> GradedClass:
    """The GradedClass of a state. Results that are to be graded again are pending.

    Args:
        state: of the class.
        stale: count those results, too, as if they were not to be graded again.
    """
    options, manifest = options_of(state), read_course().manifest(MANIFEST)
    current = ()
    if not stale:
        fingerprints = Fingerprints(manifest, setting_of(options))
        current = fingerprints.wanted, fingerprints.intake
    due = late.parse_due(options["due"]) if options["due"] else None
    people, handed, overrides = state.people(), {}, {}
    for one in state.handed():
        handed.setdefault(one.person, []).append(one)
    for one in state.overrides():
        overrides.setdefault(one.person, []).append(one)
    column, handout = options["column"], options.get("handout") or ""
    graded = GradedClass(
        manifest, options["title"], [], due, column, handout, history=state.history()
    )
    for person, folder in zip(people, _folders([person.id for person in people]), strict=True):
        start = Entry(person, folder, for_staff=[] if person.enrolled else ["Not in the roster."])
        _decide(start, overrides.get(person.id, []), manifest)
        candidates = [
            _entry(state, manifest, options, due, start, one, current)
            for one in handed.get(person.id, [])
        ]
        graded.entries.append(_chosen(candidates, options["keep"]) if candidates else start)
    # Includes people who have left: a form may be older.
    graded.left = state.left()
    graded.codes = codes(
        state.get("seed") or "", [*(person.id for person in people), *sorted(graded.left)]
    )
    marks = state.marks()
    latest = {(mark.person, mark.rubric, mark.marker): mark for mark in marks}
    graded.given = {(mark.person, mark.rubric, mark.points) for mark in latest.values()}
    _mark(graded, resolve(marks))
    return graded


def codes(secret: str, ids: list[str]) -> dict[str, str]:
    """A unique code for everyone, for anonymous marking: the same in every run."""
    result, taken = {}, set()
    for id in ids:
        digest = hmac.digest(secret.encode(), f"code {id}".encode(), "sha256")
        text = base64.b32encode(digest).decode()
        length = next(length for length in range(6, 53) if text[:length] not in taken)
        taken.update(text[:n] for n in range(6, length + 1))
        result[id] = text[:length]
    return result


def _decide(entry, overrides, manifest):
    """Apply staff decisions about a person to the entry."""
    entry.excused = "EX in the Canvas gradebook." if entry.person.excused else ""
    for one in overrides:
        if one.kind == EXTENSION:
            entry.extension = int(one.value)
        elif one.kind == EXCUSED:
            entry.excused = one.reason
        elif not one.item or one.item in manifest.checks:
            entry.manual[one.item] = one.value
        about = {EXTENSION: f"You have {one.told}", EXCUSED: "You are excused"}
        told = about.get(one.kind) or f"Staff gave {one.told}{f' for {one.item}' * bool(one.item)}"
        entry.reasons.append(f"{told}: {one.reason}")


def _mark(graded, parts):
    """Add the marks of written parts to the class."""
    entries = {entry.person.id: entry for entry in graded.entries}
    for (id, rubric), part in parts.items():
        check = graded.manifest.checks.get(rubric)
        if id not in entries or check is None or check.coded:
            continue  # of someone who has left, or of a part that no longer exists
        if part.counts.points is not None:  # scaled to today's points
            scale = check.points / part.counts.most if part.counts.most else 1
            entries[id].written[rubric] = round(part.counts.points * scale, 4)
        if part.comment:
            entries[id].comments[rubric] = part.comment
        if part.pair:
            graded.marked_twice.append((rubric, *part.pair))
        for other in part.others:
            graded.conflicts.append(
                f"{rubric} of {id}: {other.marker} gives {other.points:g}, "
                f"{part.counts.marker} {part.counts.points:g}, which counts"
            )


def _entry(state, manifest, options, due, start, one, current):
    """The person's Entry if this submission counts."""
    submitted = datetime.fromisoformat(one.submitted) if one.submitted else None
    entry = replace(
        start, source=one.label, submitted=submitted, remarks=[], for_staff=[*start.for_staff]
    )
    entry.days_late = late.days_late(
        submitted, due, options["grace"], one.late, options["canvas_late_days"], start.extension
    )
    entry.penalty = late.penalty(
        entry.days_late,
        options["late_percent"] / 100,
        options["free_days"],
        options["late_cap"] / 100,
    )
    if one.late and (submitted is None or due is None):
        days = (
            f"{entry.days_late} day{'s' * (entry.days_late != 1)} late"
            if entry.days_late
            else "on time"
        )
        entry.remarks.append(f"It is marked as late, without a time: that counts as {days}.")
    coded = [check.id for check in manifest.checks.values() if check.coded]
    grading = state.grading(one.digest, *current) if one.digest else None
    if not one.digest:
        entry.refused = one.remark
    elif grading is None:
        entry.pending = coded
    elif grading[0]["refused"]:
        entry.refused = grading[0]["refused"]
    else:
        entry.report = _report(manifest, *grading)
        graded = {check["id"] for check in entry.checks if check["verdict"]}
        entry.pending = [id for id in coded if id not in graded and id not in entry.manual]
    if one.digest and one.remark:
        of_staff = one.digest.startswith(UNREAD) or not start.person.enrolled
        (entry.for_staff if of_staff else entry.remarks).append(one.remark)
    return entry


def _report(manifest, grading, outcomes):
    """A report as from autograder.report.as_dict, with today's points and titles, of the graded
    checks in the manifest.
    """
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
        "notices": grading["notices"],
        "isolation": grading["isolation"],
        "isolation_reason": grading["isolation_reason"],
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
