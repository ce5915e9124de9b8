"""Dev accuracy at laptop size against the number of phrasings, and the number of people: a mark for
each training, and a line through their means.
"""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
from _style import DARK, INK, MIDDLE, QUIET, SMALL, WIDTH, save
from matplotlib.lines import Line2D
from matplotlib.transforms import offset_copy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

# noqa: E402 (the project's folder first)
from instructor.documents.evidence import read_runs

HEIGHT = 2.1
MODELS = {
    "learned positions": {"marker": "o", "linestyle": "-"},
    "RoPE": {"marker": "s", "linestyle": (0, (4, 2))},
}
ORDERS = {
    "changed": ("order changes", DARK),
    "fixed": ("place last", MIDDLE),
    "early": ("place second", "#3C8D5A"),
}
MARK = {"markersize": 3.5, "markeredgewidth": 0.7, "markerfacecolor": "white"}
# Allen-Zhu and Li, with 100,000 people: one biography each, and five in changed order.
PUBLISHED = {1: 9.7, 5: 96.6}


def draw(axes, runs, field, model, color):
    """A model's runs over a field of theirs: a mark each, and a line through the means."""
    found = defaultdict(list)
    for run in runs:
        found[run[field]].append(100 * run[f"{model}, dev"])
    style = MODELS[model]
    shift = 1.02 if model == "RoPE" else 0.98  # so that marks don't hide each other
    for x, values in found.items():
        axes.plot([x * shift] * len(values), values, style["marker"], color=color, **MARK)
    if not found:
        return
    middles = sorted((x, mean(values)) for x, values in found.items())
    axes.plot(*zip(*middles), linestyle=style["linestyle"], color=color, linewidth=1.2, zorder=1)


def main():
    """Draw both panels; the second one needs worlds of several numbers of people."""
    runs = read_runs()
    counts = sorted({run["people"] for run in runs})
    panels = 1 + (len(counts) > 1)
    figure, all_axes = plt.subplots(
        1, panels, figsize=(WIDTH, HEIGHT), sharey=True, squeeze=False, width_ratios=(3, 2)[:panels]
    )
    phrasings = all_axes[0, 0]
    for model in MODELS:
        for order, (_, color) in ORDERS.items():
            of_it = [run for run in runs if run["order"] == order and run["people"] == 220]
            draw(phrasings, of_it, "phrasings", model, color)
    beside = offset_copy(phrasings.transData, figure, x=-8, units="points")
    phrasings.plot(*zip(*PUBLISHED.items()), "*", color=QUIET, markersize=6, transform=beside)
    for x, percent in PUBLISHED.items():
        phrasings.annotate(
            f"{percent}%", (x, percent), (-13, 0), textcoords="offset points", fontsize=SMALL,
            color=QUIET, ha="right", va="center",
        )  # fmt: skip
    phrasings.set(
        xscale="log", xlim=(0.72, 7), ylim=(0, 100), xlabel="phrasings of each person's documents"
    )
    phrasings.set_ylabel("right answers on dev (%)")
    phrasings.set_xticks([1, 2, 3, 6], ["1", "2", "3", "6"])
    for people in all_axes[0, 1:]:
        of_it = [run for run in runs if run["order"] == "changed" and run["phrasings"] == 6]
        for model in MODELS:
            draw(people, of_it, "people", model, DARK)
        people.set(xscale="log", xlim=(85, 700), xlabel="people, at equal epochs")
        people.set_xticks(counts, [str(count) for count in counts])
    for axes in all_axes[0]:
        axes.minorticks_off()
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.5)
        axes.set_axisbelow(True)
    shown = {name: Line2D([], [], color=INK, **style, **MARK) for name, style in MODELS.items()}
    shown |= {name: Line2D([], [], color=color, linewidth=3) for name, color in ORDERS.values()}
    shown["Allen-Zhu and Li"] = Line2D([], [], color=QUIET, marker="*", linestyle="", markersize=6)
    spacing = {"columnspacing": 1.1, "handlelength": 2}
    figure.legend(shown.values(), shown.keys(), loc="upper center", ncols=6, **spacing)
    figure.subplots_adjust(left=0.075, right=0.985, top=0.87, bottom=0.2, wspace=0.07)
    save(figure, "phrasings")


if __name__ == "__main__":
    main()
