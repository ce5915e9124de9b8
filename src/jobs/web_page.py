"""The frame of the pages that jobs make: one file each, that loads nothing."""

import re
from collections.abc import Iterable
from html import escape, unescape

from common import charts

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
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 1rem 2rem; }
figure { margin: .5rem 0; max-width: 30rem; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; }
  figure, table { break-inside: avoid; } h2, h3 { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""
# How characters() looks.
MARKS = """
b.mask { box-shadow: inset 0 0 0 1px currentColor; } i.pad { font-style: normal;
  color: var(--muted); }
"""
SPECIAL = {"\u2047": '<b class="mask">M</b>', "\u25a1": '<i class="pad">\u00b7</i>'}


def characters(text: Iterable[str]) -> str:
    """Text of a dataset as HTML: MASK is a boxed M, PAD a pale dot."""
    return "".join(SPECIAL.get(ch) or escape(ch) for ch in text)


def document(
    title: str, top: str, sections: dict[str, str], footer: str, css: str, script: str = ""
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
<style>{charts.CSS}{CSS}{css}</style>
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


def figure(svg: str, caption: str) -> str:
    """A plot with its caption, which is text."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>\n"
