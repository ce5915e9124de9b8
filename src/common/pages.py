"""Pages of HTML, one file each that loads nothing: their frame, tables, and plots by matplotlib in
the page's colors, which follow light, dark and print.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from html import escape, unescape

COLORS = """:root { color-scheme: light dark; --paper: #ffffff; --panel: #f5f6f7; --ink: #1c2227;
  --muted: #56616b; --rule: #d8dde1; --accent: #1d5c87; --second: #a2541a; --good: #17684a;
  --bad: #a33327; --warn: #765300; --light: 48%; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #14181b; --panel: #1c2226;
  --ink: #e3e7ea; --muted: #9ba7b0; --rule: #343c42; --accent: #7fb7dd; --second: #e2a063;
  --good: #73c69f; --bad: #f09a8e; --warn: #dab762; --light: 74%; } }
@media print { :root { --ink: #000000; --muted: #444444; --rule: #bbbbbb; } }
svg { display: block; width: 100%; height: auto; stroke-linejoin: round; }
svg image { image-rendering: pixelated; }
"""
CSS = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 3rem; background: var(--paper);
  color: var(--ink); overflow-wrap: break-word; font: 1rem/1.55 system-ui, -apple-system,
  "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p { margin: .5rem 0; max-width: 44rem; } .muted, caption, figcaption { color: var(--muted); }
.small, figcaption { font-size: .875rem; }
/* A shadow at an edge shows that there is more. */
.scroll { overflow-x: auto; background: linear-gradient(to right, var(--paper) 30%, transparent)
  left / 2rem 100% no-repeat local, linear-gradient(to left, var(--paper) 30%, transparent)
  right / 2rem 100% no-repeat local, linear-gradient(to right, var(--rule), transparent)
  left / .7rem 100% no-repeat, linear-gradient(to left, var(--rule), transparent)
  right / .7rem 100% no-repeat; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .8rem 0;
  min-width: min(100%, 30rem); }
caption { text-align: left; font-size: .875rem; padding-bottom: .3rem; }
th, td { padding: .35rem 0 .35rem 1rem; border-bottom: 1px solid var(--rule); text-align: right;
  vertical-align: top; }
th { font-weight: 500; } th:first-child { text-align: left; padding-left: 0; }
thead th { color: var(--muted); font-size: .875rem; vertical-align: bottom; }
tr.sum > * { font-weight: 650; border-top: 2px solid var(--rule); }
td small { display: block; color: var(--muted); white-space: nowrap; }
figure { margin: .5rem 0 1rem; max-width: 40rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 0 2rem; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; }
  figure, table { break-inside: avoid; } h2, h3 { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""

# Colors of a plot, and what svg() makes of them.
INK, MUTED, RULE, PAPER, ACCENT, SECOND, BAD = (f"#5a17e{number}" for number in range(7))
_VARIABLES = "ink", "muted", "rule", "paper", "accent", "second", "bad"
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
DASHES = ("-", (0, (6, 2)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))


def hue(number: int, count: int) -> str:
    """The color of one of several lines: from blue through green to red."""
    return f"#5a18{255 - 230 * number // max(1, count - 1):02x}" if count > 1 else ACCENT


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
    """A figure as SVG for a page, within `plotted`; alt: what screen readers say. What has a gid
    "note: TEXT" shows the text when the mouse is on it.
    """
    import matplotlib

    buffer = io.StringIO()
    # names of its parts, such as clipping paths, are its own on a page with several
    with matplotlib.rc_context({"svg.hashsalt": alt}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="none")
    drawn = buffer.getvalue()
    box = re.search(r'viewBox="[^"]*"', drawn)[0]
    drawn = drawn[drawn.index("</metadata>") + 11 :]
    drawn = re.sub(r"<style.*?</style>|<!--.*?-->", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r'<g id="note: ([^"]*)">', r"<g><title>\1</title>", drawn)
    drawn = re.sub(r' id="[^"]*_\d+"| clip-path="[^"]*"', "", drawn)
    # in the page's font
    drawn = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", drawn)
    drawn = re.sub(r" font-family: [^;\"]*;?", "", drawn)
    drawn = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), drawn)
    drawn = re.sub(r"#5a17e(\d)", lambda found: f"var(--{_VARIABLES[int(found[1])]})", drawn)
    drawn = re.sub("#5a18(..)", lambda found: f"oklch(var(--light) .14 {int(found[1], 16)})", drawn)
    drawn = re.sub(r"\n\s*", "\n", drawn.strip())
    return f'<svg role="img" aria-label="{escape(alt)}" {box}>{drawn}'


def document(
    title: str, top: str, sections: dict[str, str], footer: str, css: str = "", script: str = ""
) -> str:
    """A whole page of HTML; sections: HTML by title; css, script: the page's own."""
    body = "\n".join(
        f'<section id="part-{i}">\n<h2>{title}</h2>\n{html}\n</section>'
        for i, (title, html) in enumerate(sections.items(), start=1)
    )
    program = script and f"<script>\n{script}</script>\n"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{COLORS}{CSS}{css}</style>
</head>
<body>
<main>
{top}
{body}
</main>
<footer class="muted small"><p>{footer}</p></footer>
{program}</body>
</html>
"""


def table(caption: str, head: list[str], rows: list[list[str]], last: bool = False) -> str:
    """An HTML table of cells that are HTML; the first cell of a row is its heading; `last` sets off
    the last row as a sum.
    """
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = [f"<caption>{caption}</caption>\n<thead><tr>{top}</tr></thead>\n<tbody>"]
    for i, (first, *cells) in enumerate(rows):
        kind = ' class="sum"' if last and i == len(rows) - 1 else ""
        values = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr{kind}><th scope="row">{first}</th>{values}</tr>')
    return scroll("\n".join(["<table>", *lines, "</tbody></table>"]), caption)


def scroll(html: str, name: str) -> str:
    """HTML in a box that scrolls sideways where it is too wide, by keys too; name: HTML that says
    what is in it.
    """
    label = escape(unescape(re.sub("<[^>]*>", "", name)))
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{html}</div>'


def figure(drawing: str, caption: str) -> str:
    """A plot with its caption, which is text."""
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>\n"
