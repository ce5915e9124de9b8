"""Stores in the state who is in the class and what they handed in."""

import hashlib
import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath

from autograder.report import harmless
from common.files import UserError
from instructor.grading.fingerprint import digest_submission
from instructor.grading.overrides import EXTENSION
from instructor.grading.state import Handed, State

from .commits import rule_of, take_commit
from .find import Found
from .history import Before
from .late import deadline, parse_due
from .places import Undecided, Unreadable
from .roster import Roster

UNREAD = "unread "  # prefix of the digest of a submission that could not be read
COMMITS = "commits"  # the folder for zips of commits, beside the state
GRADED = "graded commits"  # the setting that keeps them


class Commits:
    """Takes the commits of clones that count.

    Args:
        state: of the class. It keeps which commits were graded.
        folder: the folder of submissions, by which zips are named.
        at: the deadline as text, which a person's extension moves; None for the last commit.
        branch: which one counts; None for the one that HEAD names.
    """

    def __init__(self, state: State, folder: Path, at: str | None, branch: str | None):
        self.at = at and parse_due(at)
        self.branch = branch
        self._state = state
        self._before = json.loads(state.get(GRADED) or "{}")
        self._now = {}
        place = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:8]
        self._folder = state.path.parent / COMMITS / place

    def extensions(self) -> dict[str, float]:
        """The days that people have more, by id."""
        given = self._state.overrides()
        return {one.person: one.value for one in given if one.kind == EXTENSION}

    def archive(self, one: Found) -> Path:
        """The zip of a clone's commit: the same for all of its commits."""
        name = one.label.encode()  # two clones may have one name in folders of their own
        unique = hashlib.sha256(name).hexdigest()[:12]
        return self._folder / f"{PurePath(one.label).name[:100]}-{unique}.zip"

    def take(self, one: Found, person: str) -> tuple[Found, str]:
        """The submission with a zip of the commit in place of the clone, and what is to be said.

        Raises:
            Unreadable: the clone cannot be read now.
        """
        at = self.at and deadline(self.at, self.extensions().get(person, 0))
        key, rule = f"{person}/{one.label}", rule_of(at, self.branch)
        before = self._before.get(key, [])
        one, taken = take_commit(
            one, self.archive(one), at, self.branch, [Before(*row) for row in before]
        )
        if taken.commit:
            passed = at is None or at <= datetime.now(UTC)
            new = [taken.commit.hash, rule if passed else None]
            self._now[key] = before + [new] * (new not in before)
        return one, " ".join(taken.remarks)

    def keep(self) -> None:
        """Keep which commits were graded, for later runs: each of them, so that what one run says
        of them is said by the next one, too.
        """
        self._state.put(**{GRADED: json.dumps(self._before | self._now)})


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
    matched = [(one, *roster.match(one)) for one in found]
    if roster.people and not any(person.enrolled for _, person, _ in matched):
        labels = [one.label for one in found if not one.paper]
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
    for one, person, remark in matched:
        if one.paper and not (roster.people and person.enrolled):
            continue
        people.setdefault(person.id, person)
        handed.append(_handed(one, person, remark, before, commits))
    known = {person.id: person for person in state.people()}
    sources = {one.source for one in handed}
    contents = {(one.digest, one.person) for one in handed}
    labels = {one.label for one in handed}
    gone = []
    for one in () if only else before:
        one = replace(one, gone=True)
        if one.source not in sources and (one.digest, one.person) not in contents:
            if one.label in labels:  # in another folder
                one = replace(one, label=harmless(os.fsdecode(one.source)))
            gone.append(one)
    stay = {one.person for one in gone} | (set() if only else state.decided())
    for id in stay & known.keys() - people.keys():
        people[id] = replace(known[id], enrolled=not roster.people)
    # Keep the order in which they were first found: without times, the last one is the latest.
    first = {(one.digest, one.person): n for n, one in enumerate(before)}
    everything = [*gone, *handed]
    everything.sort(key=lambda one: first.get((one.digest, one.person), len(before)))
    state.put_found(list(people.values()), everything)
    commits.keep()


def _handed(one, person, remark, before, commits):
    """The submission as the state stores it."""
    unread = ""
    try:
        if one.repository:
            one = replace(one, source=commits.archive(one))
            one, told = commits.take(one, person.id)
            remark = " ".join(filter(None, (remark, told)))
        digest = "" if one.problem else digest_submission(one.source)
    # perhaps temporary: an earlier grade is kept, and without one there is none
    except OSError as error:
        unread = f"It cannot be read now: {error.strerror}."
    except Undecided as error:
        unread = str(error)
    except Unreadable as error:
        unread = f"It cannot be read now: {error}"
    submitted = one.submitted and one.submitted.isoformat()
    source = os.fsencode(one.source.absolute())
    if unread:
        for known in before:
            if known.source == source and known.person == person.id and known.digest:
                return replace(known, remark=unread, gone=False)
        return Handed(one.label, person.id, source, UNREAD + one.label, submitted, one.late, unread)
    return Handed(one.label, person.id, source, digest, submitted, one.late, one.problem or remark)


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
