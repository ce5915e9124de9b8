"""RoPE rotates pairs of features, each at its own speed; for a query and a key, only the difference
of their angles matters.

Left: the four pairs of a head of width 8, at positions 0 to 4 and 50. Right: a query and a key,
twice at the same distance.
"""

import matplotlib.pyplot as plt
import numpy as np
from _style import ARROW, CENTER, DARK, LIGHT, MIDDLE, QUIET, WIDTH, blank_axes, save
from matplotlib.patches import Circle, FancyArrowPatch, Wedge

HEIGHT = 2.6
HEAD_DIM = 8
POSITIONS = (0, 1, 2, 3, 4, 50)
THETA = 0.5  # on the right
QUERY, KEY = 0.2, -0.5  # their angles before rotation
CASES = ((3, 1), (7, 5))  # positions of query and key


def arrow(axes, center, angle, length, color, linewidth, head, linestyle="-"):
    """An arrow from a center, with a head that is never dashed."""
    look = {"color": color, "linewidth": linewidth, "zorder": 3}
    near, tip = (
        (center[0] + part * length * np.cos(angle), center[1] + part * length * np.sin(angle))
        for part in (0.85, 1)
    )
    axes.plot(*zip(center, near), linestyle=linestyle, solid_capstyle="butt", **look)
    axes.add_patch(FancyArrowPatch(near, tip, mutation_scale=head, **ARROW | look))


def sector(axes, center, radius, start, end):
    """The part of a disk between two angles."""
    axes.add_patch(
        Wedge(center, radius, np.degrees(start), np.degrees(end), facecolor=LIGHT, edgecolor="none")
    )


def pair(axes, center, angle):
    """One pair of features: start, rotation angle and result."""
    sector(axes, center, 0.4, 0, angle % (2 * np.pi))
    axes.add_patch(Circle(center, 0.4, fill=False, edgecolor=QUIET, linewidth=0.6))
    x, y = center
    axes.plot([x, x + 0.4], [y, y], color=QUIET, linewidth=0.6, linestyle=":")
    arrow(axes, center, angle, 0.4, color=DARK, linewidth=1.3, head=6)


def clocks(axes):
    """A row for each pair, a column for each position."""
    for column, t in enumerate(POSITIONS):
        x = column + 0.35 * (t > 4)
        axes.text(x, 0.62, f"$t={t}$", ha="center")
        for i in range(HEAD_DIM // 2):
            theta = 10000 ** (-2 * i / HEAD_DIM)
            pair(axes, (x, -i), t * theta)
            if column == 0:
                axes.text(-0.6, -i + 0.16, f"pair {i}", ha="right", va="center")
                axes.text(-0.6, -i - 0.2, rf"$\theta_{i}={theta:g}$", ha="right", va="center")
    for i in range(HEAD_DIM // 2):
        axes.text(4.675, -i, "…", color=QUIET, **CENTER)


def meeting(axes, t_query, t_key):
    """A query and a key after their rotations, with the angle between them."""
    query, key = QUERY + t_query * THETA, KEY + t_key * THETA
    axes.add_patch(Circle((0, 0), 1, fill=False, edgecolor=QUIET, linewidth=0.6))
    sector(axes, (0, 0), 0.42, key, query)
    arrow(axes, (0, 0), query, 1, color=DARK, linewidth=1.8, head=9)
    arrow(axes, (0, 0), key, 1, color=MIDDLE, linewidth=1.8, head=9, linestyle=(0, (3, 1.2)))
    for angle, name in ((query, f"query\n$t_1={t_query}$"), (key, f"key\n$t_2={t_key}$")):
        x, y = 1.22 * np.cos(angle), 1.22 * np.sin(angle)
        side = "left" if x > 0.3 else "right" if x < -0.3 else "center"
        axes.text(x, y, name, ha=side, va="bottom" if y > 0.7 else "center")
    middle = 0.66 * np.exp(0.5j * (query + key))
    axes.text(middle.real, middle.imag, f"{np.degrees(query - key):.0f}°", **CENTER)


def main():
    """Draw both halves."""
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    clocks(blank_axes(figure, (-1.75, 5.95), (-3.5, 0.85), (0, 0.055, 0.66, 0.945)))
    for places, bottom in zip(CASES, (0.525, 0.08)):
        axes = blank_axes(figure, (-1.9, 1.9), (-1.05, 1.9), (0.67, bottom, 0.33, 0.47))
        meeting(axes, *places)
    for x, text in (
        (0.37, r"position $t$ turns pair $i$ by the angle $t\,\theta_i$"),
        (0.825, "$t_1-t_2=2$ both times: the same angle"),
    ):
        figure.text(x, 0.035, text, **CENTER)
    save(figure, "rotation")


if __name__ == "__main__":
    main()
