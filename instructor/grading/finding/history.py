"""Which commit of a history counts, and what speaks against it: that it was rewritten, or that its
times are forged.

The time of a commit is what its author's machine says. A person decides what a sentence means.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from .refs import KINDS, ROWS, Moved
from .repository import Commit, Repository

CLOCKS = 300  # seconds that the clocks of two machines may differ
ROUTINE = 3600  # seconds after the deadline that a fetch at the deadline may take to come
MOST_SIDES, MOST_BRANCHES = 3, 50  # that are looked at


@dataclass(frozen=True)
class Before:
    """What an earlier run graded of a clone: the commit, and the rule by which it counted if the
    deadline had passed then, else None.
    """

    commit: str
    rule: str | None


def choose(
    clone: Repository, history: list[Commit], log: list[Moved], at: datetime | None
) -> tuple[Commit | None, list[str]]:
    """The last commit before the deadline, and sentences on what did not count; None if there is
    none.

    If several are the last of their lines of work, which were merged later, it is the one that a
    fetch found first, or the newest.

    Args:
        history: of the branch, newest first.
        log: of the branch in the clone.
        at: the deadline; None if the last commit counts.
    """
    last, older = [], set()
    for one in history:
        on_time = at is None or one.time <= at.timestamp()
        if on_time and one.hash not in older:
            last.append(one)
        if on_time or one.hash in older:
            older.update(one.parents)
    if not last:
        return None, []
    remarks = []
    if len(last) > 1:
        last = last[:MOST_SIDES]
        states = {one: _first(clone, log, one) for one in last}
        ranks = {one: len(log) + 1 if n is None else n for one, n in states.items()}
        last.sort(key=ranks.get)
        others = ", ".join(one.hash[:12] for one in last[1:])
        why = "was fetched first" if ranks[last[0]] < ranks[last[1]] else "is the newest"
        remarks.append(
            f"Lines of work from before {said(at)} were merged after it. "
            f"{last[0].hash[:12]} counts, since it {why}; {others} did not."
        )
    if late := [one for one in history if at and one.time > at.timestamp()]:
        newest = max(late, key=lambda one: one.time)
        remarks.append(
            f"{len(late)} later commit{'s' * (len(late) != 1)}, the last of {said(newest, at)}, "
            f"{'is' if len(late) == 1 else 'are'} after {said(at)} and did not count."
        )
    return last[0], remarks


def _first(clone, log, commit):
    """How many moves of a log it took until the branch had a commit; None if that is unknown."""
    if len(log) >= ROWS:  # older ones were left out
        return None
    for n, tip in enumerate([log[0].old, *(one.new for one in log)] if log else ()):
        there = clone.contains(tip, commit.hash)
        if there or (there is None and tip.strip("0")):  # zeros: there was no branch
            return n if there else None
    return None


def rewritten(
    clone: Repository,
    history: list[Commit],
    log: list[Moved],
    at: datetime | None,
    before: list[Before],
) -> str:
    """A sentence on a history from which commits have gone; "" if none are known.

    Args:
        before: what earlier runs graded.
    """
    if forced := [one for one in log if "forced-update" in one.why]:
        one = forced[-1]
        found = f", as the fetch of {said(one, at)} found" if one.time else ""
        more = f" So it was {len(forced) - 1} times before." if len(forced) > 1 else ""
        return (
            f"Its history was rewritten: {one.old[:12]}, which had been pushed, was replaced by "
            f"{one.new[:12]}{found}.{more}"
        )
    there = {one.hash for one in history}
    gone = [one.commit for one in before if one.commit not in there and not clone.shallow]
    refs = [ref for ref in clone.refs() if ref.startswith(KINDS[1])] or clone.refs()
    tips = {clone.resolve(ref) for ref in refs[:MOST_BRANCHES]} - {None}
    for commit in gone:
        if not any(clone.contains(tip, commit) for tip in tips):  # it may be of another branch
            return (
                f"Its history was rewritten: {commit[:12]}, which an earlier run graded, is no "
                "longer in it."
            )
    return ""


def lost(
    clone: Repository, history: list[Commit], log: list[Moved], at: datetime | None
) -> Commit | None:
    """The last commit before the deadline in what a forced push replaced, if the clone still has it
    and it is newer than all of the history that are before the deadline.
    """
    newest = max((one.time for one in history if one.time <= at.timestamp()), default=0)
    forced = [one.old for one in log if "forced-update" in one.why]
    for old in dict.fromkeys(reversed(forced[-MOST_SIDES:])):
        if clone.contains(old, old):
            one, _ = choose(clone, clone.history(old), [], at)
            if one and one.time > newest:
                return one
    return None


def look_at(
    clone: Repository,
    history: list[Commit],
    log: list[Moved],
    at: datetime | None,
    chosen: Commit,
    first: Before | None,
) -> list[str]:
    """Sentences on what speaks against the times in a history.

    Args:
        history: of the branch, newest first.
        log: of the branch in the clone.
        at: the deadline.
        chosen: the commit that counts.
        first: what was graded first by the rule of now, after its deadline.
    """
    remarks = []
    if time_of(chosen) is None:
        remarks.append(f"{chosen.hash[:12]} has no valid time, so whether it is late is unknown.")
    if first and at and first.commit != chosen.hash:
        remarks.append(
            f"Another commit counts than in an earlier run with this deadline, {chosen.hash[:12]} "
            f"and not {first.commit[:12]}: it is dated before it, but that run did not find it."
        )
    late = [one for one in log if at and one.time >= at.timestamp()]
    state = _first(clone, log, chosen) if late else 0
    if lacking := [one for one in late if clone.contains(one.new, chosen.hash) is False]:
        remarks.append(
            f"{chosen.hash[:12]} is dated {said(chosen, at)}, but was not there when it was "
            f"fetched on {said(lacking[-1], at)}, after the deadline."
        )
    elif state and log[state - 1].time > at.timestamp() + ROUTINE:
        remarks.append(
            f"{chosen.hash[:12]} is dated {said(chosen, at)}, but the fetch of "
            f"{said(log[state - 1], at)}, after the deadline, was the first that found it."
        )
    times = {one.hash: one for one in history}
    back = [
        (one, times[parent])
        for one in history
        for parent in one.parents
        if parent in times and one.time < times[parent].time - CLOCKS
    ]
    if back:
        new, old = back[0]
        more = f" So are {len(back) - 1} others." if len(back) > 1 else ""
        remarks.append(
            f"{new.hash[:12]} is dated {said(new, at)}, before its parent {old.hash[:12]}, "
            f"{said(old, at)}.{more}"
        )
    known = log and log[-1].new == history[0].hash
    latest = log[-1].time if known else datetime.now(UTC).timestamp()
    if future := [one for one in history if one.time > latest + CLOCKS]:
        remarks.append(
            f"{future[0].hash[:12]} is dated {said(future[0], at)}, which was in the future when "
            "it was fetched."
        )
    if clone.shallow:
        remarks.append("The clone is shallow: its older history was not looked at.")
    return remarks


def elsewhere(
    clone: Repository, tip: str, at: datetime | None, chosen: Commit | None, names: list[str]
) -> str:
    """A sentence on a branch with newer work in time, or ""."""
    for name in names[:MOST_BRANCHES]:
        other = clone.resolve(KINDS[1] + name) or clone.resolve(KINDS[0] + name)
        newer = [
            one
            for one in (clone.history(other, tip) if other else ())
            if (chosen is None or one.time > chosen.time)
            and (at is None or one.time <= at.timestamp())
        ]
        if newer:
            count = f"{len(newer)} newer commit{'s' * (len(newer) != 1)}"
            before = f" before {said(at)}" if at else ""
            return f"The branch {name} has {count}{before}, which did not count."
    return ""


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
