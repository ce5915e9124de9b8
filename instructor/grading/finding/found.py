"""Who handed in what: matches the submissions in the folders with the people of the class, and
stores both in the state.
"""

import hashlib
import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from common.files import UserError
from instructor.grading.database import State
from instructor.grading.fingerprint import digest_submission
from instructor.grading.grades import Person, Submission
from instructor.grading.settings import Settings
from instructor.grading.text import clean

from .commits import take_commit
from .find import Found, find_submissions
from .late import deadline
from .repository import Unreadable
from .roster import Roster

UNREAD = "unread "  # prefix of the digest of a submission that could not be read
COMMITS = "commits"  # the folder for zips of commits, in the class's
GRADED = "commits by deadline"  # the text that keeps which commits were graded

Matched = tuple[Found, Person, str]  # a submission, whose it is, and a remark


def match_submissions(folder: Path, settings: Settings, roster: Roster) -> list[Matched]:
    """Find the submissions of a class, and whose each is.

    Args:
        folder: of the class.

    Raises:
        UserError: there are none, or none belongs to anybody in the roster.
    """
    if not settings.submissions:
        raise UserError("settings.toml names no folder of submissions.")
    found = []
    for place in settings.submissions:
        if folder.resolve().is_relative_to(place.resolve()):
            raise UserError(
                f"The class's folder, {folder}, is inside the submissions, {place}. Use a folder "
                "elsewhere."
            )
        base = place if len(settings.submissions) == 1 else folder
        found += [
            replace(item, label=clean(os.path.relpath(item.path, base)))
            for item in find_submissions(place)
        ]
    if settings.at and not any(item.repository for item in found):
        raise UserError(
            "settings.toml: `at` chooses commits, but there are no clones among the submissions. "
            'Write at = "", and perhaps the time as `due`.'
        )
    matched = [(item, *roster.match(item)) for item in found]
    if roster.people and not any(person.enrolled for _, person, _ in matched):
        labels = [item.label for item in found if not item.paper]
        people = ", ".join(f"{person.name} ({person.id})" for person in roster.people[:3])
        raise UserError(
            f"None of the {len(labels)} submissions, such as {', '.join(labels[:3])}, belongs "
            f"to anybody in the roster, such as {people}. Nothing was graded. Give the roster "
            "of this class, or call submissions by id or full name, and clones by id or "
            "assignment-ID."
        )
    # a page or a table may be the course's own
    return [
        (item, person, remark)
        for item, person, remark in matched
        if not item.paper or roster.people and person.enrolled
    ]


def keep_found(
    state: State,
    settings: Settings,
    matched: list[Matched],
    roster: Roster,
    people: list[Person],
    extensions: dict[str, float],
    only: bool,
) -> None:
    """Store the class and its submissions; of clones, the commits that count.

    Args:
        people: everybody in the class: the roster's, and others who handed in.
        extensions: the days that people have more, by id.
        only: whether people may have lost their submission since the last run.

    Raises:
        UserError: somebody has, although they may not: perhaps the wrong folder.
    """
    before, submissions = state.submissions(), {}
    # the first run after a deadline keeps which commit counted, for remarks of later ones
    graded = json.loads(state.get(GRADED) or "{}")
    for item, person, remark in matched:
        try:
            if item.repository:
                at = settings.at and deadline(settings.at, extensions.get(person.id, 0))
                key = f"{at and at.isoformat()} {settings.branch} {person.id}/{item.label}"
                item = replace(item, source=_archive(state.path.parent, item))
                item, commit, more = take_commit(item, at, settings.branch, graded.get(key))
                remark = " ".join(filter(None, (remark, more)))
                if commit and at and at <= datetime.now(UTC):
                    graded.setdefault(key, commit)
            digest = "" if item.problem else digest_submission(item.source)
            stored = _stored(item, person, digest, item.problem or remark)
        # perhaps temporary: an earlier grade is kept, and without one there is none
        except (OSError, Unreadable) as error:
            why = f"{error.strerror}." if isinstance(error, OSError) else error
            remark = f"It cannot be read now: {why}"
            stored = _stored(item, person, UNREAD + item.label, remark)
            for known in before:
                if (known.source, known.person) == (stored.source, person.id) and known.digest:
                    stored = replace(known, remark=remark)
        # a folder may be named twice, and an export may name a person twice
        submissions[stored.source, person.id] = stored
    lost = {item.person for item in before if item.digest} - {id for _, id in submissions}
    if roster.people:  # others have left
        lost &= {person.id for person in roster.people}
    if lost and not only:
        who = f"{len(lost)} people" if len(lost) > 1 else "one person"
        raise UserError(
            f"What {who} had handed in at the last run is no longer there: "
            f"{', '.join(sorted(lost)[:5])}{' ...' * (len(lost) > 5)}. Nothing was graded. Put the "
            "files back, or add their folder to `submissions` in settings.toml. If they are "
            "gone on purpose, add --only: then what is there now counts, and nothing else."
        )
    # Keep the order in which they were first found: without times, the last one is the latest.
    first = {(item.digest, item.person): n for n, item in enumerate(before)}
    in_order = sorted(
        submissions.values(), key=lambda item: first.get((item.digest, item.person), len(before))
    )
    state.put_found(people, in_order)
    state.put(**{GRADED: json.dumps(graded)})


def _stored(item, person, digest, remark):
    """The submission as the state stores it."""
    submitted = item.submitted and item.submitted.isoformat()
    source, entry = os.fsencode(item.source.absolute()), os.fsencode(item.path.name)
    return Submission(
        item.label, person.id, source, digest, submitted, item.late, remark, entry, item.system
    )


def _archive(folder, clone):
    """The zip of a clone's commit: the same for all of its commits."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", clone.label)[:100]
    unique = hashlib.sha256(os.fsencode(clone.path.absolute())).hexdigest()[:12]
    return folder / COMMITS / f"{plain}-{unique}.zip"


def to_grade(state: State) -> dict[str, str]:
    """The path of each submission that can be graded, by its digest; equal ones are graded once."""
    return {
        item.digest: str(item.path)
        for item in state.submissions()
        if item.digest and not item.digest.startswith(UNREAD)
    }
