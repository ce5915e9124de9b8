"""Names from outside, of files, people and branches, cleaned where they enter."""

import unicodedata

from instructor.grading.text import line


def clean(text: str) -> str:
    """A name as one line that can be stored, compared and printed anywhere.

    Bytes that are no text become visible; control characters and those that change the writing
    direction go; accents are composed in the same way on all systems.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    return line(unicodedata.normalize("NFC", text))
