"""Finding somebody of a class by what a person types, and naming them so that a command finds them
again.
"""

import shlex

from autograder.report import harmless
from common.files import UserError
from instructor.grading.grades import Entry, GradedClass

from .roster import LOOKED_UP, name_keys


def find_entry(graded: GradedClass, text: str) -> Entry:
    """The Entry of somebody: by the id, the name of their folder, an address, login or number, or
    the full name in any order of its words, without accents.

    Raises:
        UserError: it fits nobody, or several people; then their ids are listed.
    """
    wanted, keys = text.strip().casefold(), name_keys(text)
    for fits in (
        lambda entry: text == entry.person.id,
        lambda entry: text == entry.folder,
        lambda entry: (
            wanted and wanted in (getattr(entry.person, kind).casefold() for kind in LOOKED_UP)
        ),
        lambda entry: keys & name_keys(entry.person.name),
    ):
        found = [entry for entry in graded.entries if fits(entry)]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(shlex.quote(name_of(entry)) for entry in found)
            raise UserError(
                harmless(f"{len(found)} people are called {text!r}. Give an id: {names}.")
            )
    raise UserError(
        harmless(
            f"There is no {text!r} among the {len(graded.entries)} people. "
            "Look at class.html or grades-plain.csv."
        )
    )


def name_of(entry: Entry) -> str:
    """What find_entry finds somebody by, and a command line and a terminal take as it is: mostly
    the id.
    """
    plain = harmless(entry.person.id) == entry.person.id and not entry.person.id.startswith("-")
    return entry.person.id if plain else entry.folder
