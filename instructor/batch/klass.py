"""From the state of a grading to the data of a class: which submission counts for whom, and for how much."""
import hashlib
import json
import os
import re
from datetime import datetime
from pathlib import Path

from autograder import read_manifest
from checks.support.session import MANIFEST, Setting
from instructor.grades import Class, Entry

from . import late
from .state import State

KEEP = ("latest", "best")


def load_class(out: Path) -> Class:
    """The class that was graded into the folder `out`, without the points of written parts.

    Raises:
        UserError: nothing was graded there, or a grading is under way.
    """
    with State(out) as state:
        return class_of(state)


def load_sources(out: Path) -> dict[str, Path]:
    """Where the submission lies that counts for each person, by the person's id; only those that were graded.

    Raises:
        UserError: as load_class.
    """
    with State(out) as state:
        source = {one.label: Path(os.fsdecode(one.source)) for one in state.handed()}
        return {entry.person.id: source[entry.source] for entry in class_of(state).entries if entry.report}


def options_of(state: State) -> dict:
    """The options that the last run was given, as data."""
    return json.loads(state.get("options"))


def setting_of(options: dict) -> Setting:
    """The Setting that options stand for."""
    paths = {name: Path(options[name]) if options[name] else None for name in ("hidden", "gold", "data")}
    return Setting(**paths, preset=options["preset"], weak=options["weak"], seconds=options["seconds"])


def class_of(state: State) -> Class:
    """The class that a state tells of."""
    options, manifest, people = options_of(state), read_manifest(MANIFEST), state.people()
    due = datetime.fromisoformat(options["due"]) if options["due"] else None
    handed = {}
    for one in state.handed():
        handed.setdefault(one.person, []).append(one)
    entries = []
    for person, folder in zip(people, _folders([person.id for person in people])):
        candidates = [_entry(state, manifest, options, due, person, folder, one) for one in handed.get(person.id, [])]
        entries.append(_chosen(candidates, options["keep"]) if candidates else Entry(person, folder))
    return Class(manifest, options["title"], entries, due)


def _entry(state, manifest, options, due, person, folder, one):
    """The Entry that a submission would make."""
    submitted = datetime.fromisoformat(one.submitted) if one.submitted else None
    days = late.days_late(submitted, due, options["grace"], one.late)
    fraction = late.penalty(days, options["late_percent"] / 100, options["free_days"], options["late_cap"] / 100)
    entry = Entry(person, folder, one.label, submitted, days, fraction)
    grading = state.grading(one.digest) if one.digest else None
    if not one.digest:
        entry.refused = one.remark
    elif grading is None:
        entry.refused = "It was not graded: the grading was interrupted."
        entry.remarks.append("Not graded yet: run the command again.")
    elif grading[0]["refused"]:
        entry.refused = grading[0]["refused"]
    else:
        entry.report = _report(manifest, *grading)
    if one.digest and one.remark:
        entry.remarks.append(one.remark)
    return entry


def _report(manifest, grading, outcomes):
    """As autograder.report.as_dict, with today's points and titles, of all checks of the manifest that were graded."""
    checks = []
    for check in manifest.checks.values():
        if check.coded and check.id in outcomes:
            outcome = outcomes[check.id]
            part = outcome["score"] / outcome["max_score"]
            checks.append({**outcome, "question": check.question, "title": check.title, "score": part * check.points, "max_score": check.points})
    total = sum(check.points for check in manifest.checks.values() if check.coded)
    return {"score": sum(check["score"] for check in checks), "max_score": total, "max_score_here": sum(check["max_score"] for check in checks),
            "notices": grading["notices"], "isolation": grading["isolation"], "isolation_reason": grading["isolation_reason"],
            "seconds": sum(check["seconds"] for check in checks), "checks": checks}


def _chosen(candidates, keep):
    """Of a person's submissions the one that counts: one that was graded before one that wasn't; then the latest, or the best. Without
    times, the one that was found last is the latest."""
    def worth(entry):
        time = entry.submitted.timestamp() if entry.submitted else 0.0
        # One that the grader failed on may be the best: then there is no grade yet.
        points = (bool(entry.grader_errors), entry.automatic) if keep == "best" else ()
        return entry.report is not None, points, time, candidates.index(entry)

    chosen = max(candidates, key=worth)
    others = [entry for entry in candidates if entry is not chosen]
    if others:
        chosen.remarks.append(f"{len(candidates)} submissions: {chosen.source} counts, the {keep} that could be graded; not "
                              f"{', '.join(entry.source for entry in others)}.")
    chosen.remarks += [f"{entry.source} was refused: {entry.refused}" for entry in others if entry.refused]
    return chosen


def _folders(ids):
    """A name for the folder of each person: plain, and not the same as another one on any system."""
    plain = [re.sub(r"[^A-Za-z0-9_-]+", "-", id)[:40].strip("-") for id in ids]
    taken = [name.lower() for name in plain]
    return [name if name == id and taken.count(name.lower()) == 1 else f"{name or 'person'}-{hashlib.sha256(id.encode()).hexdigest()[:8]}"
            for id, name in zip(ids, plain)]
