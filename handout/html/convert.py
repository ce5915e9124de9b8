"""Write the handout's HTML edition, one file for phones and screen readers, from the LaTeX sources
of the PDF.

pandoc converts the file of `python -m instructor latex`, with the commands of commands.tex in place
of ../macros.tex and formulas as MathML, and filter.lua makes boxes, hints, figures and numbers.
Anything that would be lost is an error, since nobody compares the editions by eye.

    python html/convert.py HANDOUT.tex FIGURES OUT.html
"""

import argparse
import base64
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
HANDOUT = HERE.parent
sys.path[:0] = [str(HERE), str(HANDOUT.parent), str(HANDOUT.parent / "src")]

# noqa: E402 (the three folders first)
from formulas import adjusted, math_font

from common.files import UserError, read_text, write_text
from instructor.documents.sources import Sources

COMMANDS = HERE / "commands.tex"

# pandoc may skip these: they only affect the look
LOOKS = set(
    """
    appendix arraybackslash bgroup bigskip centering clearpage color egroup footnotesize hspace
    hspace* large Large LARGE linewidth medskip needspace Needspace* newpage noindent normalfont
    normalsize pagebreak raggedright setlength small smallskip tableofcontents textwidth vspace
    vspace*
    """.split()
)
OPTIONS = """
    --from=latex --to=html5 --mathml --standalone --toc --toc-depth=3 --no-highlight
    --shift-heading-level-by=1 --wrap=preserve --metadata=lang:en-US --verbose --fail-if-warnings
    """.split()
HOW = "Define it in html/commands.tex, or write it differently."
# How the two special characters are shown; style.css draws them.
SIGNS = {"\u2047": "mask", "\u25a1": "pad"}


def convert(text: str, figures: Path, find: Callable[[str], str]) -> str:
    """The HTML edition of a handout.

    Args:
        text: all of its LaTeX.
        figures: the folder of the SVGs.
        find: says in which file and line of the sources something first occurs.

    Raises:
        UserError: something in the sources would be lost, or pandoc is missing.
    """
    preamble, _, document = text.partition("\\begin{document}")
    document, _, _ = document.partition("\\end{document}")
    mathematics = preamble.partition("% Mathematics\n")[2].partition("\n%")[0]
    title = re.search(r"\\title\{.*\}|$", preamble)[0]
    for kind in ("terminal", "python"):  # pandoc expands no commands in listings
        listing = rf"\\begin{{lstlisting}}[language={kind}]"
        document = re.sub(rf"\\begin\{{{kind}\}}(\[[^]\n]*\])?", listing, document)
        document = document.replace(f"\\end{{{kind}}}", "\\end{lstlisting}")
    # pandoc would treat it as a cell
    document = re.sub(r"\\cmidrule(\([lr]+\))?\{[^}]*\}", "", document)
    html = _pandoc("\n".join([mathematics, read_text(COMMANDS), title, document]), find)
    for sign, kind in SIGNS.items():  # outside of tags
        html = re.sub(f"{sign}(?![^<]*>)", f'<span class="{kind}">{sign}</span>', html)
    body = re.sub(r"(?s)<(style|script)>.*?</\1>", "", html)
    ids = re.findall(r'\sid="([^"]+)"', body)
    # the text, and the alternative texts of pictures
    words = re.sub(r"(?s)<(code|annotation)\b.*?</\1>|<(?!img)[^>]*>", "\n", body)
    if left := re.search(r'[^"\n]{0,40}\\[^"\n]{0,40}', words):
        raise UserError(f"The text of the HTML edition has TeX in it: {left[0]!r}. {HOW}")
    if twice := [id for id, count in Counter(ids).items() if count > 1]:
        raise UserError(
            f"{twice[0]!r} is there twice in the HTML edition. Name questions, figures and labels "
            "once."
        )
    for link in re.findall(r'\shref="#([^"]*)"', body):
        if link not in ids:
            label = f"{{{link[2:]}}}" if link.startswith("q-") else link.replace("-", ":", 1)
            raise UserError(
                f"{find(label)}: a link leads to {link!r}, which does not exist. Correct "
                "the name, or write its target."
            )
    html = adjusted(html)
    html = html.replace("<style>", f"<style>\n{math_font(html)}", 1)
    # pandoc's role for a footnote is deprecated
    html = html.replace(' role="doc-endnote"', "")
    html = re.sub(
        '<figure(.*?)src="figure:([^"]*)"',
        lambda match: _figure(match[1], figures / match[2], find),
        html,
        flags=re.DOTALL,
    )
    return html


