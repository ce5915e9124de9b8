"""Which keys a query attends to: a local window, two global tokens, and strides; with and without
the causal mask.
"""

import matplotlib.pyplot as plt
import numpy as np
from _style import CENTER, DARK, LIGHT, MIDDLE, QUIET, SMALL, WIDTH, save
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

HEIGHT = 2.55
N, WINDOW, GLOBAL, STRIDES = 48, 3, (0, 20), (8, 16)
# A pair that several rules allow is drawn as the first of them.
LOOKS = {
    "local": (DARK, "none", f"local: {WINDOW} to each side"),
    "global": (LIGHT, DARK, f"global: tokens {GLOBAL[0]} and {GLOBAL[1]}"),
    "strided": (MIDDLE, "none", f"strided: {STRIDES[0]} or {STRIDES[1]} away"),
}


def patterns(causal: bool) -> dict[str, np.ndarray]:
    """(N, N) masks, True where row i attends to column j, for each kind; no two of them overlap."""
    i, j = np.indices((N, N))
    seen = j <= i if causal else np.full((N, N), True)
    rules = {
        "local": abs(i - j) <= WINDOW,
        # causal: no token attends to later ones, global or not
        "global": np.isin(j, GLOBAL) | (np.isin(i, GLOBAL) & (not causal)),
        "strided": np.isin(abs(i - j), STRIDES),
    }
    masks = {}
    for kind, rule in rules.items():
        masks[kind] = rule & seen
        seen = seen & ~rule
    return masks


def draw(axes, causal):
    """One matrix: queries are rows, keys are columns."""
    masks = patterns(causal)
    for kind, mask in masks.items():
        face, edge, _ = LOOKS[kind]
        inset = 0.14 if kind == "strided" else 0.04
        low, high = inset, 1 - inset
        corners = np.array([(low, low), (high, low), (high, high), (low, high)])
        cells = [corners + (j, i) for i, j in zip(*np.nonzero(mask))]
        axes.add_collection(PolyCollection(cells, facecolor=face, edgecolor=edge, linewidth=0.3))
    if causal:
        axes.fill([0, N, N], [0, 0, N], facecolor="#F1F1F1", zorder=0)
        later = "later than\nthe query"
        axes.text(0.69 * N, 0.27 * N, later, color=QUIET, fontsize=SMALL, **CENTER)
    total, of = sum(mask.sum() for mask in masks.values()), N * (N + 1) // 2 if causal else N * N
    axes.set_title(f"{'Causal' if causal else 'Bidirectional'}: {total} of {of} pairs")
    axes.set(xlim=(0, N), ylim=(N, 0), aspect="equal", xlabel="key")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(np.arange(0, N, 8) + 0.5, range(0, N, 8))
    axes.spines[:].set_visible(True)


def main():
    """Draw both."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, HEIGHT))
    figure.subplots_adjust(left=0.13, right=0.93, top=0.92, bottom=0.235, wspace=0.1)
    draw(left, causal=False)
    draw(right, causal=True)
    left.set_ylabel("query")
    shown = [
        Patch(facecolor=face, edgecolor=edge, linewidth=0.3, label=text)
        for face, edge, text in LOOKS.values()
    ]
    place = {"loc": "lower center", "bbox_to_anchor": (0.53, -0.01)}
    figure.legend(handles=shown, **place, ncols=3, fontsize=8, handlelength=1.2)
    save(figure, "sparse_pattern")


if __name__ == "__main__":
    main()
