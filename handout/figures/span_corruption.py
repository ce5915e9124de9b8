"""Span corruption, step by step, on one document: truncate, split, rearrange with MASK and PAD, and
shift by one for x and y.
"""

import _style
import matplotlib.pyplot as plt
from _style import CENTER, DARK, INK, LIGHT, MASK, PAD, PALE, QUIET, SIGNS, SMALL, WIDTH
from matplotlib.patches import Rectangle

HEIGHT = 2.25
DOCUMENT = "Mirel Tavosh was born in Lisbon and became a baker."
BLOCK_SIZE = 48
LENGTH = 35  # after truncation: a random number from 4 to int(BLOCK_SIZE * 3/4) = 36
START, END = 25, 31  # of the masked content
LABELS = 11  # columns for the labels on the left
ROW = 3.2  # from one row to the next, in cells
CODE = {"family": "monospace", "fontsize": SMALL}

# Cell and letter of each kind; the suffix is hatched as well, so that all five differ without
# color.
LOOKS = {
    "prefix": (LIGHT, INK, None),
    "masked": (DARK, "white", None),
    "suffix": (PALE, INK, "////"),
    "plain": ("white", INK, None),
    "MASK": ("white", INK, None),
    "PAD": ("white", QUIET, None),
    "cut": ("white", QUIET, None),
}


def parts():
    """Lists of (character, kind) for the rows: document, truncated, split, rearranged."""

    def cells(start, end, kind):
        return [(ch, kind) for ch in DOCUMENT[start:end]]

    prefix, masked = cells(0, START, "prefix"), cells(START, END, "masked")
    suffix, mask = cells(END, LENGTH, "suffix"), [(MASK, "MASK")]
    rearranged = prefix + mask + suffix + mask + masked + mask
    rearranged += [(PAD, "PAD")] * (BLOCK_SIZE + 1 - len(rearranged))
    truncated = cells(0, LENGTH, "plain") + cells(LENGTH, None, "cut")
    return cells(0, None, "plain"), truncated, prefix + masked + suffix, rearranged


def draw_row(axes, y, cells, start=0):
    """A row of cells, from column start on."""
    for column, (ch, kind) in enumerate(cells, start):
        face, letter, hatch = LOOKS[kind]
        edge = {"cut": "none", "PAD": "#C8C8C8", "MASK": INK}.get(kind, "#9A9A9A")
        line = {"linewidth": 0.9, "zorder": 2} if kind == "MASK" else {"linewidth": 0.4}
        axes.add_patch(Rectangle((column, y), 1, 1.7, facecolor=face, edgecolor=edge, **line))
        if hatch:
            look = {"fill": False, "edgecolor": "#B4C3D3", "linewidth": 0, "hatch": hatch}
            axes.add_patch(Rectangle((column, y), 1, 1.7, **look))
        look = {"color": letter, "weight": "bold" if kind in ("MASK", "PAD") else "normal"}
        look |= CODE | {"fontsize": 7.5}
        axes.text(column + 0.5, y + 0.8, SIGNS.get(ch, ch), zorder=3, **CENTER, **look)
        if kind == "cut":
            axes.plot([column, column + 1], [y + 0.8] * 2, color=QUIET, linewidth=0.5, zorder=4)


def label(axes, y, title, text=""):
    """A row's label, on its left."""
    axes.text(-LABELS, y + (1.35 if text else 0.8), title, va="center")
    axes.text(-LABELS, y + 0.1, text, va="center", fontsize=SMALL, color=QUIET)


def name_parts(axes, y):
    """The names of the three parts, over brackets."""
    for start, end, name in (
        (0, START, "prefix"),
        (START, END, "masked_content"),
        (END, LENGTH, "suffix"),
    ):
        left, right, low, high = start + 0.15, end - 0.15, y + 1.95, y + 2.2
        bracket = [left, left, right, right], [low, high, high, low]
        axes.plot(*bracket, color=INK, linewidth=0.7)
        if name == "suffix":  # too short for its name, which is placed beside it
            axes.text(end + 0.4, y + 0.8, "suffix", va="center", **CODE)
        else:
            axes.text((start + end) / 2, y + 2.4, name, ha="center", va="bottom", **CODE)


def main():
    """Draw all rows."""
    document, truncated, split, rearranged = parts()
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    right = len(DOCUMENT) + 0.2
    top = (LABELS + right) * HEIGHT / WIDTH
    axes = _style.blank_axes(figure, (-LABELS, right), (0, top))
    ys = [top - 2.2 - ROW * n for n in (0, 1, 2.25, 3.25)]
    for y, cells in zip(ys, (document, truncated, split, rearranged)):
        draw_row(axes, y, cells)
    name_parts(axes, ys[2])
    label(axes, ys[0], "Document", f"{len(DOCUMENT)} characters")
    label(axes, ys[1], "1. Truncate", f"to {LENGTH}")
    label(axes, ys[2], "2. Split")
    label(axes, ys[3], "3. Rearrange", f"{BLOCK_SIZE} + 1 characters")

    y = ys[3] - 4.6
    draw_row(axes, y, rearranged[:-1])
    draw_row(axes, y - 2.5, rearranged[1:])
    label(axes, y, "4. Shift")
    axes.text(-1.2, y + 0.8, "$x$", **CENTER)
    axes.text(-1.2, y - 1.7, "$y$", **CENTER)
    i = START + 1 + (LENGTH - END)
    frame = {"fill": False, "edgecolor": INK, "linewidth": 1.4, "zorder": 5}
    axes.add_patch(Rectangle((i - 0.15, y - 2.8), 1.3, 4.8, **frame))
    note = f"after reading $x_0 \\ldots x_{{{i}}}$, predict $y_{{{i}}}$"
    axes.text(i + 0.5, y - 3.1, note, ha="center", va="top")
    _style.save(figure, "span_corruption")


if __name__ == "__main__":
    main()