def _pandoc(text: str, find: Callable[[str], str]) -> str:
    """pandoc's output, if it skips only what affects the look."""
    command = [
        "pandoc",
        *OPTIONS,
        f"--template={HERE / 'template.html'}",
        f"--lua-filter={HERE / 'filter.lua'}",
        f"--variable=style:{read_text(HERE / 'style.css')}",
        f"--variable=script:{read_text(HERE / 'contents.js')}{read_text(HERE / 'dials.js')}",
    ]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8")
    except FileNotFoundError:
        raise UserError(
            "pandoc is not installed, and the HTML edition needs it. Install it with `apt install "
            "pandoc` or `brew install pandoc`, or from https://pandoc.org/installing.html"
        ) from None
    size = r"[\d.]+(?:cm|mm|in|pt|em|ex)?$"
    for skipped in re.findall(r"\[INFO\] Skipped '(.*?)' at ", done.stderr, re.DOTALL):
        if re.match(size, skipped):
            continue
        name = re.match(r"\\(?:begin|end)\{([^}]*)\}|\\([A-Za-z]+\*?|.)", skipped)
        if name and (name[2] in LOOKS or (name[1] or "").startswith("edition-")):
            continue
        what = skipped if not name else f"\\begin{{{name[1]}}}" if name[1] else f"\\{name[2]}"
        raise UserError(f"{find(what)}: the HTML edition does not support {what}. {HOW}")
    if done.returncode:
        formula = re.search(
            r"Could not convert TeX math.*?rendering as TeX:(.*?)\n *\^", done.stderr, re.DOTALL
        )
        if said := re.search(r"filter\.lua:\d+: (.*?(\\\w+(?:\{.*?\})*).*)", done.stderr):
            raise UserError(f"{find(said[2])}: {said[1]}.")
        where = ""
        if names := re.findall(r"\\[A-Za-z]+", formula[1]) if formula else []:
            where = (
                f"{find(names[-1])}, perhaps: pandoc cannot write this formula as MathML, "
                f"because of {names[-1]}. {HOW}\n"
            )
        lines = re.findall(r"^(?!\[INFO\])(?=.*\S).*", done.stderr, re.MULTILINE)
        raise UserError(where + "pandoc says:\n" + "\n".join(lines[:12]))
    return done.stdout


def _figure(before: str, figure: Path, find: Callable[[str], str]) -> str:
    """A figure's start, up to its picture as a data URI without its date.

    What the figure's script wrote as NAME.json is for the dial of dials.js.
    """
    path = figure.with_suffix(".svg")
    if not path.exists():
        where = find(f"\\pic{{{figure.name}}}")
        raise UserError(
            f"{where}: {path} does not exist. figures/{figure.name}.py has to draw it; `make` runs "
            "the scripts."
        )
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", read_text(path), flags=re.DOTALL)
    picture = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    data = figure.with_suffix(".json")
    values = f' data-values="{escape(read_text(data).strip())}"' if data.exists() else ""
    return f'<figure{values}{before}src="{picture}"'


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description="Write the HTML edition of the handout.")
    parser.add_argument("latex", type=Path, help="as `python -m instructor latex` writes it")
    parser.add_argument("figures", type=Path, help="where the figures' scripts wrote the SVGs")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    try:
        write_text(args.out, convert(read_text(args.latex), args.figures, Sources({}).find))
    except UserError as error:
        print(f"The handout's HTML edition: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
