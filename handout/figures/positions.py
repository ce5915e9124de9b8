"""Sinusoidal position encodings: the first nine of 512 dimensions, all of high frequency, and all
64 of a smaller model.
"""

import matplotlib.pyplot as plt
import numpy as np
from _style import INK, LADDER, SMALL, WIDTH, save
from matplotlib.colors import LinearSegmentedColormap

HEIGHT = 3.1
POSITIONS = 51
COLORS = LinearSegmentedColormap.from_list("ladder", LADDER)  # -1 is dark and 1 light, also in gray


def encoding(positions: int, d_model: int) -> np.ndarray:
    """(positions, d_model): sines in the even columns, cosines in the odd ones."""
    theta = 10000 ** (-np.arange(0, d_model, 2) / d_model)
    angles = np.outer(np.arange(positions), theta)
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(positions, d_model)


def draw(axes, matrix, title, ticks):
    """Draw a matrix, with a row for each position."""
    rows, columns = matrix.shape
    image = axes.imshow(
        matrix,
        cmap=COLORS,
        vmin=-1,
        vmax=1,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, columns - 0.5, rows - 0.5, -0.5),
    )
    axes.set_title(title)
    axes.set(xlabel="dimension", xticks=ticks, yticks=range(0, rows, 10))
    axes.spines[:].set_visible(True)
    return image


def main():
    """Draw both matrices and what their colors mean."""
    figure, (left, right, bar) = plt.subplots(
        1, 3, figsize=(WIDTH, HEIGHT), width_ratios=(2, 4.2, 0.16)
    )
    figure.subplots_adjust(left=0.07, right=0.93, top=0.92, bottom=0.13, wspace=0.16)
    draw(
        left,
        encoding(POSITIONS, 512)[:, :9],
        r"$d_{\mathrm{model}}=512$, dimensions 0 to 8",
        range(9),
    )
    image = draw(
        right,
        encoding(POSITIONS, 64),
        r"$d_{\mathrm{model}}=64$, all dimensions",
        (*range(0, 64, 8), 63),
    )
    left.set_ylabel("position")
    figure.colorbar(image, cax=bar, ticks=(-1, -0.5, 0, 0.5, 1))
    bar.tick_params(labelsize=SMALL, colors=INK)
    save(figure, "positions")


if __name__ == "__main__":
    main()
