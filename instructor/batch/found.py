"""From what lies in a folder to what the state knows: who there is, and what they handed in."""

import os
from dataclasses import replace
from pathlib import Path

from .find import Found
from .fingerprint import digest_submission
from .roster import Roster
from .state import Handed, State


def keep_found(state: State, found: list[Found], roster: Roster, only: bool) -> None:
    """Tell the state who there is, and what they handed in.

    What an earlier run found and this one did not is kept as gone, with its people: half of a class's submissions shall not make the
    other half's grades vanish.

    Args:
        only: whether only these people and submissions count, and others are forgotten.
    """
    people, handed = {person.id: person for person in roster.people}, []
    for one in found:
        person, remark = roster.match(one)
        if one.paper and not (roster.people and person.enrolled):
            continue
        people.setdefault(person.id, person)
        try:
            digest = "" if one.problem else digest_submission(one.source)
        except OSError as error:
            digest, remark = "", f"It cannot be read: {error.strerror}."
        label = one.label.encode("utf-8", "backslashreplace").decode()
        submitted = one.submitted and one.submitted.isoformat()
        source = os.fsencode(one.source.resolve())
        handed.append(
            Handed(label, person.id, source, digest, submitted, one.late, one.problem or remark)
        )
    labels = {one.label for one in handed}
    contents = {(one.digest, one.person) for one in handed}
    known = {person.id: person for person in state.people()}
    gone = []
    for one in state.handed():
        if not only and one.label not in labels and (one.digest, one.person) not in contents:
            gone.append(replace(one, gone=True))
            if one.person not in people:
                people[one.person] = replace(known[one.person], enrolled=not roster.people)
    state.put_found(list(people.values()), [*gone, *handed])


def to_grade(state: State) -> dict[str, str]:
    """Where the content lies of each submission that can be graded, by its digest; equal ones are graded once."""
    sources = {}
    for one in state.handed():
        path = Path(os.fsdecode(one.source))
        if one.digest and (not one.gone or _is_still(path, one.digest)):
            sources[one.digest] = str(path)
    return sources


def _is_still(path, digest):
    try:
        return digest_submission(path) == digest
    except OSError:
        return False
