"""Late days: when a submission was due, how late it is, and what that costs."""

import contextlib
import os
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from common.files import UserError

DAY = timedelta(days=1)


def parse_due(text: str) -> datetime:
    """Read a due date: "2026-12-01 23:59", followed by an offset or the name of a time zone, else
    in this machine's zone.

    A date alone means the end of that day.

    Raises:
        UserError: it is not such a time, or the zone is unknown.
    """
    try:
        day, clock, zone = re.fullmatch(
            r"\s*(\d{4}-\d\d-\d\d)(?:[T ]\s*(\d\d?:\d\d(?::\d\d)?))?\s*(\S*)\s*", text
        ).groups()
        clock = clock or "23:59:59"
        clock = f"0{clock}" if clock[1] == ":" else clock
        if zone == "Z" or zone[:1] in ("+", "-"):
            return datetime.fromisoformat(f"{day} {clock}{zone}")
        when = datetime.fromisoformat(f"{day} {clock}")
        return when.replace(tzinfo=ZoneInfo(zone)) if zone else _here(when)
    # no match, no such day or offset, no such zone
    except (AttributeError, ValueError, KeyError, OSError):
        raise UserError(
            f"{text!r} is not a due date. Write it as '2026-12-01 23:59', '2026-12-01 23:59 "
            "+01:00' or '2026-12-01 23:59 America/Los_Angeles'."
        ) from None


def _here(when):
    """A time in this machine's zone: by name, if it has one, since that knows clock changes."""
    fixed = when.astimezone()
    name = os.environ.get("TZ") or os.path.realpath("/etc/localtime")
    with contextlib.suppress(ValueError, KeyError, OSError):
        named = when.replace(tzinfo=ZoneInfo(name.rpartition("zoneinfo/")[2].removeprefix(":")))
        return named if named.utcoffset() == fixed.utcoffset() else fixed
    return fixed


def read_time(text: object) -> datetime | None:
    """Read a time of an export, such as "2026-10-03 23:11:08.12 -07:00", as UTC, the default
    without an offset. None if it is not a time.
    """
    try:
        text = re.sub(r" *(UTC|Z|[+-]\d\d:?\d\d)$", r"\1", text).replace("UTC", "Z")
        time = datetime.fromisoformat(text).replace(microsecond=0)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def deadline(due: datetime, days: float) -> datetime:
    """The same time of day as `due`, in its zone, this many days later. When clocks change, a time
    that comes twice is the second one, and one that is skipped is that much later.
    """
    later = due + days * DAY
    return max((later.replace(fold=fold) for fold in (0, 1)), key=datetime.timestamp)


def days_late(
    submitted: datetime | None,
    due: datetime | None,
    grace_minutes: float = 0,
    marked_late: bool | None = None,
    unknown_days: int = 1,
    extension: int = 0,
) -> int:
    """The days after the due date; each day begun counts. A day ends at the due date's time of day
    in its zone, also when clocks change.

    Args:
        submitted: when; None if unknown.
        due: the due date; None if there is none.
        grace_minutes: this much later counts as on time.
        marked_late: what an export says.
        unknown_days: what that counts as, before the extension, if nothing else is known.
        extension: extra days of this person.
    """
    if submitted is None or due is None:
        return max(0, unknown_days - extension) if marked_late else 0
    submitted = submitted.astimezone(UTC)
    late = submitted - deadline(due, extension)
    if late <= timedelta(minutes=grace_minutes):
        return 0
    days = max(0, late // DAY - 1)
    while submitted > deadline(due, extension + days):
        days += 1
    return days


def penalty(days: int, per_day: float, free_days: int = 0, cap: float = 1.0) -> float:
    """The fraction of the points that a delay costs: `per_day` for each day after the free
    ones, at most `cap`.
    """
    return round(min(cap, 1.0, per_day * max(0, days - free_days)), 6)
