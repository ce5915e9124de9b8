"""What speaks against the history of a clone: that it was rewritten, or that its times are forged.

The time of a commit is what its author's machine says. A person decides what a sentence means.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from .refs import Moved
from .repository import Commit, Repository

CLOCKS = 300  # seconds that the clocks of two machines may differ


@dataclass(frozen=True)
class Before:
    """What an earlier run graded of a clone: the commit, and the deadline that it had."""

    commit: str
    at: str | None


def look_at(
    clone: Repository,
    history: list[Commit],
    log: list[Moved],
    at: datetime | None,
    chosen: Commit,
    before: Before | None,
) -> list[str]:
    """Sentences on what speaks against the times in a history.

    Args:
        history: of the branch, newest first.
        log: of the branch in the clone.
        at: the deadline.
        chosen: the commit that counts.
        before: what an earlier run graded.
    """
    tip = history[0].hash
    remarks = []
    if forced := [one for one in log if "forced-update" in one.why]:
        one = forced[-1]
        found = f", as the fetch of {said(one, at)} found" if one.time else ""
        more = f" So it was {len(forced) - 1} times before." if len(forced) > 1 else ""
        remarks.append(
            f"Its history was rewritten: {one.old[:12]}, which had been pushed, was replaced by "
            f"{one.new[:12]}{found}.{more}"
        )
    if before and not remarks and not clone.contains(tip, before.commit):
        remarks.append(
            f"Its history was rewritten: {before.commit[:12]}, which an earlier run graded, is no "
            "longer in it."
        )
    deadline = at and at.isoformat()
    if before and at and before.at == deadline and before.commit != chosen.hash:
        remarks.append(
            f"Another commit counts than in an earlier run with this deadline, {chosen.hash[:12]} "
            f"and not {before.commit[:12]}: it is dated before it, but came later."
        )
    fetched = [one for one in log if at and one.time >= at.timestamp()]
    if late := [one for one in fetched if not clone.contains(one.new, chosen.hash)]:
        remarks.append(
            f"{chosen.hash[:12]} is dated {said(chosen, at)}, but was not there when it was "
            f"fetched on {said(late[-1], at)}, after the deadline."
        )
    back = [(new, old) for new, old in pairwise(history) if new.time < old.time - CLOCKS]
    if back:
        new, old = back[0]
        more = f" So are {len(back) - 1} others." if len(back) > 1 else ""
        remarks.append(
            f"{new.hash[:12]} is dated {said(new, at)}, before its parent {old.hash[:12]}, "
            f"{said(old, at)}.{more}"
        )
    latest = log[-1].time if log and log[-1].new == tip else datetime.now(UTC).timestamp()
    if future := [one for one in history if one.time > latest + CLOCKS]:
        remarks.append(
            f"{future[0].hash[:12]} is dated {said(future[0], at)}, which was in the future when "
            "it was fetched."
        )
    if clone.shallow:
        remarks.append("The clone is shallow: its older history was not looked at.")
    return remarks


def time_of(one: Commit | Moved) -> datetime | None:
    """When, in UTC; None if it is no time."""
    try:
        return datetime.fromtimestamp(one.time, UTC) if one.time > 0 else None
    except (ValueError, OverflowError, OSError):
        return None


def said(when: datetime | Commit | Moved, at: datetime | None = None) -> str:
    """A time in words, in the deadline's time zone."""
    when = when if isinstance(when, datetime) else time_of(when)
    if when is None:
        return "no valid time"
    try:
        when = when.astimezone(at.tzinfo if at else when.tzinfo)
    except OverflowError:  # the year 9999
        pass
    return f"{when:%Y-%m-%d %H:%M %z}"
