"""What the pages that jobs make have in common: one file each, light and dark, no scripts, no
network.
"""

LINE = '<path class="{}" d="M0 6H26"/>'  # a sample for legends

CSS = """
:root { color-scheme: light dark; --paper: #fff; --panel: #f5f6f7; --ink: #1c2227;
  --muted: #56616b; --rule: #d8dde1;
  --one: #1d5c87; --two: #a2541a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181b; --panel: #1c2226; --ink: #e3e7ea;
  --muted: #9ba7b0;
  --rule: #343c42; --one: #7fb7dd; --two: #e2a063; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 3rem; background: var(--paper);
  color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p { margin: .5rem 0; max-width: 44rem; } .muted, caption, figcaption { color: var(--muted); }
.small, figcaption { font-size: .875rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .8rem 0;
  min-width: min(100%, 30rem); }
caption { text-align: left; font-size: .875rem; padding-bottom: .3rem; }
th, td { padding: .35rem 0 .35rem 1rem; border-bottom: 1px solid var(--rule); text-align: right;
  vertical-align: top; }
th { font-weight: 500; } thead th { color: var(--muted); font-size: .875rem;
  vertical-align: bottom; }
th:first-child { text-align: left; padding-left: 0; }
tr.sum > * { font-weight: 650; border-top: 2px solid var(--rule); }
td small { display: block; color: var(--muted); white-space: nowrap; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 1rem 2rem; }
figure { margin: .5rem 0; max-width: 30rem; } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--muted); font-size: 11px; } svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--rule); } svg .axis { stroke: var(--muted); fill: none; }
.key { display: inline-block; width: 1.6rem; height: .75rem; vertical-align: -.05rem; }
@media print { :root { --paper: #fff; --panel: #f5f6f7; --ink: #000; --muted: #444; --rule: #bbb;
  --one: #1d5c87;
  --two: #a2541a; }
  body { max-width: none; padding: 0; font-size: 10pt; } figure, table { break-inside: avoid; }
  h2, h3 { break-after: avoid; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact;
  } }
"""


def document(title: str, main: str, footer: str, css: str = "") -> str:
    """A whole page. All but the title is HTML; css: what the page needs besides."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{CSS}{css}</style>
</head>
<body>
<main>
{main}
</main>
<footer class="muted small"><p>{footer}</p></footer>
</body>
</html>
"""


def table(caption: str, head: list[str], rows: list[list[str]], last: bool = False) -> str:
    """An HTML table; the first cell of a row is its heading; `last` sets off the last row as a sum.
    Cells are HTML.
    """
    lines = [
        f'<div class="scroll"><table>\n<caption>{caption}</caption>\n<thead><tr>'
        + "".join(f'<th scope="col">{cell}</th>' for cell in head)
        + "</tr></thead>\n<tbody>"
    ]
    for i, row in enumerate(rows):
        kind = ' class="sum"' if last and i == len(rows) - 1 else ""
        lines.append(
            f'<tr{kind}><th scope="row">{row[0]}</th>'
            + "".join(f"<td>{cell}</td>" for cell in row[1:])
            + "</tr>"
        )
    return "\n".join([*lines, "</tbody></table></div>"])


def key(mark: str) -> str:
    """A sample of a line or bar, for a legend."""
    return f'<svg class="key" viewBox="0 0 26 12" aria-hidden="true">{mark}</svg>'
