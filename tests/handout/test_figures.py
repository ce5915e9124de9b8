"""The handout's figures: letters that can be read as printed, and the signs of MASK and PAD."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from browser import SIZES, opened
from helpers import ROOT, pdftotext

NAMES = sorted(path.stem for path in (ROOT / "handout" / "figures").glob("[a-z]*.py"))
SVG = "{http://www.w3.org/2000/svg}"
TEXT_WIDTH = 6.4 * 72  # points: letter paper, less the margins of macros.tex
FONT = re.compile(r"(?:font: (?:\w+ )*|font-size: )([\d.]+)px")
INDEX = 0.7  # the size of an index in a formula, as a share of its letter's


@pytest.mark.parametrize("name", NAMES)
def test_letters_can_be_read_and_nothing_is_cut_off(handout, name):
    """As printed: letters of at least 7 points, in figures as wide as the text."""
    root = ElementTree.parse(handout / "figures" / f"{name}.svg").getroot()
    # \pic would scale another, and its letters
    assert float(root.get("width").removesuffix("pt")) == pytest.approx(TEXT_WIDTH, abs=0.1)
    texts = list(root.iter(f"{SVG}text"))
    for text in texts:
        # a root is as high as what is under it
        styles = [each.get("style", "") for each in text.iter() if each.text != "√"]
        sizes = [float(size) for style in styles for size in FONT.findall(style)]
        assert max(sizes) >= 7 and min(sizes) >= 8 * INDEX - 1e-3, "".join(text.itertext())
    assert len(texts) > 5
    page = pdftotext(handout / "figures" / f"{name}.pdf", "-bbox")
    right, bottom = map(float, re.search(r'<page width="(.*?)" height="(.*?)"', page).groups())
    words = re.findall(r'xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)<', page)
    assert words
    for *box, word in words:
        x0, y0, x1, y1 = map(float, box)
        # a line's box is higher than its letters
        assert x0 > -0.5 and x1 < right + 0.5 and y0 > -2 and y1 < bottom + 2, word


def test_signs_stand_for_mask_and_pad_and_are_copied_as_the_characters(handout):
    """The PDF draws M and a dot."""
    text = pdftotext(handout / "handout.pdf")
    assert re.search(r"born\?\s*\u2047\s*\w+\s*\u2047\s*\u25a1+", text)
    html = (handout / "handout.html").read_text(encoding="utf-8")
    assert re.search(r'born\?<span class="mask">\u2047</span>\w+<span class="mask">', html)
    rest = re.sub('<span class="(?:mask">\u2047|pad">\u25a1)</span>', "", html)
    assert not re.search("[\u2047\u25a1]", rest), "each has an element"


@pytest.mark.full
@pytest.mark.parametrize("size", SIZES)
def test_signs_are_one_letter_wide_in_the_page(handout, browser, size):
    measure = """code => { const range = document.createRange(), text = code.firstChild;
        range.setStart(text, 0); range.setEnd(text, 10);
        return range.getBoundingClientRect().width / 10; }"""
    drawn = "each => getComputedStyle(each, '::after').content"
    with opened(browser, handout / "handout.html", size) as tab:
        pre = tab.locator("pre", has=tab.locator(".mask")).first
        letter = pre.locator("code").evaluate(measure)
        for kind, sign in (("mask", "M"), ("pad", "\u00b7")):
            element = pre.locator(f".{kind}").first
            assert element.evaluate(drawn).strip('"') == sign
            assert element.bounding_box()["width"] == pytest.approx(letter, abs=0.2)
