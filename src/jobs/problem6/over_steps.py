"""Plots of a training over its steps, and the table of its alarms, for the pages of problem 6."""

import math
from collections.abc import Iterable
from html import escape
from pathlib import Path

import numpy as np

from common import pages
from common.pages import BAD, DASHES, MUTED, SECOND, figure, hue, table

# The key of the records whose plot shows an alarm.
SECTION = {
    "exploding_loss": "loss",
    "slow_convergence": "loss",
    "repetition": "repetition_rate",
    "vanishing_gradients": "grad_norm",
    "dead_attention": "attention_entropy",
    "saturated_attention": "attention_entropy",
}
# By the key of the records: what is drawn, dotted lines by their labels, and the ends of the axis.
PLOTS = {
    "loss": ("The loss in nats.", {}, None),
    "knowledge": ("Known birthplaces.", {}, (0, 1)),
    "lr": ("The learning rate.", {}, (0, None)),
    "grad_norm": ("The norm of the gradient, by layer.", {}, None),
    "attention_entropy": (
        "0: all weight on one position; 1: evenly spread. Above the upper dotted line, a head "
        "attends nearly uniformly; below the lower one, its softmax is saturated and hardly "
        "learns.",
        {"evenly spread": 0.99, "saturated": 0.01},
        (-0.03, 1.14),
    ),
    "repetition_rate": (
        "The share of 4-grams that occurred before in the same text.",
        {"alarm": 0.5},
        (0, 1),
    ),
}
CSS = Path(__file__).with_name("page.css").read_text("utf-8")
NAMED = 8  # lines at most whose names are all in the legend
LARGEST = 1e30  # that is drawn as it is


def lines(records: list[dict], key: str) -> dict[tuple[int, ...], list[tuple[int, float]]]:
    """(step, value) of each number under a key of the records, by its place there: () for a number,
    (i,) in a list, (i, j) in a list of lists.
    """
    found = {}
    for record in records:
        values = [((), record.get(key))]
        for place, value in values:
            if isinstance(value, list):
                values += [((*place, i), item) for i, item in enumerate(value)]
            elif value is not None:
                found.setdefault(place, []).append((record["step"], value))
    return dict(sorted(found.items()))


def plot(key: str, records: list[dict], alarms: list[tuple], what: str = "", **bounds) -> str:
    """What the records have under a key as a figure, with a line for each layer; or as a figure for
    each layer, with a line for each head. Arguments as in chart; `what` and bounds beyond PLOTS.
    """
    said, dotted, ylim = PLOTS[key]
    groups = {}
    for place, points in lines(records, key).items():
        name = f"head {place[1]}" if place[1:] else f"layer {place[0] + 1}" if place else key
        groups.setdefault(place[:-1], {})[name] = points
    if not groups:
        return f'<p class="muted">No record has a value for {key}.</p>'
    given = records[-1]["step"], dotted | bounds, ylim, alarms
    if () in groups:
        return chart(key, what or said, groups[()], *given)
    drawn = [chart(key, f"Layer {i + 1}.", heads, *given) for (i,), heads in groups.items()]
    return f'<p>{said}</p>\n<div class="plots">{"".join(drawn)}</div>'


def chart(
    key: str,
    what: str,
    lines: dict[str, Iterable[tuple[int, float]]],
    end: int,
    bounds: dict[str, float],
    ylim: tuple | None = None,
    alarms: list[tuple] = (),
) -> str:
    """Lines over steps as a figure, whose caption says what they reach. A value that is not finite
    is a cross above the plot; an axis for values that are far apart is logarithmic.

    Args:
        what: a sentence, what is drawn. lines: (step, value) by name. end: the axis's last step.
        bounds: what is drawn as a dotted line, by its label.
        ylim: the ends of the axis, if not those of the lines; (0, 1) for shares.
        alarms: (name, step, ...); those of the key are dashed, with their numbers among all.
    """
    named = [*lines] if len(lines) <= NAMED else [*lines][:: len(lines) - 1]
    # in one row or one column: rows of a legend would be filled from top to bottom
    columns = len(named) if len(max(named, key=len)) < 9 else 1
    form, told, found = ".0%" if ylim == (0, 1) else ".3g", [], []
    with pages.plotted(2.1 + 0.15 * (len(named) // columns)) as drawing:
        axes = drawing.subplots()
        across = axes.get_xaxis_transform()
        for number, (name, points) in enumerate(lines.items()):
            steps, values = np.array([*points], dtype=float).T
            good = np.isfinite(values)
            drawn = np.where(good, values, np.nan).clip(-LARGEST, LARGEST)
            style = {"color": hue(number, len(lines)), "linestyle": DASHES[number % len(DASHES)]}
            marker = "o" if sum(good) == 1 else None  # a line of one point would not be seen
            axes.plot(steps, drawn, marker=marker, label=name if name in named else "_", **style)
            color = BAD if len(lines) == 1 else style["color"]
            above = {"color": color, "transform": across, "clip_on": False}
            axes.plot(steps[~good], np.full(sum(~good), 1.04), "x", **above)
            found += [*values]
            last = f"{values[-1]:{form}}"
            if not good[-1]:
                last = f"not finite after step {max(steps[good], default=0):,.0f}"
            told += [f"{name}: {last}" if len(lines) > 1 else last] * (name in named)
        for label, value in bounds.items():
            axes.axhline(value, color=MUTED, linestyle=":")
            at = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
            axes.annotate(label, (0.01, value), (0, 2), **at)
        shown = [each for each in enumerate(alarms, start=1) if SECTION.get(each[1][0]) == key]
        for place, (number, (_, step, *_)) in enumerate(shown):
            axes.axvline(step, color=SECOND, linestyle="--", linewidth=1.2)
            at = {"transform": across, "color": SECOND, "weight": "bold", "clip_on": True}
            axes.text(step, 0.89 - 0.12 * (place % 8), f" {number}", **at)
        axes.yaxis.set_major_formatter("{x:.0%}" if ylim == (0, 1) else "{x:g}")
        finite = [value for value in found if math.isfinite(value)]
        above_zero = [value for value in finite if value > 0]
        if ylim is None and above_zero and max(above_zero) / 20 > min(above_zero):
            pages.set_log_scale(axes)
        axes.set(xlabel="step", xlim=(0, max(1, end)), ylim=ylim)
        axes.locator_params("x", integer=True)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        if len(lines) > 1:
            drawing.legend(loc="outside upper left", ncols=columns)
        elif finite:
            told += [f"at first {finite[0]:{form}}", f"at most {max(finite):{form}}"]
        caption = f"{what} At the end: {', '.join(told)}"
        if lost := len(found) - len(finite):
            caption += f"; {lost:,} not finite, drawn as crosses above the plot"
        caption += "."
        return figure(pages.svg(drawing, f"{key} over the steps. {caption}"), caption)


def listed(entries: list[tuple]) -> str:
    """A table of alarms and of what belongs to them, (name, step, words, ...), with numbers."""
    head = ["No.", "Fault", "Step", "What was seen"]
    rows = [
        [str(i), escape(name), f"{step:,}", escape(words)]
        for i, (name, step, words, *_) in enumerate(entries, start=1)
    ]
    listing = table("Each is drawn as a dashed line with its number.", head, rows)
    return f'<div class="alarms">{listing}</div>'
