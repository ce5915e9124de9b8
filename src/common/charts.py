"""Charts as inline SVG, with their colors as CSS variables, so that they follow light, dark and
print.

Coordinates are in units of the viewBox. `kind` is a class of CSS. Text is escaped here.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

COLORS = """:root { color-scheme: light dark; --paper: #ffffff; --panel: #f5f6f7; --ink: #1c2227;
  --muted: #56616b; --rule: #d8dde1; --accent: #1d5c87; --second: #a2541a; --good: #17684a;
  --bad: #a33327; --warn: #765300; --light: 52%; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #14181b; --panel: #1c2226;
  --ink: #e3e7ea; --muted: #9ba7b0; --rule: #343c42; --accent: #7fb7dd; --second: #e2a063;
  --good: #73c69f; --bad: #f09a8e; --warn: #dab762; --light: 76%; } }
@media print { :root { --ink: #000000; --muted: #444444; --rule: #bbbbbb; } }
"""
SHAPES = """
svg { display: block; width: 100%; height: auto; font-size: 11px; }
svg text { fill: var(--muted); } svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--rule); } svg .axis { stroke: var(--muted); fill: none; }
svg .line { fill: none; stroke: var(--accent); stroke-width: 1.6; stroke-linejoin: round; }
svg .line.second { stroke: var(--second); stroke-dasharray: 5 3; }
svg .bar { fill: var(--accent); } svg .bar.second { fill: var(--second); }
.map path { fill: var(--accent); }
.map .frame { fill: var(--panel); stroke: var(--rule); stroke-width: .5; }
svg.key { display: inline-block; width: auto; height: .75rem; vertical-align: -.05rem; }
"""
CSS = COLORS + SHAPES
LARGEST, SMALLEST = 1e300, 1e-300  # that an axis shows
# Of lines: whole, then dashes that differ also where a line is short.
DASHES = ("none", "8 3", "2 2", "8 3 2 3", "4 3", "14 3", "1.5 4", "6 2 2 2 2 2")
POINTS = 300  # of a line: of more, the lowest and the highest of each stretch are drawn


@dataclass(frozen=True)
class Axis:
    """The values along one side of a plot: from the first tick to `last`, or else the last tick."""

    ticks: Sequence[float]
    title: str = ""
    label: Callable[[float], str] = "{:g}".format
    last: float | None = None
    log: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The first value and the last."""
        return self.ticks[0], self.ticks[-1] if self.last is None else self.last

    def share(self, value: float) -> float:
        """How far along the axis a value is, from 0 to 1; values beyond an end are at that end."""
        scale = math.log10 if self.log else float
        low, high = map(scale, self.ends)
        return (scale(min(self.ends[1], max(self.ends[0], value))) - low) / (high - low or 1)


class Plot:
    """A plot with its axes, to which lines and bars are added by their values.

    Args:
        width: of the viewBox. area: left, top, right and bottom of where values are drawn.
        across, up: the axes at the bottom and at the left. Without `up`, grid lines are vertical.
        corner: draw the line of the left axis too.
    """

    def __init__(self, width: int, area: tuple, across: Axis, up: Axis | None, corner=False):
        self.width, (self.left, self.top, self.right, self.bottom) = width, area
        self.across, self.up, self.parts = across, up, []
        for tick in up.ticks if up else ():
            if tick <= up.ends[1]:
                self.level(tick, "grid")
                self.text(self.left - 6, self.y(tick) + 4, up.label(tick), "end")
        for tick in across.ticks:
            if tick <= across.ends[1]:
                if not up:
                    self.upright(tick, "grid")
                self.text(self.x(tick), self.bottom + 16, across.label(tick), "middle")
        if up:
            start = f"{self.top}V" if corner else ""
            self.path(f"M{self.left} {start}{self.bottom}H{self.right}", "axis")
            self.text(11, (self.top + self.bottom) / 2, up.title, "middle", turned=True)
        self.text((self.left + self.right) / 2, self.bottom + 30, across.title, "middle")

    def x(self, value: float) -> float:
        """The coordinate of a value on the axis at the bottom."""
        return self.left + (self.right - self.left) * self.across.share(value)

    def y(self, value: float) -> float:
        """The coordinate of a value on the axis at the left."""
        return self.bottom - (self.bottom - self.top) * self.up.share(value)

    def path(self, d: str, kind: str, style="") -> None:
        """Lines by SVG's commands."""
        self.parts.append(tag("path", kind=kind, style=style, d=d))

    def line(self, points: Iterable[tuple[float, float]], kind="line", style="") -> None:
        """A line through the points whose y is finite."""
        finite = thin([point for point in points if math.isfinite(point[1])])
        if finite:
            places = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in finite)
            self.path(f"M{places}", kind, style)

    def bar(self, across: tuple, up: tuple, kind="bar", title="") -> None:
        """A bar from value to value in both directions, with gaps between neighbors. The title
        appears when the mouse is on it.
        """
        (left, right), (bottom, top) = map(self.x, across), map(self.y, up)
        if top < bottom:
            box = {"x": left + 1, "y": top, "width": right - left - 2, "height": bottom - top}
            self.parts.append(tag("rect", titled(title), kind=kind, **box))

    def level(self, value: float, kind: str) -> None:
        """A horizontal line across the plot."""
        self.path(f"M{self.left} {self.y(value):.1f}H{self.right}", kind)

    def upright(self, value: float, kind: str, above: float = 0) -> None:
        """A vertical line across the plot, extended by `above` units beyond its top."""
        self.path(f"M{self.x(value):.1f} {self.top - above}V{self.bottom}", kind)

    def text(self, x: float, y: float, content: str, kind="", turned=False) -> None:
        """Text at coordinates; turned: read from the bottom up."""
        self.parts.append(label(x, y, content, kind, turned))

    def names(self, ends: dict[str, float], apart: float, kind="") -> None:
        """Names of lines at the right, as near as they fit to the values at which the lines end.

        Args:
            ends: values by name. apart: the least distance of two names.
        """
        order = sorted(ends, key=ends.get, reverse=True)
        wanted = [self.y(ends[name]) + 4 for name in order]
        down, up = [], []  # placed from the highest on, and from the lowest on
        for y in wanted:
            down.append(max(y, down[-1] + apart) if down else y)
        for y in reversed(wanted):
            up.append(min(y, up[-1] - apart) if up else y)
        places = [(low + high) / 2 for low, high in zip(down, reversed(up))]
        # not beyond the plot
        move = max(0, 10 - min(places)) - max(0, max(places) - self.bottom - 4) if places else 0
        for name, y in zip(order, places):
            self.text(self.right + 5, y + move, name, kind)

    def svg(self, alt: str, kind="plot") -> str:
        """The plot as SVG; alt: what screen readers say."""
        height = self.bottom + (36 if self.across.title else 22)
        return svg(self.width, height, alt, self.parts, kind)


