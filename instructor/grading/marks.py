"""Marks of written parts: which one counts if several people marked, and where they differ."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Given:
    """What a marker gave a person for a written part; points is None for a comment alone.

    decides: it settles a conflict between markers. most: the part's maximum at that time, 0 if
    unknown.
    """

    person: str
    rubric: str
    marker: str
    points: float | None
    comment: str = ""
    decides: bool = False
    most: float = 0.0


@dataclass(frozen=True)
class Part:
    """The marks of one written part of one person.

    Attributes:
        counts: the mark that counts: the last decision, else that of the first marker.
        comment: its comment, else the last one that anyone wrote.
        others: other markers' latest points that differ from it, and that no decision has settled.
        pair: the first two markers' points, where two or more marked; else None.
    """

    counts: Given
    comment: str
    others: tuple[Given, ...]
    pair: tuple[float, float] | None


def keep_new(before: list[Given], given: list[Given]) -> list[Given]:
    """The marks that say something that the same marker has not said already.

    A mark without a comment keeps the comment of the one before it, one without points the points.
    """
    latest = {(one.person, one.rubric, one.marker): one for one in before}
    last = {(one.person, one.rubric): one for one in before if one.decides}
    new = []
    for one in given:
        old = latest.get((one.person, one.rubric, one.marker))
        if old:
            points = old.points if one.points is None else one.points
            one = replace(one, points=points, comment=one.comment or old.comment)
        settled = last.get((one.person, one.rubric))
        same = (settled if one.decides else old) or Given("", "", "", None)
        if (one.points, one.comment) != (same.points, same.comment):
            new.append(one)
    return new


def resolve(marks: Iterable[Given]) -> dict[tuple[str, str], Part]:
    """The marks that count, by (person, rubric).

    Args:
        marks: all that were given, the oldest first.
    """
    by_part = defaultdict(list)
    for one in marks:
        by_part[one.person, one.rubric].append(one)
    return {part: _part(given) for part, given in by_part.items()}


def _part(given):
    pointed = [one for one in given if one.points is not None]
    latest = {one.marker: one for one in pointed}  # in the order of markers' first points
    comment = next((one.comment for one in reversed(given) if one.comment), "")
    if not pointed:
        return Part(given[-1], comment, (), None)
    own = list(latest.values())
    decided = max((n for n, one in enumerate(pointed) if one.decides), default=None)
    counts = own[0] if decided is None else pointed[decided]
    later = pointed if decided is None else pointed[decided + 1 :]
    others = tuple(one for one in own if one in later and one.points != counts.points)
    pair = (own[0].points, own[1].points) if len(own) > 1 else None
    return Part(counts, counts.comment or comment, others, pair)
