"""Plots of the records of a training over its steps, for the pages of problem 6."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from common.charts import Axis, Plot, distinct, extent, key, powers, round_numbers, tag
from jobs.web_page import figure, scroll

WIDE, NARROW = 720, 440  # units across a plot
CROSS = 9  # from one cross to the next, at least
# The section in which an alarm is drawn.
SECTION = {
    "exploding_loss": "loss",
    "slow_convergence": "loss",
    "repetition": "repetition_rate",
    "vanishing_gradients": "grad_norm",
    "dead_attention": "attention_entropy",
    "saturated_attention": "attention_entropy",
}

CSS = """
figure { max-width: none; margin: .5rem 0 1rem; }
.layers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr));
  gap: 0 2rem; }
.layers figure { max-width: 32rem; }
.bound { stroke: var(--muted); fill: none; stroke-dasharray: 2 4; }
.bad { stroke: var(--second); fill: none; stroke-width: 2; }
.alarm { stroke: var(--second); fill: none; stroke-width: 1.5; stroke-dasharray: 6 3; }
svg text.number { fill: var(--second); font-weight: 650; }
.number, .name { paint-order: stroke; stroke: var(--paper); stroke-width: 4px;
  stroke-linejoin: round; }
.keys span { white-space: nowrap; margin-right: 1rem; }
/* so that text has at least 7 pt */
@media (max-width: 40rem) { svg.wide text { font-size: 17px; }
  svg.wide, svg.narrow { min-width: 25.5rem; } }
"""


@dataclass(frozen=True)
class Run:
    """What the page shows: the header of a log, its records, with "step" and some of the keys of
    question 6f, and the alarms, (name, step, message) each.
    """

    header: dict
    records: list[dict]
    alarms: list[tuple[str, int, str]]

    @property
    def end(self) -> int:
        """The last step."""
        return self.records[-1]["step"] if self.records else 0


def series(records: list[dict], name: str, *places: int) -> list[tuple[int, float]]:
    """(step, value) of the records with a number under a name (and these places in its lists)."""
    points = []
    for record in records:
        value = record.get(name)
        for place in places:
            value = value[place] if isinstance(value, list) and place < len(value) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            points.append((record["step"], float(value)))
    return points


def finite(points: list[tuple[int, float]]) -> list[float]:
    """The values that are finite."""
    return [value for _, value in points if math.isfinite(value)]


def depth(records: list[dict], name: str) -> int:
    """The length of the longest list under a name."""
    return max((len(each[name]) for each in records if isinstance(each.get(name), list)), default=0)


def missing(name: str) -> str:
    """A sentence in place of a plot."""
    return f'<p class="muted">No record has a value for {name}.</p>'


def legend(names: list[str]) -> str:
    """Which line is which; of more than eight, the first and the last alone."""
    count = len(names)
    shown = range(count) if count <= 8 else (0, count - 1)
    lines = (tag("path", kind="line", style=distinct(i, count), d="M0 6H26") for i in shown)
    marks = (f"<span>{key(line)} {escape(names[i])}</span>" for i, line in zip(shown, lines))
    return f'<p class="small keys">{(" " if count <= 8 else "to ").join(marks)}</p>\n'


def chart(
    run: Run,
    section: str,
    lines: list[list[tuple[int, float]]],
    caption: str,
    alt: str,
    bounds: list[tuple[float, str]] = (),
    *,
    log: bool = False,
    ends: tuple[float, float] | None = None,
    width: int = WIDE,
    first: int = 0,
    up: Callable[[float], str] = "{:g}".format,
) -> str:
    """Lines over steps as a figure, numbered at their ends; alarms of a section are dashed.

    Args:
        lines: of (step, value). bounds: (value, label) of what is drawn as a dotted line.
        log: a logarithmic axis. ends: its values, if not those of the lines. width: of the viewBox.
        first: the number of the first line. up: the label of a value on the axis.
    """
    values = [value for line in lines for _, value in line] + [value for value, _ in bounds]
    ticks = (powers if log else round_numbers)(*(ends or extent(values, log)))
    last = max(1, run.end)
    # the last step has a label, and the others keep away from it
    ticks_across = [tick for tick in round_numbers(0, last) if tick <= 0.9 * last] + [last]
    steps = Axis(ticks_across, "step", "{:,.0f}".format)
    # room for crosses above, and for half a label at the right
    area = left, top, _, bottom = 68, 20, width - 28, 174
    plot = Plot(width, area, steps, Axis(ticks, label=up, log=log), corner=True)
    for value, _ in bounds:
        plot.level(value, "bound")
    for number, line in enumerate(lines):
        plot.line(line, style=distinct(number, len(lines)))
        crosses = [plot.x(step) for step, value in line if not math.isfinite(value)]
        for x in spread(crosses):
            plot.path(f"M{x - 4:.1f} {top - 14}l8 8m0 -8l-8 8", "bad")
    ended = {}
    for number, line in enumerate(lines if len(lines) > 1 else ()):
        known = [(step, value) for step, value in line if math.isfinite(value)]
        if known and known[-1][0] < 0.9 * last:  # it ends within the plot
            plot.text(
                plot.x(known[-1][0]) + 5, plot.y(known[-1][1]) + 4, str(first + number), "name"
            )
        elif known:
            ended[str(first + number)] = known[-1][1]
    plot.names(ended, 17 if width == WIDE else 12)
    drawn = [(plot.x(x), plot.y(y)) for line in lines for x, y in line if math.isfinite(y)]
    for value, label in bounds:
        plot.text(*free_place(plot, value, label, drawn), label, "name")
    chosen = [
        (number, step)
        for number, (name, step, _) in enumerate(run.alarms, start=1)
        if SECTION.get(name) == section
    ]
    for place, (number, step) in enumerate(chosen):
        plot.upright(step, "alarm")
        plot.text(plot.x(step) + 4, top + 11 + 12 * (place % 12), str(number), "number")
    svg = plot.svg(alt, "wide" if width == WIDE else "narrow")
    return figure(scroll(svg, f"Chart of {section}"), caption)


def free_place(plot: Plot, value: float, label: str, drawn: list) -> tuple[float, float]:
    """Where the label of a level hides the fewest points: at an end of it, above or below.

    Args:
        drawn: the points of the lines, in coordinates.
    """
    long, high = 9.5 * len(label), 17  # of the larger text on phones

    def hidden(place):
        left, bottom = place
        return sum(
            left - 4 <= x <= left + long and bottom - high <= y <= bottom + 4 for x, y in drawn
        )

    heights = [y for y in (plot.y(value) - 6, plot.y(value) + high) if plot.top < y < plot.bottom]
    heights = heights or [plot.y(value) - 6]
    return min(((x, y) for y in heights for x in (plot.left + 8, plot.right - long)), key=hidden)


def spread(places: list[float]) -> list[float]:
    """Of rising places, those that are not too near to the one before."""
    kept = []
    for place in places:
        if not kept or place >= kept[-1] + CROSS:
            kept.append(place)
    return kept