def svg(width: float, height: float, alt: str, parts: Iterable[str], kind: str) -> str:
    """A drawing of these parts; alt: what screen readers say."""
    box = f"0 0 {width} {height}"
    return tag("svg", "".join(parts), kind=kind, viewBox=box, role="img", aria_label=alt)


def key(mark: str, width: int = 26) -> str:
    """A sample of a line or a mark for a legend, 12 high."""
    return tag("svg", mark, kind="key", viewBox=f"0 0 {width} 12", aria_hidden="true")


def label(x: float, y: float, content: str, kind="", turned=False) -> str:
    """Text at coordinates; turned: read from the bottom up."""
    place = {"transform": f"translate({x:.1f} {y:.1f}) rotate(-90)"} if turned else {"x": x, "y": y}
    return tag("text", escape(content), kind=kind, **place) if content else ""


def titled(title: str) -> str:
    """The title of an element, if there is one."""
    return title and tag("title", escape(title))


def tag(name: str, content: str = "", kind: str = "", **attributes) -> str:
    """An element of SVG, whose content is SVG. Attributes are escaped; empty ones are left out."""
    result = name
    for field, value in {"class": kind, **attributes}.items():
        value = f"{value:.1f}" if isinstance(value, float) else str(value)
        result += f' {field.replace("_", "-")}="{escape(value)}"' if value else ""
    return f"<{result}>{content}</{name}>" if content else f"<{result}/>"


