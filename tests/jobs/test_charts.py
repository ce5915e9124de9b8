"""Charts: what an axis shows, what is drawn of odd values, and that text is escaped."""

import math

import pytest

from common import charts
from common.charts import Axis, Plot, extent, powers, round_numbers, thin
from page import Page

LINEAR = [(0, 1), (-2.5, 17), (0, 123_456), (3, 3), (1e-9, 2e-9)]
LOGARITHMIC = [(1e-7, 40), (0.2, 0.3), (1e-300, 1e300)]


@pytest.mark.parametrize(("low", "high"), LINEAR + LOGARITHMIC)
def test_ticks_cover_the_data(low, high):
    log = (low, high) in LOGARITHMIC
    ticks = (powers if log else round_numbers)(low, high)
    assert ticks[0] <= low or ticks[0] == pytest.approx(low)
    assert ticks[-1] >= high or ticks[-1] == pytest.approx(high)
    assert 2 <= len(ticks) <= 8
    axis = Axis(ticks, "height", log=log)
    shares = [axis.share(tick) for tick in ticks]
    assert shares[0] == 0 and shares[-1] == 1
    assert all(b - a == pytest.approx(shares[1]) for a, b in zip(shares, shares[1:]))


def test_long_lines_keep_their_extremes():
    points = [(i, float(i % 7)) for i in range(10_000)]
    points[5000] = (5000, 99.0)
    kept = thin(points)
    assert (5000, 99.0) in kept and kept == sorted(set(kept))
    assert len(kept) <= charts.POINTS + 2


def test_what_is_drawn_of_odd_values():
    values = [math.nan, math.inf, -math.inf, 0.0, 5e-324, 2.0, 1.7e308]
    assert extent(values) == (0, charts.LARGEST) and extent(values, log=True)[0] == 2
    assert extent([math.nan]) == extent([], log=True) == (1, 1)
    axis = Axis([0, 1, 2], last=1.5)
    assert [axis.share(value) for value in (-9, 0.75, 1e308, math.nan)] == [0, 0.5, 1, 0]
    plot = Plot(100, (30, 10, 90, 70), axis, Axis([1]))
    plot.line([(0, math.nan), (1, math.inf)])
    plot.bar((0, 1), (0, 0))
    svg = plot.svg("")
    assert "nan" not in svg and "inf" not in svg and 'class="line"' not in svg
    assert "rect" not in svg and ">2<" not in svg  # beyond the end


def test_text_is_escaped_and_the_chart_has_a_name():
    hostile = "\"'><script>&"
    axis = Axis([0, 1], hostile, lambda value: hostile)
    plot = Plot(300, (80, 10, 200, 90), axis, axis)
    plot.bar((0, 1), (0, 1), title=hostile)
    labels = [(hostile, "word")]
    for svg in (plot.svg(hostile), charts.heat_map([[1.0]], labels, hostile)):
        page = Page(svg)
        assert "<script" not in svg and hostile in page.text
        tag, attrs = page.tags[0]
        assert tag == "svg" and attrs["role"] == "img" and attrs["aria-label"] == hostile
