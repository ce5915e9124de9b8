"""Loss and known birthplaces in a pretraining at laptop size: facts are learned late."""

import csv

import matplotlib.pyplot as plt
from _style import DARK, MIDDLE, ROOT, SMALL, WIDTH, save

HEIGHT = 1.6
# The reference's log, of ./run.sh vanilla_pretrain --log with seed 0: step, loss, share known.
LOG = ROOT / "instructor" / "results" / "knowledge.tsv"


def main():
    """Draw both over the steps, each with its own axis and name."""
    with LOG.open(encoding="utf-8") as file:
        rows = [tuple(map(float, row)) for row in list(csv.reader(file, delimiter="\t"))[1:]]
    steps, losses, known = zip(*rows)
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    axes.plot(steps, losses, color=DARK, linewidth=1.2)
    axes.set(xlabel="step", xlim=(0, steps[-1]), ylim=(0, 4), yticks=range(5))
    axes.set_ylabel("loss (nats)", color=DARK)
    other = axes.twinx()
    other.plot(steps, [100 * share for share in known], color=MIDDLE, linewidth=1.2, linestyle="--")
    other.set(ylim=(0, 100), yticks=(0, 25, 50, 75, 100))
    other.set_ylabel("known (%)", color=MIDDLE)
    other.spines["right"].set_visible(True)
    at = next(i for i, share in enumerate(known) if share >= 0.5)
    axes.text(steps[4], losses[4] + 0.25, "loss", color=DARK, fontsize=SMALL, va="bottom")
    other.text(steps[at] - 250, 55, "birthplaces known", color=MIDDLE, fontsize=SMALL, ha="right")
    axes.set_xticks([0, 2500, 5000, 7500, steps[-1]], ["0", "2,500", "5,000", "7,500", "11,000"])
    figure.subplots_adjust(left=0.08, right=0.91, top=0.96, bottom=0.25)
    save(figure, "knowledge")


if __name__ == "__main__":
    main()
