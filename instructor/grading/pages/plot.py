"""Plots as inline SVG. Their colours come from the page's style, so that they follow light and
dark.
"""

import math
from dataclasses import dataclass

from markupsafe import Markup

from .text import percent, points

WIDTH = 420  # in units of the drawing; it grows and shrinks with the page


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its value as a fraction (None if there is none), and the value that was
    asked for, if that is known.
    """

    label: str
    value: float | None
    needed: float | None = None


def bars(title: str, entries: list[Bar]) -> Markup:
    """Horizontal bars from 0 to 100%, with a mark where something was asked for."""
    left, right, step = 132, 48, 32
    width = WIDTH - left - right
    height = step * len(entries) + 26
    parts = [
        _line(left + width * x / 4, 4, left + width * x / 4, height - 22, "grid") for x in range(5)
    ]
    parts += [
        _text(left + width * x / 4, height - 6, f"{25 * x}%", "tick middle") for x in (0, 2, 4)
    ]
    for row, bar in enumerate(entries):
        middle = step * row + 20
        parts.append(_text(left - 8, middle + 4, bar.label, "end"))
        if bar.value is None:
            parts.append(_text(left + 6, middle + 4, "no result", "tick"))
        else:
            end = width * min(1.0, max(0.0, bar.value))
            parts.append(_rect(left, middle - 8, end, 16, "bar"))
            parts.append(_text(left + width + 6, middle + 4, percent(bar.value), "value"))
        if bar.needed:
            x = left + width * min(1.0, bar.needed)
            parts.append(_line(x, middle - 13, x, middle + 13, "needed"))
    said = "; ".join(
        f"{bar.label}: "
        + ("no result" if bar.value is None else percent(bar.value))
        + (f", needed {percent(bar.needed)}" if bar.needed else "")
        for bar in entries
    )
    return _svg(title, said, height, parts)


def histogram(title: str, values: list[float], most: float) -> Markup:
    """How many of the values lie where, from 0 to `most`."""
    size = next(
        (size for size in (1, 2, 2.5, 5, 10, 20, 25, 50, 100) if most / size <= 20), most / 20
    )
    count = max(1, math.ceil(most / size))
    heights = [0] * count
    for value in values:
        heights[min(count - 1, max(0, int(value / size)))] += 1
    left, bottom, top = 34, 186, 16
    width, most_often = WIDTH - left - 8, max(1, *heights)
    parts = [_line(left, bottom, WIDTH - 8, bottom, "axis")]
    for tick in _ticks(most_often, 4):
        y = bottom - (bottom - top) * tick / most_often
        parts += [
            _line(left, y, WIDTH - 8, y, "grid"),
            _text(left - 6, y + 4, points(tick), "tick end"),
        ]
    for i, number in enumerate(heights):
        height = (bottom - top) * number / most_often
        label = f"{points(i * size)} to {points((i + 1) * size)} points: {number}"
        parts.append(
            _rect(
                left + width * i / count + 1,
                bottom - height,
                width / count - 2,
                height,
                "bar",
                label,
            )
        )
    for tick in _ticks(count * size, 6):
        parts.append(
            _text(left + width * tick / (count * size), bottom + 16, points(tick), "tick middle")
        )
    parts.append(_text(left + width / 2, bottom + 33, "points", "tick middle"))
    said = ", ".join(
        f"{points(i * size)} to {points((i + 1) * size)}: {number}"
        for i, number in enumerate(heights)
        if number
    )
    return _svg(title, f"{len(values)} values. {said}", bottom + 40, parts)


def scatter(title: str, series: dict[str, list[tuple[float, float, str]]], across: str) -> Markup:
    """Points (x, a fraction, what it is) of two series.

    What lies further right than twice the median is drawn at the edge; marks are moved sideways a
    little, so that one does not hide another.
    """
    found = sorted(x for entries in series.values() for x, _, _ in entries)
    edge = min(found[-1], 2 * max(1.0, found[len(found) // 2])) if found else 1.0
    edge = max(edge * 1.06, 1.0)
    left, bottom, top = 40, 206, 16
    width, height = WIDTH - left - 10, bottom - top
    parts = [_line(left, bottom, WIDTH - 10, bottom, "axis")]
    for tick in range(5):
        y = bottom - height * tick / 4
        parts += [
            _line(left, y, WIDTH - 10, y, "grid"),
            _text(left - 6, y + 4, f"{25 * tick}%", "tick end"),
        ]
    parts += [
        _text(left + width * tick / edge, bottom + 16, f"{tick:g}", "tick middle")
        for tick in _ticks(edge, 6)
    ]
    parts.append(_text(left + width / 2, bottom + 33, across, "tick middle"))
    for number, entries in enumerate(series.values()):
        for i, (x, y, label) in enumerate(entries):
            x = left + width * min(edge, max(0.0, x)) / edge + (6 if number else -6) + 5 * i % 9 - 4
            y = bottom - height * min(1.0, max(0.0, y))
            parts.append(_mark(number, x, y, label))
    said = "; ".join(f"{name}: {len(entries)} submissions" for name, entries in series.items())
    return _svg(title, said, bottom + 40, parts)


def key(number: int) -> Markup:
    """The mark of a series of the scatter plot, for its key."""
    return Markup('<svg class="key" viewBox="0 0 12 12" aria-hidden="true">{}</svg>').format(
        _mark(number, 6, 6, "")
    )


def _mark(number, x, y, label):
    """A circle for the first series, a diamond for the second: they differ without colour, too."""
    label = Markup("<title>{}</title>").format(label) if label else ""
    if number == 0:
        return Markup('<circle class="dot one" cx="{:.1f}" cy="{:.1f}" r="3.6">{}</circle>').format(
            x, y, label
        )
    return Markup(
        '<path class="dot two" d="M{:.1f} {:.1f}l4.4 4.4l-4.4 4.4l-4.4 -4.4z">{}</path>'
    ).format(x, y - 4.4, label)


def _ticks(most, wanted):
    """Round numbers from 0 to `most`, about as many as wanted."""
    step = most / wanted
    scale = 10 ** math.floor(math.log10(step))
    step = next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= step)
    step = max(step, 1)
    return [step * i for i in range(int(most / step) + 1)]


def _svg(title, said, height, parts):
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(WIDTH, height, f"{title}. {said}", Markup("").join(parts))


def _line(x1, y1, x2, y2, style):
    return Markup('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>').format(
        style, x1, y1, x2, y2
    )


def _rect(x, y, width, height, style, label=""):
    label = Markup("<title>{}</title>").format(label) if label else ""
    return Markup(
        '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">{}</rect>'
    ).format(style, x, y, max(0, width), height, label)


def _text(x, y, text, style):
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(style, x, y, text)
