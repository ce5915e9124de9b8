"""Plots of the records of a training over its steps, for the pages of problem 6."""

import math
from dataclasses import dataclass

from common import pages
from common.pages import BAD, DASHES, MUTED, SECOND, figure, hue

# The section in which an alarm is drawn.
SECTION = {
    "exploding_loss": "loss",
    "slow_convergence": "loss",
    "repetition": "repetition_rate",
    "vanishing_gradients": "grad_norm",
    "dead_attention": "attention_entropy",
    "saturated_attention": "attention_entropy",
}
NAMED = 8  # lines at most whose names are all in the legend
STRETCHES = 300  # of a long line; of each, the lowest and the highest point are drawn
LARGEST = 1e30  # that is drawn as it is


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


def chart(
    run: Run,
    section: str,
    lines: dict[str, list[tuple[int, float]]],
    caption: str,
    bounds: dict[str, float] | None = None,
    *,
    log: bool = False,
    ends: tuple[float, float] | None = None,
    percent: bool = False,
) -> str:
    """Lines over steps as a figure. A value that is not finite is a cross above the plot; alarms of
    a section are dashed, with their numbers.

    Args:
        lines: (step, value) by name. bounds: what is drawn as a dotted line, by its label.
        log: a logarithmic axis, if there are values above 0. ends: of the axis, if not those of the
            lines. percent: values are shares.
    """
    with pages.plotted() as drawing:
        axes = drawing.subplots()
        for number, (name, points) in enumerate(lines.items()):
            named = len(lines) <= NAMED or number in (0, len(lines) - 1)
            style = {"color": hue(number, len(lines)), "linestyle": DASHES[number % len(DASHES)]}
            axes.plot(*drawn(points), label=name if named else "_", **style)
            bad = [step for step, value in points if not math.isfinite(value)]
            top = axes.get_xaxis_transform(), [1.04] * len(bad)
            axes.plot(bad, top[1], "x", color=BAD, transform=top[0], clip_on=False)
        for label, value in (bounds or {}).items():
            axes.axhline(value, color=MUTED, linestyle=":")
            at = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
            axes.annotate(label, (0.01, value), (0, 2), **at)
        alarms = [
            (number, step)
            for number, (name, step, _) in enumerate(run.alarms, start=1)
            if SECTION.get(name) == section
        ]
        for place, (number, step) in enumerate(alarms):
            axes.axvline(step, color=SECOND, linestyle="--", linewidth=1.2)
            at = {"transform": axes.get_xaxis_transform(), "color": SECOND, "weight": "bold"}
            axes.text(step, 0.89 - 0.12 * (place % 8), f" {number}", **at)
        axes.yaxis.set_major_formatter("{x:.0%}" if percent else "{x:g}")
        if log:
            pages.set_log_scale(axes)
        axes.set(xlabel="step", xlim=(0, max(1, run.end)), ylim=ends)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        if len(lines) > 1:
            drawing.legend(loc="outside upper left", ncols=4 if len(max(lines, key=len)) < 9 else 1)
        return figure(pages.svg(drawing, f"{section} over the steps. {caption}"), caption)


def drawn(points: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    """The steps and values of a line, with gaps where values are not finite. Of a long line, those
    that look alike.
    """
    size = math.ceil(2 * len(points) / STRETCHES)
    if size > 2:
        stretches = [points[start : start + size] for start in range(0, len(points), size)]
        kept = {end(part, key=lambda point: point[1]) for part in stretches for end in (min, max)}
        points = sorted({points[0], *kept, points[-1]})
    values = [
        max(-LARGEST, min(LARGEST, value)) if math.isfinite(value) else math.nan
        for _, value in points
    ]
    return [step for step, _ in points], values
