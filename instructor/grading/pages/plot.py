"""The plots of the pages, as inline SVG."""

import math
from dataclasses import dataclass

from markupsafe import Markup

from common import charts
from common.charts import Axis, Plot, round_numbers, tag
from instructor.grading.text import percent, points

WIDTH = 420  # in units of the drawing; it grows and shrinks with the page
CELL = 42, 22  # the width and height of a number in a heat map
QUARTERS = (0, 0.25, 0.5, 0.75, 1)


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its value as a fraction (None if there is none), and the value that was
    asked for, if that is known; refused: there are predictions, which do not count.
    """

    label: str
    value: float | None
    needed: float | None = None
    refused: str = ""

    @property
    def result(self) -> str:
        """The value in words."""
        return self.refused or ("no result" if self.value is None else percent(self.value))


def bars(title: str, entries: list[Bar]) -> Markup:
    """Horizontal bars from 0 to 100%, with a mark where something was asked for."""
    left, right, step = 132, WIDTH - 48, 32
    across = Axis(QUARTERS, label=lambda share: "" if share % 0.5 else percent(share))
    plot = Plot(WIDTH, (left, 4, right, step * len(entries) + 4), across, None)
    said = []
    for row, bar in enumerate(entries):
        middle = step * row + 20
        plot.text(left - 8, middle + 4, bar.label, "label end")
        if bar.value is None:
            plot.text(left + 6, middle + 4, bar.result)
        else:
            end = plot.x(bar.value)
            plot.parts.append(
                tag("rect", kind="bar", x=left, y=middle - 8, width=end - left, height=16)
            )
            plot.text(right + 6, middle + 4, bar.result, "label value")
        if bar.needed:
            plot.path(f"M{plot.x(bar.needed):.1f} {middle - 13}v26", "needed")
        needed = f", needed {percent(bar.needed)}" if bar.needed else ""
        said.append(f"{bar.label}: {bar.result}{needed}")
    return Markup(plot.svg(f"{title}. {'; '.join(said)}"))


def numbers(title: str, cells: list[list[str]], wrong: list[list[bool]], largest: float) -> Markup:
    """Numbers as shades around zero, one color above and one below, with the wrong ones outlined.

    Args:
        cells: rows of numbers as text. wrong: which of them are wrong.
        largest: the absolute value with the deepest shade.
    """
    width, height = CELL[0] * len(cells[0]), CELL[1] * len(cells)
    shades, frames, said = [], [], []
    for i, row in enumerate(cells):
        for j, text in enumerate(row):
            x, y, value = CELL[0] * j, CELL[1] * i, float(text)
            if math.isfinite(value) and largest:
                depth = f"{0.5 * min(1.0, abs(value) / largest):.2f}"
                d = f"M{x} {y}h{CELL[0]}v{CELL[1]}h-{CELL[0]}z"
                kind = "above" if value > 0 else "below"
                shades.append(tag("path", kind=kind, fill_opacity=depth, d=d))
            shades.append(charts.label(x + CELL[0] / 2, y + 15, _short(value, largest)))
            if wrong[i][j]:
                d = f"M{x + 1.5} {y + 1.5}h{CELL[0] - 3}v{CELL[1] - 3}h-{CELL[0] - 3}z"
                frames.append(tag("path", kind="off", d=d))
                said.append(f"row {i + 1}, column {j + 1}: {text}")
    more = f" and {len(said) - 4} more" if len(said) > 4 else ""
    alt = f"{title}: {len(cells)} by {len(cells[0])} numbers. Wrong: {'; '.join(said[:4])}{more}."
    drawing = charts.svg(width, height, alt, shades + frames, "numbers")
    return Markup(drawing.replace("<svg", f'<svg style="max-width:{width}px"', 1))


def _short(value, largest):
    """A number in about six characters, with a digit place that suits the largest."""
    if not math.isfinite(value):
        return str(value)
    digits = 2 - math.floor(math.log10(largest)) if 1e-2 <= largest < 1e6 else 9
    text = f"{value:.{max(0, digits)}f}"
    return (text if len(text) <= 7 else f"{value:.0e}").replace("-", "−")


def histogram(title: str, values: list[float], most: float) -> Markup:
    """How many of the values lie where, from 0 to `most`."""
    size = next(
        (size for size in (1, 2, 2.5, 5, 10, 20, 25, 50, 100) if most / size <= 20), most / 20
    )
    count = max(1, math.ceil(most / size))
    heights = [0] * count
    for value in values:
        heights[min(count - 1, max(0, int(value / size)))] += 1
    end, most_often = count * size, max(1, *heights)
    across = Axis(round_numbers(0, end, 6, least=1), "points", points, end)
    up = Axis(round_numbers(0, most_often, 4, least=1), "", points, most_often)
    plot = Plot(WIDTH, (34, 16, WIDTH - 12, 186), across, up)
    said = []
    for i, number in enumerate(heights):
        place = f"{points(i * size)} to {points((i + 1) * size)}"
        plot.bar((i * size, (i + 1) * size), (0, number), title=f"{place} points: {number}")
        said += [f"{place}: {number}"] if number else []
    return Markup(plot.svg(f"{title}. {len(values)} values. {', '.join(said)}"))


def scatter(title: str, series: dict[str, list[tuple[float, float, str]]], across: str) -> Markup:
    """Points (x, a fraction, what it is) of two series.

    What lies further right than twice the median is drawn at the edge; marks are moved sideways a
    little, so that one does not hide another.
    """
    found = sorted(x for entries in series.values() for x, _, _ in entries)
    edge = min(found[-1], 2 * max(1.0, found[len(found) // 2])) if found else 1.0
    edge = max(edge * 1.06, 1.0)
    axis = Axis(round_numbers(0, edge, 6, least=1), across, last=edge)
    plot = Plot(WIDTH, (40, 16, WIDTH - 10, 206), axis, Axis(QUARTERS, label=percent))
    for number, entries in enumerate(series.values()):
        for i, (x, y, label) in enumerate(entries):
            aside = (6 if number else -6) + 5 * i % 9 - 4
            plot.parts.append(_mark(number, plot.x(x) + aside, plot.y(y), label))
    said = "; ".join(f"{name}: {len(entries)} submissions" for name, entries in series.items())
    return Markup(plot.svg(f"{title}. {said}"))


def key(number: int) -> Markup:
    """The mark of a series of the scatter plot, for its key."""
    return Markup(charts.key(_mark(number, 6, 6, ""), width=12))


def _mark(number, x, y, label):
    """A circle for the first series, a diamond for the second: they differ without color, too."""
    label = charts.titled(label)
    if number == 0:
        return tag("circle", label, "dot one", cx=float(x), cy=float(y), r=3.6)
    d = f"M{x:.1f} {y - 4.4:.1f}l4.4 4.4l-4.4 4.4l-4.4 -4.4z"
    return tag("path", label, "dot two", d=d)
