"""Question 6d: the keys that one block of queries needs, piece by piece, and the ring buffer of a
stream before and after it reads a position.
"""

import matplotlib.pyplot as plt
from _style import ARROW, DARK, INK, LIGHT, MIDDLE, PALE, QUIET, SMALL, WIDTH, blank_axes, save
from matplotlib.patches import Rectangle

HEIGHT = 1.75
N, BLOCK, WINDOW, STRIDES, GLOBAL = 48, 6, 4, (14, 20), (1, 17)  # of the pieces
QUERIES = range(24, 30)  # one block
CELL = 0.108  # inches
LEFT, TOP = 1.15, 1.6  # of the pieces

RING, ROOM, LENGTH, DECLARED = 8, 3, 19, (3, 14)  # of the stream: R, max_global, positions read
SLOT = 0.2  # inches


def cell(axes, x, y, size, face, edge="none", linewidth=0.4):
    """A square, by its upper left corner."""
    axes.add_patch(
        Rectangle((x, y - size), size, size, facecolor=face, edgecolor=edge, linewidth=linewidth)
    )


def kind(i: int, j: int) -> str | None:
    """The color of query i and key j, if the pair is in one of the pieces."""
    if abs(i - j) <= WINDOW:
        return DARK
    if j in GLOBAL:
        return LIGHT
    if abs(i - j) in STRIDES:
        return MIDDLE
    return PALE if abs(i // BLOCK - j // BLOCK) <= 1 else None


def pieces(axes):
    """The rows of one block of queries, with all their keys."""
    bottom = TOP - CELL * len(QUERIES)
    for row, i in enumerate(QUERIES):
        for j in range(N):
            if color := kind(i, j):
                cell(axes, LEFT + CELL * j, TOP - CELL * row, CELL, color, edge="white")
    frame = {"fill": False, "edgecolor": QUIET, "linewidth": 0.6}
    axes.add_patch(Rectangle((LEFT, bottom), CELL * N, TOP - bottom, **frame))
    for j in range(BLOCK, N, BLOCK):
        axes.plot([LEFT + CELL * j] * 2, [bottom, TOP], color=QUIET, linewidth=0.4, linestyle=":")
    for j in range(0, N, BLOCK):
        axes.text(LEFT + CELL * (j + 0.5), TOP + 0.03, j, ha="center", fontsize=SMALL)
    axes.text(LEFT - 0.1, TOP + 0.03, "key", ha="right", fontsize=SMALL)
    name = f"One block of\nqueries, {QUERIES[0]} to {QUERIES[-1]}"
    axes.text(0, (TOP + bottom) / 2, name, va="center")
    shown = (
        (DARK, "window"),
        (PALE, "in the same blocks: set to \u2212\u221e"),
        (LIGHT, "global keys"),
        (MIDDLE, "strides"),
    )
    x = LEFT
    for color, text in shown:
        cell(axes, x, bottom - 0.07, 0.1, color, edge=QUIET)
        label = axes.text(x + 0.15, bottom - 0.12, text, va="center", fontsize=SMALL)
        x += 0.45 + label.get_window_extent().width / axes.figure.dpi


def held(length: int) -> tuple[list, list]:
    """The positions in the slots of the ring, and in those for global positions; None for none."""
    ring = [None] * RING
    for p in range(max(0, length - RING), length):
        ring[p % RING] = None if p in DECLARED else p
    return ring, [*DECLARED, *[None] * (ROOM - len(DECLARED))]


def cache(axes, x, y, length, new=None):
    """The slots after `length` positions; the slot of `new` is marked."""
    for start, slots, face in zip((x, x + SLOT * (RING + 0.6)), held(length), ("white", LIGHT)):
        for n, p in enumerate(slots):
            place = start + SLOT * n
            color, letter = (DARK, "white") if p == new and p is not None else (face, INK)
            cell(axes, place, y, SLOT, color, edge=INK, linewidth=0.6)
            text = "" if p is None else str(p)
            middle = place + SLOT / 2, y - SLOT / 2
            axes.text(*middle, text, ha="center", va="center_baseline", color=letter)
            if face == "white":
                axes.text(middle[0], y + 0.03, n, ha="center", fontsize=SMALL, color=QUIET)
    axes.text(x + SLOT * (RING + 0.6), y + 0.03, "global", fontsize=SMALL, color=QUIET)
    says = f"{length} positions read"
    if new is not None:
        says += f", {new} into slot {new} mod {RING} = {new % RING}"
    axes.text(x, y - SLOT - 0.05, says, va="top", fontsize=SMALL)


def main():
    """Draw the pieces, and the cache twice."""
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    axes = blank_axes(figure, (0, WIDTH), (0, HEIGHT))
    pieces(axes)
    y, width = 0.4, SLOT * (RING + 0.6 + ROOM)
    right = WIDTH - width - 0.03
    axes.text(0, y - SLOT / 2, f"A stream's\ncache, $R={RING}$", va="center")
    axes.text(LEFT - 0.1, y + 0.03, "slot", ha="right", fontsize=SMALL, color=QUIET)
    cache(axes, LEFT, y, LENGTH)
    cache(axes, right, y, LENGTH + 1, new=LENGTH)
    start, end = LEFT + width + 0.06, right - 0.06
    look = ARROW | {"linewidth": 0.9}
    axes.annotate("", (end, y - SLOT / 2), (start, y - SLOT / 2), arrowprops=look)
    save(figure, "sparse_pieces")


if __name__ == "__main__":
    main()
