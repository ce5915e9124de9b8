"""Formulas for browsers: pandoc's MathML adjusted to MathML Core, and a font with a MATH table.

Few systems have such a font, and without one brackets don't grow. Latin Modern Math comes with TeX,
and the GUST Font License permits embedding.
"""

import base64
import html
import re
import subprocess
import unicodedata
from io import BytesIO

from fontTools import subset

from common.files import UserError

NAME = "latinmodern-math.otf"
BOLD = {ord("0") + digit: 0x1D7CE + digit for digit in range(10)}


def adjusted(page: str) -> str:
    """The page with its formulas adjusted for browsers."""
    return re.sub("<math.*?</math>", _formula, page, flags=re.DOTALL)


def math_font(page: str) -> str:
    """A CSS rule with the part of the font that the formulas of a page need.

    Raises:
        UserError: TeX does not find the font.
    """
    try:
        found = subprocess.run(["kpsewhich", NAME], capture_output=True, encoding="utf-8")
        path = found.stdout.strip()
    except FileNotFoundError:
        path = ""
    if not path:
        raise UserError(
            f"TeX does not find {NAME}, the font of the HTML edition's formulas. Install it with "
            "`apt install lmodern`, or `tlmgr install lm-math`."
        )
    formulas = "".join(re.findall("<math.*?</math>", page, re.DOTALL))
    formulas = formulas.replace("<msqrt>", "√")  # drawn by browsers
    shown = {*html.unescape(re.sub("<annotation.*?</annotation>|<[^>]*>", "", formulas))}
    options = subset.Options(flavor="woff", layout_features=["*"], recalc_timestamp=False)
    options.drop_tables += ["FFTM"]
    font = subset.load_font(path, options)
    # browsers draw a single letter, MathML's variable, in its slanted form
    slanted = {
        char
        for char in map(chr, font.getBestCmap())
        if (char == "ℎ" or unicodedata.name(char, "").startswith("MATHEMATICAL ITALIC"))
        and unicodedata.normalize("NFKC", char) in shown
    }
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(shown | slanted))
    subsetter.subset(font)
    file = BytesIO()
    subset.save_font(font, file, options)
    data = base64.b64encode(file.getvalue()).decode()
    return f'@font-face {{ font-family: "Handout Math"; src: url(data:font/woff;base64,{data}) }}'


def _formula(match: re.Match) -> str:
    """A formula of pandoc's, adjusted for browsers.

    Only brackets that should grow are stretchy, functions are close to their arguments, upright
    letters and bold digits are marked as MathML Core, unlike MathML 3, requires.
    """
    math = match[0]
    if not re.search(r"\\left|matrix}|{cases}", math):
        math = math.replace('stretchy="true"', 'stretchy="false"')
    flat = (
        r'(form="prefix">[^<]*</mo>(?:(?!<mrow|<mtable|<mfrac|<munder|</?mtd).)*?<mo '
        r')stretchy="true"( form="postfix")'
    )
    math = re.sub(f'stretchy="true" {flat}', r'stretchy="false" \1stretchy="false"\2', math)
    math = re.sub('(form="(?:prefix|postfix)")>([∥|])', r'\1 lspace="0" rspace="0">\2', math)
    math = re.sub(
        '<mstyle mathvariant="normal">(.*?)</mstyle>',
        lambda part: part[1].replace("<mi>", '<mi mathvariant="normal">'),
        math,
    )
    math = re.sub(
        r'<mstyle mathvariant="bold"><mn>(\d+)</mn></mstyle>',
        lambda part: f"<mn>{part[1].translate(BOLD)}</mn>",
        math,
    )
    math = re.sub(
        r"<mo>([A-Za-z]{2,})</mo>(?=(?:<mrow>)?<mo[^>]*>\()",
        r'<mo lspace="0.1em" rspace="0">\1</mo>',
        math,
    )
    # Chromium paints only a part of a bar that grows: style.css draws it
    bar = '<mover(>(?:(?!</?mover>).)*<mo accent="true">¯</mo></mover>)'
    math = re.sub(bar, r'<mover class="bar"\1', math)
    return re.sub(r"<mo>([A-Za-z]{2,})</mo>", r'<mo lspace="0.1em" rspace="0.15em">\1</mo>', math)
