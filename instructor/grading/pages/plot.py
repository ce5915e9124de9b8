"""The plots of the pages."""

import math
from dataclasses import dataclass

from markupsafe import Markup

from common import pages
from common.pages import ACCENT, SECOND
from instructor.grading.text import percent, points

MARKS = {"o": ACCENT, "D": SECOND}  # series differ without color, too


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


@dataclass(frozen=True)
class Number:
    """A cell of a table of numbers: its text, whether it is wrong, and its shade, from -50 to 50
    percent of the color of its sign.
    """

    text: str
    wrong: bool
    shade: int


def numbers(cells: list[list[str]], wrong: list[list[bool]], largest: float) -> list[list[Number]]:
    """Numbers with shades around zero; that of the absolute value `largest` is the deepest."""

    def number(text, off):
        value = float(text)
        share = max(-1.0, min(1.0, value / largest)) if largest and math.isfinite(value) else 0.0
        return Number(_short(value, largest), bool(off), round(50 * share))

    return [[*map(number, *rows)] for rows in zip(cells, wrong)]


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
    bins = [size * i for i in range(max(1, math.ceil(most / size)) + 1)]
    with pages.plotted(2.4) as drawing:
        axes = drawing.subplots()
        inside = [min(bins[-1], max(0, value)) for value in values]
        heights, _, bars = axes.hist(inside, bins, rwidth=0.9, color=ACCENT)
        found = []
        for low, high, height, bar in zip(bins, bins[1:], heights, bars):
            bar.set_gid(f"note: {points(low)} to {points(high)} points: {height:.0f}")
            found += [f"{points(low)} to {points(high)}: {height:.0f}"] if height else []
        axes.set(xlabel="points", xlim=(0, bins[-1]))
        axes.yaxis.get_major_locator().set_params(integer=True)
        return Markup(pages.svg(drawing, f"{title}. {len(values)} values. {', '.join(found)}"))


def scatter(title: str, series: dict[str, list[tuple[float, float, str]]], across: str) -> Markup:
    """Points (x, a fraction, what it is) of two series.

    What lies further right than twice the median is drawn at the edge; marks are moved sideways a
    little, so that one does not hide another.
    """
    found = sorted(x for entries in series.values() for x, _, _ in entries)
    edge = min(found[-1], 2 * max(1.0, found[len(found) // 2])) if found else 1.0
    with pages.plotted(2.6) as drawing:
        axes = drawing.subplots()
        for (mark, color), (name, entries) in zip(MARKS.items(), series.items()):
            style = {"marker": mark, "color": color, "markersize": 4, "alpha": 0.5}
            axes.plot([], [], linestyle="", label=name, **style)
            aside = 0.02 * edge * (1 if mark == "D" else -1)
            for i, (x, y, label) in enumerate(entries):
                x = min(x, edge) + aside + 0.015 * edge * (5 * i % 9 - 4) / 4
                axes.plot([x], [y], clip_on=False, gid=f"note: {label}", **style)
        axes.set(xlabel=across, xlim=(0, 1.06 * edge), ylim=(0, 1))
        axes.yaxis.set_major_formatter("{x:.0%}")
        drawing.legend(loc="outside upper left", ncols=2)
        said = "; ".join(f"{name}: {len(entries)} submissions" for name, entries in series.items())
        return Markup(pages.svg(drawing, f"{title}. {said}"))
