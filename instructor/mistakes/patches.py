"""Submissions that differ from the reference: wrong ones, which must lose points, and right ones,
which must not.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

from instructor.release.starter import END, SOLUTION, START, STARTER, places
from jobs.deliverables import ANSWERS, CODE, GIVEN, place_of  # instructor has put src/ on the path

# Every place that a student fills in, by function name; with its question, if a function has
# several.
PLACES = {place.function: place for place in places()}
PLACES |= {f"{place.function} {place.question}": place for place in places()}
KINDS = ("misconception", "slip", "edge")


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which occurs exactly once in `file` of the reference, by `new`. (Files are
    named without their folder.)
    """

    file: str
    old: str
    new: str

    def apply(self, files: dict[str, str]) -> None:
        """Make the replacement in {file name: text}."""
        file = place_of(self.file)
        count = files[file].count(self.old)
        if count != 1:
            raise ValueError(f"{self.old!r} occurs {count} times in {file}")
        files[file] = files[file].replace(self.old, self.new)


def edits(file: str, *pairs: tuple[str, str]) -> tuple[Edit, ...]:
    """Replacements in `file` of the reference, one for each pair (old, new)."""
    return tuple(Edit(file, old, new) for old, new in pairs)


@dataclass(frozen=True)
class Fill:
    """Write `code` between the markers of a place (a key of PLACES), indented to match them."""

    place: str
    code: str

    def apply(self, files: dict[str, str]) -> None:
        """Make the replacement in {file name: text}."""
        file, number = PLACES[self.place].file, PLACES[self.place].number
        lines = files[file].split("\n")
        start = [i for i, line in enumerate(lines) if line.strip() == START][number]
        end = [i for i, line in enumerate(lines) if line.strip() == END][number]
        indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
        code = [indent + line if line else line for line in self.code.strip("\n").split("\n")]
        files[file] = "\n".join(lines[: start + 1] + code + lines[end:])


@dataclass(frozen=True)
class Text:
    """Replace all of `file`, or remove it (None)."""

    file: str
    text: str | None

    def apply(self, files: dict[str, str]) -> None:
        """Make the replacement in {file name: text}."""
        del files[place_of(self.file)]
        if self.text is not None:
            files[place_of(self.file)] = self.text


@dataclass(frozen=True)
class Mistake:
    """A wrong submission: what is wrong in a sentence, and the checks that must each deduct points
    for it.

    kind: "misconception", a wrong idea; "slip", right ideas with a mistake in the code; "edge", an
    overlooked case, or one that the published course leaves open. Points are in proportion: see
    `proof.SHARES`.
    """

    name: str
    why: str
    changes: tuple
    caught_by: tuple[str, ...]
    kind: str


misconception, slip, edge = (functools.partial(Mistake, kind=kind) for kind in KINDS)


@dataclass(frozen=True)
class Right:
    """A right submission that differs from the reference, and how."""

    name: str
    what: str
    changes: tuple


def make(changes: tuple, folder: Path) -> Path:
    """Write the reference with changes applied, in order, into `folder`, which is created."""
    files = changed(changes)
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return folder


def changed(changes: tuple) -> dict[str, str]:
    """Return the reference's texts with changes applied, in order, by file name.

    Raises:
        ValueError: the reference has not the code that a change replaces.
    """
    files = {**_reference()}
    for change in changes:
        change.apply(files)
    return files


@functools.cache
def _reference():
    return {
        name: ((STARTER if name in GIVEN else SOLUTION) / name).read_text(encoding="utf-8")
        for name in (*CODE, *ANSWERS)
    }
