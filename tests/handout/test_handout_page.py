"""The handout's HTML edition in a real browser: anybody can read it, and its dials are right."""

import json
import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from browser import SIZES, opened, sideways, violations

pytestmark = pytest.mark.full
NUMBER = r"−?\d+(?:\.\d+)?"


@pytest.fixture
def page(handout):
    return handout / "handout.html"


@pytest.fixture
def tab(browser, page):
    """The page in a wide window, as someone has it who wants little motion."""
    with opened(browser, page, reduced_motion="reduce") as tab:
        yield tab


def numbers(tab, figure):
    """The numbers that a dial says."""
    said = re.findall(NUMBER, tab.locator(f"#fig-{figure} output").inner_text())
    return [float(number.replace("−", "-")) for number in said]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_follows_wcag_nothing_makes_it_wider_and_figures_are_as_light(
    browser, page, size, scheme
):
    with opened(browser, page, size, scheme) as tab:
        assert sideways(tab) == 0
        for picture in tab.locator("figure:not(.replaced) .scroll").all():
            pixels = np.asarray(Image.open(BytesIO(picture.screenshot())).convert("L"), int)
            light = scheme == "light"
            assert (pixels[-1, 0] > 225) == (np.median(pixels) > 128) == light
            assert light or pixels[-1, 0] < 50
            assert (abs(pixels - pixels[-1, 0]) > 130).mean() > 4e-3, "ink"
        tab.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert violations(tab) == [] and sideways(tab) == 0


def test_what_is_too_wide_for_a_phone_scrolls_and_says_so(browser, page):
    with opened(browser, page, "narrow") as tab:
        boxes = tab.locator("figure:not(.replaced) .scroll")
        assert boxes.count() > 5
        for box in boxes.all():
            assert box.evaluate("box => box.scrollWidth > box.clientWidth + 50")
            cue = "box => getComputedStyle(box, '::before').content"
            assert "Scroll sideways" in box.evaluate(cue)
        wide = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).length"
        assert tab.locator("pre, .scroll:has(table)").evaluate_all(wide) > 10
    with opened(browser, page) as tab:
        assert tab.locator("figure .scroll").evaluate_all(wide) == 0


def test_the_contents_mark_the_section(tab, seed):
    marked = "[...document.querySelectorAll('nav [aria-current]')].map(link => link.hash)"
    ids = tab.evaluate("[...document.querySelectorAll('nav a')].map(link => link.hash)")
    for hash in [*np.random.default_rng(seed).permutation(ids)[:8], ids[-1], ids[0]]:
        tab.evaluate("hash => document.querySelector(hash).scrollIntoView()", hash)
        tab.wait_for_function(f"{marked}.join() === {json.dumps(str(hash))}", timeout=5000)
        link = tab.locator(f"nav a[href='{hash}']").bounding_box()
        assert 0 < link["y"] < SIZES["wide"][1] - link["height"]
    assert len(ids) > 30
    tab.evaluate("scrollTo(0, document.querySelector('#q-1d').offsetTop - 400)")
    tab.wait_for_function(f"{marked}.join() === '#q-1c'", timeout=5000)


def test_the_score_of_rope_depends_on_the_distance(tab, seed):
    """One pair of features: query at 0.2, key at -0.5, turned by 0.5 for each position."""
    rng = np.random.default_rng(seed)
    query, key = tab.locator("#fig-rotation input[type=range]").all()
    lock = tab.locator("#fig-rotation input[type=checkbox]")
    arrow = tab.locator("#fig-rotation g.query")
    assert arrow.evaluate("arrow => getComputedStyle(arrow).transitionDuration") == "0s"
    for _ in range(3):
        lock.uncheck()
        first, second = rng.integers(0, 21, size=2)
        query.fill(str(first))
        key.fill(str(second))
        distance, turned, _, between, score = numbers(tab, "rotation")
        angle = 0.7 + 0.5 * (first - second)
        assert distance == first - second and turned == round(np.degrees(first / 2))
        assert score == pytest.approx(np.cos(angle), abs=6e-4)
        assert np.cos(np.radians(between)) == pytest.approx(np.cos(angle), abs=0.01)
        lock.check()
        places = set()
        for slider in 4 * (query, key):
            slider.fill(str(rng.integers(0, 21)))
            assert int(query.input_value()) - int(key.input_value()) == distance
            assert numbers(tab, "rotation")[3:] == [between, score]
            places.add(arrow.evaluate("arrow => arrow.style.transform"))
        assert len(places) > 1 or abs(distance) == 20


def test_the_scale_of_the_scores(tab, handout):
    """The weights are those of the scores that the figure was drawn from."""
    rows = json.loads((handout / "figures" / "score_scale.json").read_text(encoding="utf-8"))
    assert [size for size, _ in rows] == [2**power for power in range(2, 11)]
    slider = tab.locator("#fig-score_scale input")
    bars = tab.locator("#fig-score_scale .bars span")
    for index, (size, scores) in enumerate(rows):
        slider.fill(str(index))
        assert slider.get_attribute("aria-valuetext") == str(size)
        weights = [np.exp(scores), np.exp(scores / np.sqrt(size))]
        weights = [part / part.sum() for part in weights]
        shown, _, *largest = numbers(tab, "score_scale")
        assert shown == size
        assert largest == pytest.approx([part.max() for part in weights], abs=6e-4)
        heights = bars.evaluate_all("bars => bars.map(bar => parseFloat(bar.style.height))")
        assert heights == pytest.approx(100 * np.concatenate(weights), abs=1e-3)


def test_without_scripts_and_on_paper_the_pictures_stand(browser, page):
    with opened(browser, page, java_script_enabled=False) as tab:
        assert tab.locator("fieldset").count() == 0
        assert tab.locator("#fig-score_scale img").is_visible()
        assert tab.locator("nav a").last.is_visible(), "the contents are open at the side"
    with opened(browser, page) as tab:
        picture, dial = (tab.locator(f"#fig-score_scale {part}") for part in ("img", "fieldset"))
        assert dial.is_visible() and not picture.is_visible()
        tab.emulate_media(media="print")
        assert picture.is_visible() and not dial.is_visible()
        assert sideways(tab) == 0
