"""Late days: when a submission was due, how late it is, and what that costs."""

import math
import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from common.files import UserError

DAY = timedelta(days=1)


def parse_due(text: str) -> datetime:
    """Read a due date: "2026-12-01 23:59", with an offset or the name of a time zone behind it, or
    else in this machine's zone.

    A date alone means the end of that day.

    Raises:
        UserError: it is no such time, or the zone is unknown.
    """
    match = re.fullmatch(
        r"\s*(\d{4}-\d\d-\d\d)(?:[T ]\s*(\d\d?:\d\d(?::\d\d)?))?\s*(Z|[+-]\d\d:?\d\d|"
        r"[A-Za-z]\S*)?\s*",
        text,
    )
    try:
        day = datetime.fromisoformat(match[1])
        clock = (
            time.fromisoformat(match[2].zfill(5) if match[2].count(":") == 1 else match[2].zfill(8))
            if match[2]
            else time(23, 59, 59)
        )
        zone = match[3] or ""
        if not zone:
            return datetime.combine(day, clock).astimezone()
        if zone == "Z" or zone[0] in "+-":
            return datetime.fromisoformat(f"{datetime.combine(day, clock).isoformat()}{zone}")
        return datetime.combine(day, clock, ZoneInfo(zone))
    # no match, no such day or offset, no such zone
    except (TypeError, ValueError, KeyError, OSError):
        raise UserError(
            f"{text!r} is no due date. Write it as '2026-12-01 23:59', '2026-12-01 23:59 +01:00' "
            "or '2026-12-01 23:59 America/Los_Angeles'."
        ) from None


def read_time(text: object) -> datetime | None:
    """A time as exports have it, such as "2026-10-03 23:11:08.12 -07:00", in UTC, which it is
    in without an offset. None if it is none.
    """
    match = re.match(
        r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)? *(Z|UTC|[+-]\d\d:?\d\d)?",
        text if isinstance(text, str) else "",
    )
    if not match:
        return None
    try:
        zone = "Z" if match[3] in (None, "UTC") else match[3]
        return datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def days_late(
    submitted: datetime | None,
    due: datetime | None,
    grace_minutes: float = 0,
    marked_late: bool | None = None,
    unknown_days: int = 1,
    extension: int = 0,
) -> int:
    """How many days after the due date, counting a day that was begun.

    Args:
        submitted: when; None if that is not known.
        due: when it was due; None for no such date.
        grace_minutes: this much later counts as in time.
        marked_late: what an export says.
        unknown_days: what that counts as, extension included, where it is all that is known.
        extension: the days that this person has more than others.
    """
    if submitted is None or due is None:
        return max(0, unknown_days - extension) if marked_late else 0
    late = submitted - (due + extension * DAY)
    return math.ceil(late / DAY) if late > timedelta(minutes=grace_minutes) else 0


def penalty(days: int, per_day: float, free_days: int = 0, cap: float = 1.0) -> float:
    """The fraction of the points that a delay costs: `per_day` for each day after the free
    ones, at most `cap`.
    """
    return round(min(cap, 1.0, per_day * max(0, days - free_days)), 6)
