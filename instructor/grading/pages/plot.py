"""The plots of the class page."""

from markupsafe import Markup

from common import pages
from common.pages import ACCENT, SECOND
from instructor.grading.text import points

MARKS = {"o": ACCENT, "D": SECOND}  # series differ without color, too


def histogram(title: str, values: list[float], most: float) -> Markup:
    """How many of the values lie where, from 0 to `most`."""
    from matplotlib.ticker import MaxNLocator

    bins = MaxNLocator(20, steps=[1, 2, 2.5, 5, 10], min_n_ticks=1).tick_values(0, max(1, most))
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
    edge = min(found[-1], 2 * max(1.0, found[len(found) // 2]))
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
