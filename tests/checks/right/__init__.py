"""Right submissions that look different from the reference; each file has a list RIGHT."""

import re

from instructor.mistakes.patches import Edit, Fill, Right


def read(text: str, place: str = "", end: str = "", **more: tuple) -> list[Right]:
    """Right submissions from a text: each begins with a line `=== name: what is different`. The
    code for a place follows a line `--- PLACE`, and what replaces some text `--- FILE: TEXT`.

    Args:
        place, end: where code belongs that directly follows the first line, and how it ends.
        more: further changes of some submissions, by name.
    """
    rights = []
    for entry in re.split("^=== ", text, flags=re.MULTILINE)[1:]:
        (title, code), *parts = (
            part.split("\n", 1) for part in re.split("^--- ", entry, flags=re.MULTILINE)
        )
        name, what = title.split(": ", 1)
        changes = [Fill(place, code + end)] if code else []
        for heading, code in parts:
            file, _, old = heading.partition(": ")
            edit = Edit(file, old, code.removesuffix("\n"))
            changes.append(edit if old else Fill(file, code))
        rights.append(Right(name, what, (*changes, *more.pop(name, ()))))
    assert not more, f"changes of no submission: {[*more]}"
    return rights
