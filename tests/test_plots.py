"""Plots of pages: in the page's colors, by their names, with text that obeys nobody."""

import re

from common import pages
from helpers import Page

HOSTILE = "\"'><script>&"


def draw(label, value=1.0):
    with pages.plotted() as drawing:
        axes = drawing.subplots()
        axes.plot([0, 1, 2], [value, 2, 3], color=pages.ACCENT, label=label)
        axes.set(title=label, xlabel=label)
        return pages.svg(drawing, label)


def test_text_is_escaped_and_the_plot_has_a_name():
    page = Page(draw(HOSTILE))
    tag, attrs = page.tags[0]
    assert tag == "svg" and attrs["role"] == "img" and attrs["aria-label"] == HOSTILE
    assert page.balanced and "script" not in {tag for tag, _ in page.tags}
    assert page.text.count(HOSTILE) == 2  # as the title, and below the axis


def test_a_page_may_have_several_plots_and_is_the_same_again():
    first, second = draw("a"), draw("b", 1.5)
    ids = [re.findall(r' id="([^"]*)"', drawn) for drawn in (first, second)]
    assert ids[0] and not {*ids[0]} & {*ids[1]} and draw("a") == first
