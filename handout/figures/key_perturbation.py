"""Keys of question 3c: k_a varies along its mean mu_a, longer, shorter or reversed; k_b stays close
to mu_b.
"""

import matplotlib.pyplot as plt
import numpy as np
from _style import ARROW, CENTER, DARK, MIDDLE, QUIET, SMALL, WIDTH, blank_axes, save

HEIGHT = 2.4
EPSILON = 0.002  # "vanishingly small"
SAMPLES = 120
ANGLE = np.radians(18)
MU_A = np.array([np.cos(ANGLE), np.sin(ANGLE)])
MU_B = np.array([-np.sin(ANGLE), np.cos(ANGLE)])


def samples():
    """SAMPLES draws of k_a and of k_b, (SAMPLES, 2) each."""
    random, little = np.random.default_rng(3), EPSILON * np.eye(2)
    laws = ((MU_A, little + np.outer(MU_A, MU_A) / 2), (MU_B, little))
    return [random.multivariate_normal(*law, SAMPLES, method="cholesky") for law in laws]


def mean(axes, vector, name, offset):
    """A mean, as an arrow from the origin."""
    axes.annotate("", vector, (0, 0), arrowprops=ARROW | {"linewidth": 2}, zorder=4)
    axes.text(*(vector + offset), name, fontsize=10, zorder=5, **CENTER)


def remark(axes, along, text):
    """Label the samples at a multiple of mu_a, below them."""
    line = ARROW | {"arrowstyle": "-", "color": QUIET, "linewidth": 0.6}
    near, far = along * MU_A - 0.1 * MU_B, along * MU_A - 0.34 * MU_B
    axes.annotate(text, near, far, ha="center", va="top", fontsize=SMALL, arrowprops=line)


def main():
    """Draw the plane that mu_a and mu_b span."""
    figure = plt.figure(figsize=(WIDTH, HEIGHT))
    axes = blank_axes(figure, (-1.9, 3.4), (-0.72, 1.32))
    turn = np.linspace(-0.17 * np.pi, 1.17 * np.pi, 200)  # the rest is empty
    axes.plot(np.cos(turn), np.sin(turn), color=QUIET, linewidth=0.6, linestyle=":")
    axes.text(0.88, -0.57, "length 1", fontsize=SMALL, color=QUIET, va="center")
    axes.plot(*np.array([-1.4 * MU_A, 3.2 * MU_A]).T, color=QUIET, linewidth=0.5)

    k_a, k_b = samples()
    for keys, marker, color, law in (
        (k_a, "o", MIDDLE, r"$k_a \sim N(\mu_a,\ \varepsilon I + \frac{1}{2}\mu_a\mu_a^{\top})$"),
        (k_b, "^", DARK, r"$k_b \sim N(\mu_b,\ \varepsilon I)$"),
    ):
        look = {"marker": marker, "color": color, "edgecolor": "white", "linewidth": 0.3}
        axes.scatter(*keys.T, s=13, zorder=3, label=law, **look)
    mean(axes, MU_A, r"$\mu_a$", 0.24 * MU_B - 0.1 * MU_A)
    mean(axes, MU_B, r"$\mu_b$", -0.24 * MU_A - 0.16 * MU_B)
    remark(axes, -0.5, "opposite")
    remark(axes, 0.45, "shorter")
    remark(axes, 2.0, "longer")
    place = {"loc": "upper left", "bbox_to_anchor": (0.42, 1.02)}
    axes.legend(**place, fontsize=9, handletextpad=0.2, markerscale=1.7)
    save(figure, "key_perturbation")


if __name__ == "__main__":
    main()
