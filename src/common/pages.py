"""Pages of HTML, one file each that loads nothing: their frame, tables, and plots by matplotlib in
the page's colors, which follow light, dark and print. page.html is the frame.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path
from string import Template

HERE = Path(__file__).parent
COLORS = (HERE / "colors.css").read_text(encoding="utf-8")  # and how plots look in any page

# Colors of a plot, which stand for the page's; see also `hue`.
MUTED, RULE, ACCENT, SECOND, BAD = "#5a17e0", "#5a17e1", "#5a17e2", "#5a17e3", "#5a17e4"
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9,
    "text.color": MUTED,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": RULE,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "lines.linewidth": 1.4,
    "path.simplify_threshold": 1.0,  # of a pixel: long lines stay small
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "savefig.transparent": True,
    "figure.constrained_layout.use": True,
}
# What svg() makes of matplotlib's: pattern -> replacement.
FOR_PAGE = {
    r'(?s)\A.*( viewBox="[^"]*").*</metadata>': r"<svg\1>",
    r"(?s)<style.*?</style>|<!--.*?-->": "",
    r' id="[^"]*_\d+"| clip-path="[^"]*"': "",  # these names are the same in each plot
    r"font: ([\d.]+px)[^;\"]*": r"font-size: \1",  # in the page's font
    r" font-family: [^;\"]*;?": "",
    r"(\.\d\d)\d+(?=[-\d. ]*\n)": r"\1",  # coordinates of paths, in pixels
    r"#5a8(\d{3})": r"oklch(var(--light) .14 \1)",
    **{MUTED: "var(--muted)", RULE: "var(--rule)", ACCENT: "var(--accent)"},
    **{SECOND: "var(--second)", BAD: "var(--bad)"},
}
DASHES = ("-", (0, (6, 2)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))


def hue(number: int, count: int) -> str:
    """The color of one of several lines: from blue through green to red."""
    return f"#5a8{255 - 230 * number // max(1, count - 1):03}" if count > 1 else ACCENT


@contextlib.contextmanager
def plotted(height: float = 2.1) -> Iterator:
    """A new figure of matplotlib in the style of pages; its height in inches. Its width is such
    that text is legible on a phone, and not too large beside that of a page.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        yield Figure((4.7, height))


def set_log_scale(axes) -> None:
    """Make the vertical axis logarithmic, if a line has a value above 0, with plain numbers, also
    between powers of ten if there are few.
    """
    from matplotlib.ticker import LogFormatter

    if not any(value > 0 for line in axes.lines for value in line.get_ydata()):
        return
    axes.set_yscale("log", nonpositive="mask")
    axes.yaxis.set_major_formatter(LogFormatter())
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
    axes.tick_params(which="minor", size=0)


def svg(figure, alt: str) -> str:
    """A figure as SVG for a page, within `plotted`; alt: what screen readers say."""
    import matplotlib

    buffer = io.StringIO()
    # names of its parts, such as markers, are its own on a page with several
    with matplotlib.rc_context({"svg.hashsalt": alt}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="none")
    drawn = buffer.getvalue()
    for pattern, replacement in FOR_PAGE.items():
        drawn = re.sub(pattern, replacement, drawn)
    return drawn.strip().replace("<svg", f'<svg role="img" aria-label="{escape(alt)}"', 1)


def document(
    title: str, top: str, sections: dict[str, str], footer: str, css: str = "", script: str = ""
) -> str:
    """A whole page of HTML; sections: HTML by title; css, script: the page's own."""
    parts = [
        f'<section id="part-{i}">\n<h2>{title}</h2>\n{html}\n</section>'
        for i, (title, html) in enumerate(sections.items(), start=1)
    ]
    return Template((HERE / "page.html").read_text(encoding="utf-8")).substitute(
        title=title,
        css=COLORS + (HERE / "page.css").read_text(encoding="utf-8") + css,
        top=top,
        sections="\n".join(parts),
        footer=footer,
        script=script and f"<script>\n{script}</script>\n",
    )


def table(caption: str, head: list[str], rows: list[list[str]], last: bool = False) -> str:
    """An HTML table of cells that are HTML; the first cell of a row is its heading; `last` sets off
    the last row as a sum. It scrolls sideways where it is too wide, by keys too.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    label = escape(unescape(re.sub("<[^>]*>", "", caption)))
    lines = [
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>',
        f"<caption>{caption}</caption>\n<thead><tr>{top}</tr></thead>\n<tbody>",
    ]
    for i, (first, *cells) in enumerate(rows, start=1):
        kind = ' class="sum"' if last and i == len(rows) else ""
        values = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr{kind}><th scope="row">{first}</th>{values}</tr>')
    return "\n".join([*lines, "</tbody></table></div>"])


def figure(drawing: str, caption: str) -> str:
    """A plot with its caption, which is text."""
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>\n"
