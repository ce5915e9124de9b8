"""Values as text, and untrusted text made safe to show in a line."""

import re
import unicodedata
from datetime import datetime

# Control characters and those that change the writing direction; ZWJ and ZWNJ stay: some scripts
# need them.
UNSEEN = (
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u2069\ufeff]"
)


def line(text: str) -> str:
    """A name or a remark in one line, without control characters, that can be written as UTF-8."""
    return " ".join(re.sub(UNSEEN, "", text).split()).encode("utf-8", "replace").decode("utf-8")


def clean(text: str) -> str:
    """A name of a file, a person or a branch, cleaned where it enters: one line that can be stored,
    compared and printed anywhere.

    Bytes that are no text become visible, and accents are composed in the same way on all systems.
    """
    text = text.encode("utf-8", "backslashreplace").decode()
    return line(unicodedata.normalize("NFC", text))


def points(value: float | None) -> str:
    """Points as text: 2, 2.5, 0.33; a dash for None."""
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def percent(fraction: float) -> str:
    """A fraction in percent: 49%, 0.4%."""
    return f"{100 * fraction:.1f}".removesuffix(".0") + "%"


def moment(time: datetime | None) -> str:
    """A time to the minute, with the name of its zone, else with its offset; "" for None."""
    return f"{time:%Y-%m-%d %H:%M} {zone_of(time) or time.tzname()}" if time else ""


def zone_of(time: datetime) -> str:
    """The name of a time's zone, such as "America/New_York", which knows when clocks change; "" if
    only an offset is known.
    """
    return getattr(time.tzinfo, "key", "")
