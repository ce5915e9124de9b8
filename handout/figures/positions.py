"""Sinusoidal position encodings: the first nine of 512 dimensions, all of high frequency, and all
64 of a smaller model; in the colors of the students' own picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from _style import INK, SMALL, WIDTH, save

from jobs.problem6.positions import TICKS, show

HEIGHT = 2.2
POSITIONS = 51


def encoding(positions: int, d_model: int) -> np.ndarray:
    """(positions, d_model): sines in the even columns, cosines in the odd ones."""
    theta = 10000 ** (-np.arange(0, d_model, 2) / d_model)
    angles = np.outer(np.arange(positions), theta)
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(positions, d_model)


def main():
    """Draw both matrices and what their colors mean."""
    figure, (left, right, bar) = plt.subplots(
        1, 3, figsize=(WIDTH, HEIGHT), width_ratios=(2, 4.2, 0.16)
    )
    figure.subplots_adjust(left=0.07, right=0.93, top=0.9, bottom=0.18, wspace=0.16)
    show(left, encoding(POSITIONS, 512)[:, :9])
    left.set(title=r"$d=512$, dimensions 0 to 8", xticks=range(9))
    left.set_ylabel("position")
    image = show(right, encoding(POSITIONS, 64))
    right.set(title=r"$d=64$, all dimensions", xticks=(*range(0, 64, 8), 63))
    for axes in (left, right):
        axes.spines[:].set_visible(True)
    figure.colorbar(image, cax=bar, ticks=TICKS)
    bar.tick_params(labelsize=SMALL, colors=INK)
    save(figure, "positions")


if __name__ == "__main__":
    main()