def heat_map(rows: list[list[float]], labels: list[tuple[str, str]], alt: str) -> str:
    """A square of shares as shades, with the labels, (text, class), at the left and at the top; a
    map that is too small to read them takes none. Cells of the same shade (of 25) share a path.
    """
    labels = [(text if len(text) <= 13 else f"{text[:12]}…", kind) for text, kind in labels]
    margin = 12 + min(80, 6.2 * max(len(text) for text, _ in labels)) if labels else 2
    side = 360 - margin
    cell = side / len(rows)
    shades = {}
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value == value and (number := min(25, round(25 * value))):
                shades.setdefault(number, []).append(f"M{j} {i}h1v1h-1z")
    cells = "".join(shade(number, "".join(found)) for number, found in sorted(shades.items()))
    size = min(11.0, cell)
    names = []
    for i, (text, kind) in enumerate(labels):
        at, near = margin + (i + 0.5) * cell + size / 3, margin - 4
        names += [label(near, at, text, f"{kind} end"), label(at, near, text, kind, turned=True)]
    parts = [
        tag("rect", kind="frame", x=margin, y=margin, width=side, height=side),
        tag("g", cells, transform=f"translate({margin:.1f} {margin:.1f}) scale({cell:.3f})"),
    ]
    if names:
        parts.append(tag("g", "".join(names), style=f"font-size: {size:.1f}px"))
    return svg(362, 362, alt, parts, "map")


def heat_scale(alt: str) -> str:
    """The shades of a heat map, from 0 to 1."""
    frame = tag("rect", kind="frame", x=30, y=2, width=156, height=12)
    boxes = [shade(i, f"M{30 + 6 * i} 2h6v12h-6z") for i in range(26)]
    ends = label(24, 12, "0", "end") + label(192, 12, "1")
    return svg(216, 16, alt, [frame, *boxes, ends], "map scale")


def shade(number: int, d: str) -> str:
    """A path in one of 25 shades."""
    return tag("path", fill_opacity=f"{number / 25:g}", d=d)


def distinct(number: int, count: int) -> str:
    """A style for one of several lines: colors from blue through green to red, every other one
    lighter, and dashes that eight lines do not share.
    """
    if count < 2:
        return ""
    hue, lighter = 260 - 235 * number // (count - 1), 10 * (number % 2)
    color = f"oklch(calc(var(--light) + {lighter}%) .14 {hue})"
    return f"stroke: {color}; stroke-dasharray: {DASHES[number % len(DASHES)]}"


def extent(values: Iterable[float], log: bool = False) -> tuple[float, float]:
    """The lowest and the highest of the finite values that an axis can show."""
    shown = [value for value in values if math.isfinite(value) and (value >= SMALLEST or not log)]
    shown = [max(-LARGEST, min(LARGEST, value)) for value in shown or [1.0]]
    return min(shown), max(shown)


def powers(low: float, high: float) -> list[float]:
    """At least two powers of ten, from at most `low` to at least `high`, evenly apart."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high) - 1e-9)
    apart = max(1, math.ceil((last - first) / 5))
    return [10.0**power for power in range(first, max(last, first + 1) + apart, apart)]


def round_numbers(low: float, high: float, wanted: int = 5, least: float = 0) -> list[float]:
    """At least two round numbers, from at most `low` to at least `high`, at least `least` apart;
    about as many as wanted.
    """
    span = high - low or abs(high) or 1.0
    apart = 10 ** math.floor(math.log10(span / wanted))
    apart *= next((each for each in (1, 2, 5) if each * apart >= span / wanted), 10)
    apart = max(apart, least)
    first = math.floor(low / apart + 1e-9)
    return [apart * i for i in range(first, max(first + 1, math.ceil(high / apart - 1e-9)) + 1)]


def thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Fewer points that look alike: the lowest and the highest of each stretch."""
    if len(points) <= POINTS:
        return points
    size = math.ceil(2 * len(points) / POINTS)
    kept = []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        kept += [min(stretch, key=lambda point: point[1]), max(stretch, key=lambda point: point[1])]
    return sorted({points[0], *kept, points[-1]})
