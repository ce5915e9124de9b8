"""When it was due, and how many days late a submission is."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from common.files import UserError
from instructor.grading.finding.late import days_late, deadline, parse_due, penalty

DUE = {
    "2026-12-01 23:59 +01:00": "2026-12-01T22:59:00",
    "2026-12-01T23:59Z": "2026-12-01T23:59:00",
    "2026-12-01 +00:00": "2026-12-01T23:59:59",
    "2026-12-01 23:59 America/Los_Angeles": "2026-12-02T07:59:00",
    "2026-07-01 9:05 Europe/Zurich": "2026-07-01T07:05:00",
}
NO_DATES = [
    *("", "tomorrow", "1.12.2026", "2026-13-01 10:00", "2026-12-01 25:00"),
    *("2026-12-01 10:00 Nowhere/City", "2026-12-01 10:00 +99:00"),
    "2026-12-01 10:00 ../../etc/passwd",
]


def test_due_dates():
    for text, expected in DUE.items():
        assert parse_due(text) == datetime.fromisoformat(expected).replace(tzinfo=UTC), text
    for text in NO_DATES:
        with pytest.raises(UserError, match="Write it as '2026-12-01 23:59'"):
            parse_due(text)


@pytest.mark.parametrize("name", ["America/New_York", "/usr/share/zoneinfo/America/New_York"])
def test_a_due_date_without_a_zone_is_local_and_knows_clock_changes(monkeypatch, name):
    monkeypatch.setenv("TZ", name)
    time.tzset()
    try:
        due = parse_due("2026-10-31 20:00")
        assert due == datetime(2026, 11, 1, 0, 0, tzinfo=UTC)
        assert deadline(due, 1) == datetime(2026, 11, 2, 1, 0, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_days_late():
    due = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
    late = {-60: 0, 0: 0, 15: 0, 16: 1, 24 * 60: 1, 24 * 60 + 1: 2, 71 * 60: 3}
    for minutes, days in late.items():
        for extension in (0, 2):
            submitted = due + timedelta(days=extension, minutes=minutes)
            assert days_late(submitted, due, grace_minutes=15, extension=extension) == days
    assert days_late(None, due) == 0
    assert days_late(due, due, marked_late=True) == 0, "the time counts where it is known"
    for unknown, extension, days in ((1, 0, 1), (3, 0, 3), (0, 0, 0), (3, 1, 2), (1, 2, 0)):
        options = {"unknown_days": unknown, "extension": extension}
        assert days_late(None, None, marked_late=True, **options) == days
        assert days_late(None, None, marked_late=False, **options) == 0
    lost = [penalty(days, 0.1, free_days=2, cap=0.25) for days in range(6)]
    assert lost == [0, 0, 0, 0.1, 0.2, 0.25] and penalty(20, 0.1) == 1.0


@pytest.mark.parametrize(
    "due, submitted, days",
    [
        # Clocks in New York go back on 1 November 2026 at 06:00 UTC: the day has 25 hours.
        ("2026-10-31 20:00", "2026-11-02T01:00Z", 1),
        ("2026-10-31 20:00", "2026-11-02T01:01Z", 2),
        # They go forward on 14 March 2027 at 07:00 UTC: the day has 23 hours.
        ("2027-03-13 20:00", "2027-03-15T00:00Z", 1),
        ("2027-03-13 20:00", "2027-03-15T00:01Z", 2),
        # A time that comes twice is over when it was there the second time.
        ("2026-11-01 01:30", "2026-11-01T06:30Z", 0),
        ("2026-11-01 01:30", "2026-11-01T06:31Z", 1),
        # A time that is skipped is an hour later.
        ("2027-03-13 02:30", "2027-03-14T07:30Z", 1),
        ("2027-03-13 02:30", "2027-03-14T07:31Z", 2),
    ],
)
def test_days_late_end_at_the_same_time_of_day_when_clocks_change(due, submitted, days):
    due, submitted = parse_due(f"{due} America/New_York"), datetime.fromisoformat(submitted)
    for where in (submitted, submitted.astimezone(due.tzinfo)):
        assert days_late(where, due) == days
    assert days_late(submitted, due, extension=1) == max(0, days - 1)
