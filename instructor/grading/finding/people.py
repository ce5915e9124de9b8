"""Finds a person of a class from typed text, and names them so that a command finds them again."""

import shlex

from common.files import UserError
from instructor.grading.grades import Entry, GradedClass
from instructor.grading.text import clean

from .roster import Roster


def find_entry(graded: GradedClass, text: str) -> Entry:
    """The Entry of a person: by id, folder name, address, login or number, or by full name, with
    words in any order and accents ignored.

    Raises:
        UserError: nobody or several people match; then their ids are listed.
    """
    text = clean(text)
    people = Roster(tuple(entry.person for entry in graded.entries)).look_up("any", text)
    for found in (
        [entry for entry in graded.entries if text == entry.person.id],
        [entry for entry in graded.entries if text == entry.folder],
        [entry for entry in graded.entries if entry.person in people],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(shlex.quote(name_of(entry)) for entry in found)
            raise UserError(f"{len(found)} people are called {text!r}. Give an id: {names}.")
    raise UserError(
        f"There is no {text!r} among the {len(graded.entries)} people. "
        "Look at class.html or grades-plain.csv."
    )


def name_of(entry: Entry) -> str:
    """A name for find_entry that no command takes for an option: mostly the id."""
    return entry.folder if entry.person.id.startswith("-") else entry.person.id
