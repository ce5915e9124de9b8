"""Dev accuracy at laptop size without pretraining, with it, and with RoPE: a dot for each training,
the stored reference and the seeds alike, and a tick for their mean.
"""

import matplotlib.pyplot as plt
from _style import DARK, INK, MIDDLE, QUIET, WIDTH, save
from matplotlib.lines import Line2D

from instructor.documents.facts import gather, seeds

HEIGHT = 1.65
# Each row's label, predictions, and name among the seeds.
ROWS = (
    ("no pretraining", "vanilla.nopretrain.dev", "nopretrain"),
    ("pretrained,\nlearned positions", "vanilla.pretrain.dev", "vanilla"),
    ("pretrained, RoPE", "rope.pretrain.dev", "rope"),
)
CLOSE = 1  # percent: dots closer than this are above and below each other
DOT = {
    "marker": "o",
    "linestyle": "",
    "markersize": 5,
    "markerfacecolor": DARK,
    "markeredgecolor": "white",
    "markeredgewidth": 0.5,
}
MEAN = {"color": INK, "linewidth": 1.6, "solid_capstyle": "butt"}
FLOOR = {"color": MIDDLE, "linewidth": 1.6, "linestyle": (0, (1.5, 1))}
GUESS = {"color": QUIET, "linewidth": 1, "linestyle": (0, (5, 2))}


def levels(values: list[float]) -> list[int]:
    """The level of each dot, 0, 1, -1, 2, ..., so that none hides another; for sorted values."""
    last: list[float] = []  # the value that is farthest right at each level
    result = []
    for value in values:
        free = (n for n, other in enumerate(last) if value - other >= CLOSE)
        level = next(free, len(last))
        last[level : level + 1] = [value]
        result.append((level + 1) // 2 * (1 if level % 2 else -1))
    return result


def draw_row(axes, y, row, facts):
    """The dots of all trainings, their mean, and the accuracy from which on points are given."""
    _, job, name = row
    reference, floor = (
        float(facts[f"{kind} {job}"].rstrip("%")) for kind in ("reference", "floor laptop")
    )
    values = sorted([reference, *seeds()[name]])
    mean = sum(values) / len(values)
    axes.plot([mean] * 2, [y - 0.36, y + 0.36], **MEAN, zorder=2)
    axes.plot(values, [y + 0.22 * n for n in levels(values)], **DOT, zorder=3, clip_on=False)
    if floor:
        axes.plot([floor] * 2, [y - 0.36, y + 0.36], **FLOOR)


def main():
    """Draw the three rows, from top to bottom."""
    facts = gather()
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    figure.subplots_adjust(left=0.18, right=0.975, top=0.86, bottom=0.24)
    baseline = seeds()["baseline"]
    axes.axvline(sum(baseline) / len(baseline), **GUESS, zorder=1)
    for y, row in enumerate(reversed(ROWS)):
        draw_row(axes, y, row, facts)
    axes.set(
        xlim=(0, 100),
        ylim=(-0.5, 2.6),
        xlabel="right answers to the dev questions, in percent",
        yticks=range(3),
        yticklabels=[row[0] for row in reversed(ROWS)],
        xticks=range(0, 101, 10),
    )
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.5)
    shown = {
        "one training": Line2D([], [], **DOT),
        "mean": Line2D([], [], **MEAN),
        "always the most common place": Line2D([], [], **GUESS),
        "points are given from here on": Line2D([], [], **FLOOR),
    }
    axes.legend(
        shown.values(),
        shown.keys(),
        loc="lower center",
        bbox_to_anchor=(0.4, 0.98),
        ncols=4,
        handlelength=1.6,
        handletextpad=0.5,
        columnspacing=1.4,
    )
    save(figure, "accuracy")


if __name__ == "__main__":
    main()
