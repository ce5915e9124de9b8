"""Stores in the state who is in the class and what they handed in."""

import os
from dataclasses import replace
from pathlib import Path

from instructor.grading.fingerprint import digest_submission
from instructor.grading.state import Handed, State

from .find import Found
from .roster import Roster

UNREAD = "unread "  # prefix of the digest of a submission that could not be read


def keep_found(state: State, found: list[Found], roster: Roster, only: bool) -> None:
    """Store the people and their submissions in the state.

    What only an earlier run found is kept as gone, with its people: a run on half of a class must
    not delete the other half's grades. People with marks or decisions are kept, too. Someone with
    another name in a new roster stays the same person.

    Args:
        only: whether to forget all other people and submissions.
    """
    people, before = {person.id: person for person in roster.people}, state.handed()
    handed = []
    for one in found:
        person, remark = roster.match(one)
        if one.paper and not (roster.people and person.enrolled):
            continue
        people.setdefault(person.id, person)
        handed.append(_handed(one, person, remark, before))
    known = {person.id: person for person in state.people()}
    renamed = {}
    for id in known.keys() - people.keys():
        if (same := roster.find(known[id])) and same.id not in known:
            renamed[id] = same.id
    state.rename(renamed)
    sources = {one.source for one in handed}
    contents = {(one.digest, one.person) for one in handed}
    labels = {one.label for one in handed}
    gone = []
    for one in () if only else before:
        one = replace(one, person=renamed.get(one.person, one.person), gone=True)
        if one.source not in sources and (one.digest, one.person) not in contents:
            if one.label in labels:  # in another folder
                path = os.fsdecode(one.source).encode("utf-8", "backslashreplace").decode()
                one = replace(one, label=path)
            gone.append(one)
    stay = {one.person for one in gone} | (set() if only else state.decided())
    for id in stay & known.keys() - people.keys():
        people[id] = replace(known[id], enrolled=not roster.people)
    # Keep the order in which they were first found: without times, the last one is the latest.
    first = {(one.digest, renamed.get(one.person, one.person)): n for n, one in enumerate(before)}
    everything = [*gone, *handed]
    everything.sort(key=lambda one: first.get((one.digest, one.person), len(before)))
    state.put_found(list(people.values()), everything)


def _handed(one, person, remark, before):
    """The submission as the state stores it."""
    label = one.label.encode("utf-8", "backslashreplace").decode()
    submitted = one.submitted and one.submitted.isoformat()
    source, problem = os.fsencode(one.source.absolute()), one.problem
    try:
        digest = "" if problem else digest_submission(one.source)
    # perhaps temporary: an earlier grade is kept, and without one there is none
    except OSError as error:
        remark = f"It cannot be read now: {error.strerror}."
        was = [known.digest for known in before if known.source == source and known.digest]
        digest = was[0] if was else UNREAD + label
    return Handed(label, person.id, source, digest, submitted, one.late, problem or remark)


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
