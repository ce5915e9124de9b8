"""What division by the square root of d_k does to the weights of one query.

One query and eight keys are drawn, and their first d_k features used: the softmax of the scores,
and of the scores divided. The dial of the HTML edition has the scores of nine sizes, from a file.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from _style import DARK, LIGHT, WIDTH, save

SIZES = [2**power for power in range(2, 11)]
SHOWN = (4, 64, 1024)
KEYS = 8
HEIGHT = 1.45


def softmax(scores):
    """The softmax of a vector."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def main():
    """Draw it, and write the scores."""
    rng = np.random.default_rng(0)
    query, keys = rng.standard_normal(max(SIZES)), rng.standard_normal((KEYS, max(SIZES)))
    scores = {size: keys[:, :size] @ query[:size] for size in SIZES}
    figure, panels = plt.subplots(
        1, len(SHOWN), figsize=(WIDTH, HEIGHT), sharey=True, layout="constrained"
    )
    places = np.arange(1, KEYS + 1)
    for axes, size in zip(panels, SHOWN):
        for side, by, color, label in (
            (-1, 1, DARK, "without division"),
            (1, size**0.5, LIGHT, r"divided by $\sqrt{d_k}$"),
        ):
            weights = softmax(scores[size] / by)
            axes.bar(places + side * 0.2, weights, width=0.4, color=color, label=label)
        axes.set(title=f"$d_k = {size}$", xticks=places, xlabel="key", ylim=(0, 1))
    panels[0].set_ylabel("weight")
    panels[0].legend(loc="upper right", fontsize=8)
    save(figure, "score_scale")
    rows = [[size, [round(float(score), 4) for score in scores[size]]] for size in SIZES]
    (Path(sys.argv[1]) / "score_scale.json").write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
