"""A Transformer layer with its LayerNorms in the branches (pre-norm), or on the residual path,
after each sum (post-norm).
"""

import matplotlib.pyplot as plt
from _style import DARK, INK, LIGHT, SMALL, WIDTH, blank_axes, save
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

HEIGHT = 3.6
LOOKS = {"LayerNorm": (DARK, "white"), "Attention": ("white", INK), "MLP": ("white", INK)}
BRANCH = 1.6  # x of the boxes beside the residual path, which is at 0


def box(axes, x, y, name):
    """A box with its name."""
    face, letter = LOOKS[name]
    axes.add_patch(
        FancyBboxPatch(
            (x - 0.72, y - 0.24),
            1.44,
            0.48,
            boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=face,
            edgecolor=INK,
            linewidth=0.8,
            zorder=3,
        )
    )
    axes.text(x, y, name, color=letter, ha="center", va="center", zorder=4)


def add(axes, y):
    """A plus in a circle, on the residual path."""
    axes.add_patch(Circle((0, y), 0.17, facecolor="white", edgecolor=INK, linewidth=0.9, zorder=5))
    axes.plot([-0.09, 0.09], [y, y], color=INK, linewidth=1, zorder=6)
    axes.plot([0, 0], [y - 0.09, y + 0.09], color=INK, linewidth=1, zorder=6)


def arrow(axes, *points):
    """A thin line through some points, with an arrowhead at the end."""
    axes.plot(*zip(*points[:-1]), color=INK, linewidth=0.9, zorder=2, solid_capstyle="butt")
    axes.add_patch(
        FancyArrowPatch(
            points[-2],
            points[-1],
            arrowstyle="-|>",
            mutation_scale=7,
            color=INK,
            linewidth=0.9,
            shrinkA=0,
            shrinkB=0,
            zorder=2,
        )
    )


def residual(axes, *stops):
    """Draw the residual path as thick segments between pairs of stops."""
    for start, end in zip(stops[::2], stops[1::2]):
        axes.plot([0, 0], [start, end], color=LIGHT, linewidth=9, zorder=0, solid_capstyle="butt")
        axes.add_patch(
            FancyArrowPatch(
                (0, start),
                (0, end),
                arrowstyle="-|>",
                mutation_scale=7,
                color=INK,
                linewidth=0.9,
                shrinkA=0,
                shrinkB=0,
                zorder=1,
            )
        )


def branch(axes, start, end, *boxes):
    """A branch that leaves the path at a height, passes boxes (height, name), and returns."""
    heights = [y for y, _ in boxes]
    arrow(axes, (0, start), (BRANCH, start), (BRANCH, heights[0] - 0.24))
    for low, high in zip(heights, heights[1:]):
        arrow(axes, (BRANCH, low + 0.24), (BRANCH, low + 0.24), (BRANCH, high - 0.24))
    arrow(axes, (BRANCH, heights[-1] + 0.24), (BRANCH, end), (0.17, end))
    for y, name in boxes:
        box(axes, BRANCH, y, name)


def frame(axes, title, formulas):
    """Title, input, output and, on the right, the formulas."""
    axes.text(0.8, 6.55, title, ha="center", weight="bold", fontsize=9)
    axes.text(0, -0.1, "input $x$", ha="center", va="top")
    axes.text(0, 6.02, "output $z$", ha="center", va="bottom")
    for y, formula in zip((1.45, 4.15), formulas):
        axes.text(2.45, y, formula, va="center", fontsize=SMALL)


def pre_norm(axes):
    """Pre-norm: nothing interrupts the residual path."""
    residual(axes, 0, 2.55, 2.55, 5.25, 5.25, 5.95)
    for start, name in ((0.3, "Attention"), (3.0, "MLP")):
        branch(axes, start, start + 2.25, (start + 0.65, "LayerNorm"), (start + 1.6, name))
        add(axes, start + 2.25)
    frame(
        axes, "Pre-norm", ("$y=x+$\n  Attention(LayerNorm($x$))", "$z=y+$\n  MLP(LayerNorm($y$))")
    )


def post_norm(axes):
    """Post-norm: each LayerNorm is on the residual path."""
    residual(axes, 0, 1.75, 1.92, 2.31, 2.79, 4.45, 4.62, 5.01, 5.49, 5.95)
    for start, name in ((0.3, "Attention"), (3.0, "MLP")):
        branch(axes, start, start + 1.45, (start + 0.72, name))
        add(axes, start + 1.45)
        box(axes, 0, start + 2.25, "LayerNorm")
    frame(
        axes,
        "Post-norm",
        ("$y=$LayerNorm(\n  $x+$Attention($x$))", "$z=$LayerNorm(\n  $y+$MLP($y$))"),
    )


def main():
    """Draw both."""
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    for draw, left in ((pre_norm, 0), (post_norm, 0.5)):
        draw(blank_axes(figure, (left, 0, 0.5, 1), (-0.8, 5.4), (-0.5, 6.9)))
    save(figure, "pre_post_norm")


if __name__ == "__main__":
    main()
