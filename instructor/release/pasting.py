"""Finds released code that a solution shares: pasting it, with other names, must earn no points.

Files are compared by copydetect's fingerprints, in which names, blanks and comments do not count.
(leaks.py finds a solution's lines.)
"""

import contextlib
import functools
import io
from collections.abc import Collection, Iterable
from pathlib import Path

from instructor.release.starter import SOLUTION, STARTER, bodies

NOISE = 25  # characters, a name counting as one; shorter matches are chance
# a released file with this share of a piece of a solution, or this many characters, is a leak
SHARE, MUCH = 0.75, 120
TELLING = 45  # characters of a piece beyond the starter's: with fewer, a match is chance


def released(src: Path) -> list[Path]:
    """The Python files of a release that students do not write themselves."""
    own = {src / "submission", src / "checks" / "given"}
    return [path for path in sorted(src.rglob("*.py")) if not own & {*path.parents}]


def find_repeated(src: Path, given: Collection[str] = ()) -> list[str]:
    """A sentence for each piece of a solution that a released file has; those of the questions in
    `given` may be there.
    """
    files = {
        path: fingerprints(path.read_text(encoding="utf-8", errors="replace"))
        for path in released(src)
    }
    found = []
    for place, body in bodies(SOLUTION):
        mine = _own_prints(body)
        whole = _covered(mine.values())
        if whole < TELLING or place.question in given:
            continue
        for path, theirs in files.items():
            shared = _covered(where for key, where in mine.items() if key in theirs)
            if shared >= min(MUCH, SHARE * whole):
                found.append(
                    f"{path.relative_to(src.parent).as_posix()} shares {shared} of the {whole} "
                    f"distinctive characters of the solution of {place.question}, {place.function} "
                    f"in {place.file}. Rewrite or move the released code."
                )
    return found


def telling(body: str) -> int:
    """How many characters of a piece of a solution the starter lacks; a name counts as one."""
    return _covered(_own_prints(body).values())


def _own_prints(body):
    return {key: where for key, where in fingerprints(body).items() if key not in _starter_prints()}


@functools.cache
def _starter_prints():
    return frozenset().union(
        *(fingerprints(path.read_text(encoding="utf-8")) for path in sorted(STARTER.rglob("*.py")))
    )


def fingerprints(text: str) -> dict[int, list[int]]:
    """copydetect's fingerprints of a text: hash -> where in the text without names, blanks and
    comments.
    """
    from copydetect import CodeFingerprint

    with contextlib.suppress(Exception):  # a text without a fingerprint
        return dict(CodeFingerprint("piece.py", NOISE, 1, fp=io.StringIO(text)).hash_idx)
    return {}


def _covered(places: Iterable[list[int]]) -> int:
    """How many characters fingerprints at these places cover."""
    return len(
        {
            character
            for starts in places
            for start in starts
            for character in range(start, start + NOISE)
        }
    )
