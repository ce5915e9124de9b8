r"""The style of all figures: sizes, fonts, colors that differ in grayscale, and output.

A figure is as wide as the text and at most 0.42 of a page high, so that \pic does not scale it and
8 points stay 8 points. The fonts come with matplotlib, so that figures look the same everywhere.
The background is transparent: in dark mode, the HTML edition inverts lightness and keeps the hues.
"""

import sys
from pathlib import Path

import matplotlib

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # for what figures import after this file

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend first)

WIDTH = 6.4  # inches, of the text
MAX_HEIGHT = 3.7
SMALL = 7  # points, and nothing is smaller but indices; labels are 8

# From dark to light, in about equal steps of lightness. The first is the accent of macros.tex.
DARK, MIDDLE, LIGHT, PALE = "#1F4E79", "#C9722B", "#A9C6E3", "#E4EBF3"
INK, QUIET = "#1A1A1A", "#5A5A5A"

CENTER = {"ha": "center", "va": "center"}
ARROW = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0}

MASK, PAD = "\u2047", "\u25a1"
SIGNS = {MASK: "M", PAD: "\u00b7"}  # how they are shown: a boxed M and a pale dot, as in listings

plt.rcParams.update(
    {
        "font.family": "sans-serif",
        # Verdana is as wide, for SVG viewers without the first
        "font.sans-serif": ["DejaVu Sans", "Verdana"],
        "font.monospace": ["DejaVu Sans Mono", "Menlo", "Consolas"],
        "mathtext.fontset": "dejavuserif",
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.labelsize": 8,
        "legend.fontsize": SMALL,
        "xtick.labelsize": SMALL,
        "ytick.labelsize": SMALL,
        "text.color": INK,
        "axes.edgecolor": QUIET,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "hatch.linewidth": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "savefig.dpi": 300,  # for the few bitmaps
        "savefig.transparent": True,
        "pdf.fonttype": 42,  # embedded fonts, so that text can be searched and copied
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "handout",  # the same ids every time
    }
)


def blank_axes(figure, xlim, ylim, box=(0, 0, 1, 1)):
    """Axes without a frame, with equal units in both directions. box: (left, bottom, width,
    height), as fractions of the figure.
    """
    axes = figure.add_axes(box)
    axes.set(xlim=xlim, ylim=ylim, aspect="equal")
    axes.axis("off")
    return axes


def save(figure, name: str) -> None:
    """Write NAME.pdf and NAME.svg into the folder given on the command line, reproducibly."""
    if len(sys.argv) != 2:
        sys.exit(f"Usage: python {sys.argv[0]} OUT_FOLDER")
    if figure.get_figheight() > MAX_HEIGHT:
        raise ValueError(
            f"{name} is {figure.get_figheight()} inches high; \\pic would shrink it from "
            f"{MAX_HEIGHT} on"
        )
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / f"{name}.pdf", metadata={"CreationDate": None})
    figure.savefig(out / f"{name}.svg", metadata={"Date": None})
