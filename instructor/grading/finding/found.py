"""Stores in the state who is in the class and what they handed in."""

import hashlib
import json
import os
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from autograder.report import harmless
from common.files import UserError
from instructor.grading.fingerprint import digest_submission
from instructor.grading.overrides import EXTENSION
from instructor.grading.state import Handed, State

from .commits import take_commit
from .find import Found
from .late import deadline, parse_due
from .repository import Unreadable
from .roster import Roster

UNREAD = "unread "  # prefix of the digest of a submission that could not be read
COMMITS = "commits"  # the folder for zips of commits, beside the state
GRADED = "commits by deadline"  # the setting that keeps them


class Commits:
    """Takes the commits of clones that count.

    Args:
        state: of the class. It keeps which commits were graded after a deadline.
        folder: the folder of submissions, by which zips are named.
        at: the deadline as text, which a person's extension moves; None for the last commit.
        branch: which one counts; None for the one that HEAD names.
    """

    def __init__(self, state: State, folder: Path, at: str | None, branch: str | None):
        self.at = at and parse_due(at)
        self.branch = branch
        self._state = state
        self._graded = json.loads(state.get(GRADED) or "{}")
        place = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:8]
        self._folder = state.path.parent / COMMITS / place

    def extensions(self) -> dict[str, float]:
        """The days that people have more, by id."""
        overrides = self._state.overrides()
        return {one.person: one.value for one in overrides if one.kind == EXTENSION}

    def archive(self, clone: Found) -> Path:
        """The zip of a clone's commit: the same for all of its commits."""
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", clone.label)[:100]
        unique = hashlib.sha256(clone.label.encode()).hexdigest()[:12]
        return self._folder / f"{plain}-{unique}.zip"

    def take(self, clone: Found, person: str) -> tuple[Found, str]:
        """The submission with a zip of the commit in place of the clone, and remarks.

        Raises:
            Unreadable, OSError: the clone cannot be read now.
        """
        at = self.at and deadline(self.at, self.extensions().get(person, 0))
        key = f"{at and at.isoformat()} {self.branch or ''} {person}/{clone.label}"
        found, commit, remarks = take_commit(
            clone, self.archive(clone), at, self.branch, self._graded.get(key)
        )
        if commit and at and at <= datetime.now(UTC):
            self._graded.setdefault(key, commit)
        return found, remarks

    def keep(self) -> None:
        """Keep which commit the first run after a deadline graded, for later runs."""
        self._state.put(**{GRADED: json.dumps(self._graded)})


def keep_found(
    state: State, found: list[Found], roster: Roster, only: bool, commits: Commits
) -> None:
    """Store the people and their submissions in the state.

    What only an earlier run found is kept as gone, with its people: a run on half of a class must
    not delete the other half's grades. People with marks or decisions are kept, too.

    Args:
        only: whether to forget all other people and submissions.
        commits: takes those of clones.

    Raises:
        UserError: no submission belongs to anybody in the roster.
    """
    matched = [(submission, *roster.match(submission)) for submission in found]
    if roster.people and not any(person.enrolled for _, person, _ in matched):
        labels = [submission.label for submission in found if not submission.paper]
        people = ", ".join(f"{person.name} ({person.id})" for person in roster.people[:3])
        raise UserError(
            harmless(
                f"None of the {len(labels)} submissions, such as {', '.join(labels[:3])}, belongs "
                f"to anybody in the roster, such as {people}. Nothing was graded. Give the roster "
                "of this class, or call submissions by id or full name, and clones by id or "
                "assignment-ID."
            )
        )
    people, before = {person.id: person for person in roster.people}, state.handed()
    handed = []
    for submission, person, remark in matched:
        if submission.paper and not (roster.people and person.enrolled):
            continue
        people.setdefault(person.id, person)
        handed.append(_handed(submission, person, remark, before, commits))
    sources = {one.source for one in handed}
    contents = {(one.digest, one.person) for one in handed}
    labels = {one.label for one in handed}
    gone = [
        # the label of another one may be the same, in another folder
        replace(
            one,
            gone=True,
            label=harmless(os.fsdecode(one.source)) if one.label in labels else one.label,
        )
        for one in (() if only else before)
        if one.source not in sources and (one.digest, one.person) not in contents
    ]
    known = {person.id: person for person in state.people()}
    stay = {one.person for one in gone} | (set() if only else state.decided())
    for id in stay & known.keys() - people.keys():
        people[id] = replace(known[id], enrolled=not roster.people)
    # Keep the order in which they were first found: without times, the last one is the latest.
    first = {(one.digest, one.person): n for n, one in enumerate(before)}
    everything = [*gone, *handed]
    everything.sort(key=lambda one: first.get((one.digest, one.person), len(before)))
    state.put_found(list(people.values()), everything)
    commits.keep()


def _handed(submission, person, remark, before, commits):
    """The submission as the state stores it."""
    unread = ""
    try:
        if submission.repository:
            submission = replace(submission, source=commits.archive(submission))
            submission, more = commits.take(submission, person.id)
            remark = " ".join(filter(None, (remark, more)))
        digest = "" if submission.problem else digest_submission(submission.source)
    # perhaps temporary: an earlier grade is kept, and without one there is none
    except OSError as error:
        unread = f"It cannot be read now: {error.strerror}."
    except Unreadable as error:
        unread = f"It cannot be read now: {error}"
    source = os.fsencode(submission.source.absolute())
    if unread:
        digest = UNREAD + submission.label
        for known in before:
            if known.source == source and known.person == person.id and known.digest:
                return replace(known, remark=unread, gone=False)
    return Handed(
        submission.label,
        person.id,
        source,
        digest,
        submission.submitted and submission.submitted.isoformat(),
        submission.late,
        unread or submission.problem or remark,
    )


def to_grade(state: State) -> dict[str, str]:
    """The path of each submission that can be graded, by its digest; equal ones are graded once."""
    sources = {}
    for one in state.handed():
        path = Path(os.fsdecode(one.source))
        if (
            one.digest
            and not one.digest.startswith(UNREAD)
            and (not one.gone or _is_still(path, one.digest))
        ):
            sources[one.digest] = str(path)
    return sources


def _is_still(path, digest):
    try:
        return digest_submission(path) == digest
    except OSError:
        return False
