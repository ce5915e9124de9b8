"""Dev accuracy at laptop size without pretraining, with it, and with RoPE: the stored reference and
more seeds.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from _style import DARK, INK, LIGHT, MIDDLE, PALE, SMALL, WIDTH, save
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# noqa: E402 (the project's folder first)
from instructor.documents.facts import (
    MANIFEST,
    SEED_COLUMNS,
    measured,
    points,
    read_manifest,
    seeds,
)

HEIGHT = 2.3
# Each bar's label, predictions, column in the table of seeds, color and hatch.
ROWS = (
    ("no pretraining", "vanilla.nopretrain.dev", "nopretrain", PALE, None),
    ("pretrained,\nlearned positions", "vanilla.pretrain.dev", "vanilla", LIGHT, "////"),
    ("pretrained,\nRoPE", "rope.pretrain.dev", "rope", DARK, None),
)
DOTS = {
    "marker": "o",
    "linestyle": "",
    "markersize": 5,
    "markerfacecolor": "white",
    "markeredgecolor": INK,
}


def dev(column: str) -> list[float]:
    """The dev accuracies of a column, one per seed, in percent."""
    return [row[SEED_COLUMNS.index(column)] for row in seeds()]


def draw_row(axes, y, row, facts):
    """The bar of the reference, the dots of the seeds under it, and the floor."""
    _, job, column, color, hatch = row
    reference, floor = (
        float(facts[f"{kind} {job}"].rstrip("%")) for kind in ("reference", "floor laptop")
    )
    axes.barh(
        y + 0.16,
        reference,
        height=0.38,
        color=color,
        edgecolor=INK,
        linewidth=0.6,
        hatch=hatch,
        zorder=2,
    )
    axes.text(reference + 0.8, y + 0.16, f"{reference:.0f}%", va="center", weight="bold", zorder=4)
    values = dev(column)
    # dots of the same value are stacked
    equal = [values[:n].count(value) for n, value in enumerate(values)]
    axes.plot(values, [y - 0.2 - 0.15 * n for n in equal], **DOTS, zorder=3, clip_on=False)
    if floor:
        axes.plot(
            [floor] * 2,
            [y - 0.42, y + 0.42],
            color=MIDDLE,
            linewidth=2.2,
            zorder=5,
            solid_capstyle="butt",
        )


def main():
    """Draw the three rows, from top to bottom."""
    facts = points(read_manifest(MANIFEST)) | measured()
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    figure.subplots_adjust(left=0.175, right=0.975, top=0.88, bottom=0.18)
    baseline = sum(dev("baseline")) / len(seeds())
    axes.axvline(baseline, color=INK, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
    for y, row in enumerate(reversed(ROWS)):
        draw_row(axes, y, row, facts)
    axes.set(
        xlim=(0, 100),
        ylim=(-0.55, 2.6),
        xlabel="right answers to the dev questions, in percent",
        yticks=range(3),
        yticklabels=[row[0] for row in reversed(ROWS)],
        xticks=range(0, 101, 10),
    )
    axes.tick_params(axis="y", length=0, labelsize=8)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.5)
    axes.text(
        baseline,
        2.64,
        f"always the most common place: {baseline:.0f}%",
        ha="left",
        va="bottom",
        fontsize=SMALL,
    )
    legend(axes)
    save(figure, "accuracy")


def legend(axes):
    """Explain bars, dots and thick lines."""
    shown = {
        "one training: the reference": Patch(facecolor="white", edgecolor=INK, linewidth=0.6),
        f"{len(seeds())} more, each with another world and seed": Line2D([], [], **DOTS),
        "points are given from here on": Line2D([], [], color=MIDDLE, linewidth=2.2),
    }
    axes.legend(
        shown.values(),
        shown.keys(),
        loc="upper right",
        bbox_to_anchor=(1.02, 1.04),
        handlelength=1.4,
        labelspacing=0.35,
        frameon=True,
        framealpha=1,
        edgecolor="none",
    )


if __name__ == "__main__":
    main()
