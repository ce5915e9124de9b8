"""A Transformer layer with its LayerNorms in the branches (pre-norm), or on the residual path,
after each sum (post-norm).
"""

import matplotlib.pyplot as plt
from _style import ARROW, CENTER, DARK, INK, LIGHT, WIDTH, blank_axes, save
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

HEIGHT = 2.05
LOOKS = {"LayerNorm": (DARK, "white"), "Attention": ("white", INK), "MLP": ("white", INK)}
BRANCH = 0.95  # y of the boxes above the residual path, which is at 0
HALF = 0.68  # of a box's width


def box(axes, x, y, name):
    """A box with its name."""
    face, letter = LOOKS[name]
    shape, round_ = (x - HALF, y - 0.24, 2 * HALF, 0.48), "round,pad=0,rounding_size=0.08"
    look = {"facecolor": face, "edgecolor": INK, "linewidth": 0.8, "zorder": 3}
    axes.add_patch(FancyBboxPatch(shape[:2], *shape[2:], boxstyle=round_, **look))
    axes.text(x, y, name, color=letter, zorder=4, **CENTER)


def add(axes, x):
    """A plus in a circle, on the residual path."""
    axes.add_patch(Circle((x, 0), 0.17, facecolor="white", edgecolor=INK, linewidth=0.9, zorder=5))
    axes.plot([x - 0.09, x + 0.09], [0, 0], color=INK, linewidth=1, zorder=6)
    axes.plot([x, x], [-0.09, 0.09], color=INK, linewidth=1, zorder=6)


def arrow(axes, *points, zorder=2):
    """A thin line through some points, with an arrowhead at the end."""
    thin = {"linewidth": 0.9, "zorder": zorder}
    axes.plot(*zip(*points[:-1]), color=INK, solid_capstyle="butt", **thin)
    axes.add_patch(FancyArrowPatch(*points[-2:], mutation_scale=7, **ARROW, **thin))


def residual(axes, *stops):
    """Draw the residual path as thick segments between pairs of stops."""
    for start, end in zip(stops[::2], stops[1::2]):
        axes.plot([start, end], [0, 0], color=LIGHT, linewidth=9, zorder=0, solid_capstyle="butt")
        arrow(axes, (start, 0), (end, 0), zorder=1)


def branch(axes, start, end, *boxes):
    """A branch that leaves the path at an x, passes boxes (x, name), and returns."""
    places = [x for x, _ in boxes]
    arrow(axes, (start, 0), (start, BRANCH), (places[0] - HALF, BRANCH))
    for left, right in zip(places, places[1:]):
        arrow(axes, (left + HALF, BRANCH), (right - HALF, BRANCH))
    arrow(axes, (places[-1] + HALF, BRANCH), (end, BRANCH), (end, 0.17))
    for x, name in boxes:
        box(axes, x, BRANCH, name)


def frame(axes, title, end):
    """Title, input and output."""
    axes.text(-1.35, BRANCH, title, va="center", weight="bold", fontsize=9)
    axes.text(-0.1, 0, "input $x$", ha="right", va="center")
    axes.text(end + 0.1, 0, "output $z$", ha="left", va="center")


def pre_norm(axes):
    """Pre-norm: nothing interrupts the residual path."""
    residual(axes, 0, 4.05, 4.05, 8.1, 8.1, 8.6)
    for start, name in ((0.35, "Attention"), (4.4, "MLP")):
        branch(axes, start, start + 3.7, (start + 1, "LayerNorm"), (start + 2.7, name))
        add(axes, start + 3.7)
    frame(axes, "Pre-norm", 8.6)


def post_norm(axes):
    """Post-norm: each LayerNorm is on the residual path."""
    residual(axes, 0, 2.18, 2.52, 2.67, 4.03, 6.23, 6.57, 6.72, 8.08, 8.6)
    for start, name in ((0.35, "Attention"), (4.4, "MLP")):
        branch(axes, start, start + 2, (start + 1, name))
        add(axes, start + 2)
        box(axes, start + 3, 0, "LayerNorm")
    frame(axes, "Post-norm", 8.6)


def main():
    """Draw both, one above the other."""
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    for draw, bottom in ((pre_norm, 0.5), (post_norm, 0)):
        draw(blank_axes(figure, (-1.4, 9.8), (-0.45, 1.3), (0, bottom, 1, 0.5)))
    save(figure, "pre_post_norm")


if __name__ == "__main__":
    main()
