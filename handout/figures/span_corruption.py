"""Span corruption, step by step, on one document: truncate, split, rearrange with MASK and PAD, and
shift by one for x and y.
"""

import matplotlib.pyplot as plt
from _style import DARK, INK, LIGHT, MASK, PAD, PALE, QUIET, SIGNS, SMALL, WIDTH, blank_axes, save
from matplotlib.patches import Rectangle

HEIGHT = 2.25
DOCUMENT = "Mirel Tavosh was born in Lisbon and became a baker."
BLOCK_SIZE = 48
LENGTH = 35  # after truncation: a random number from 4 to int(BLOCK_SIZE * 3/4) = 36
START, END = 25, 31  # of the masked content
LABELS = 11  # columns for the labels on the left
ROW = 3.2  # from one row to the next, in cells

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
    kept = DOCUMENT[:LENGTH]
    prefix, masked, suffix = (
        [(ch, kind) for ch in text]
        for text, kind in (
            (kept[:START], "prefix"),
            (kept[START:END], "masked"),
            (kept[END:], "suffix"),
        )
    )
    mask = [(MASK, "MASK")]
    rearranged = prefix + mask + suffix + mask + masked + mask
    rearranged += [(PAD, "PAD")] * (BLOCK_SIZE + 1 - len(rearranged))
    truncated = [(ch, "plain") for ch in kept] + [(ch, "cut") for ch in DOCUMENT[LENGTH:]]
    return [(ch, "plain") for ch in DOCUMENT], truncated, prefix + masked + suffix, rearranged


def draw_row(axes, y, cells, start=0):
    """A row of cells, from column start on."""
    for column, (ch, kind) in enumerate(cells, start):
        face, letter, hatch = LOOKS[kind]
        edge = {"cut": "none", "PAD": "#C8C8C8", "MASK": INK}.get(kind, "#9A9A9A")
        axes.add_patch(
            Rectangle(
                (column, y),
                1,
                1.7,
                facecolor=face,
                edgecolor=edge,
                linewidth=0.9 if kind == "MASK" else 0.4,
                zorder=2 if kind == "MASK" else 1,
            )
        )
        if hatch:
            axes.add_patch(
                Rectangle(
                    (column, y), 1, 1.7, fill=False, edgecolor="#B4C3D3", linewidth=0, hatch=hatch
                )
            )
        axes.text(
            column + 0.5,
            y + 0.8,
            SIGNS.get(ch, ch),
            family="monospace",
            fontsize=7.5,
            color=letter,
            ha="center",
            va="center",
            weight="bold" if kind in ("MASK", "PAD") else "normal",
            zorder=3,
        )
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
        left, right = start + 0.15, end - 0.15
        axes.plot(
            [left, left, right, right],
            [y + 1.95, y + 2.2, y + 2.2, y + 1.95],
            color=INK,
            linewidth=0.7,
        )
        if name == "suffix":  # too short for its name, which is placed beside it
            axes.text(end + 0.4, y + 0.8, "suffix", family="monospace", fontsize=SMALL, va="center")
        else:
            axes.text(
                (start + end) / 2,
                y + 2.4,
                name,
                family="monospace",
                fontsize=SMALL,
                ha="center",
                va="bottom",
            )


def main():
    """Draw all rows."""
    document, truncated, split, rearranged = parts()
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    columns = LABELS + len(DOCUMENT) + 0.2
    axes = blank_axes(
        figure, (0, 0, 1, 1), (-LABELS, len(DOCUMENT) + 0.2), (0, columns * HEIGHT / WIDTH)
    )
    top = columns * HEIGHT / WIDTH - 2.2
    ys = [top - ROW * n for n in (0, 1, 2.25, 3.25)]
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
    axes.text(-1.2, y + 0.8, "$x$", ha="center", va="center")
    axes.text(-1.2, y - 1.7, "$y$", ha="center", va="center")
    i = START + 1 + (LENGTH - END)
    axes.add_patch(
        Rectangle((i - 0.15, y - 2.8), 1.3, 4.8, fill=False, edgecolor=INK, linewidth=1.4, zorder=5)
    )
    note = f"after reading $x_0 \\ldots x_{{{i}}}$, predict $y_{{{i}}}$"
    axes.text(i + 0.5, y - 3.1, note, ha="center", va="top")
    save(figure, "span_corruption")


if __name__ == "__main__":
    main()
