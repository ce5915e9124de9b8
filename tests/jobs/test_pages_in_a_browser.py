"""Every page that a job writes, in a real browser: WCAG 2.1 AA, and nothing beyond the sides."""

import pytest

from browser import SIZES, opened, sideways, smallest_text, violations
from helpers import SOLUTION
from jobs.package import load_submission
from jobs.problem5 import report as encoder_report
from jobs.problem6.broken_training import write_page
from jobs.problem6.dashboard import page
from jobs.problem6.practice import practice_monitor
from jobs.targets import TARGETS
from looks import references, written
from test_dashboard import records_that_learn
from test_debugging import CASES, FIXES, shrink
from test_encoder_jobs import odd_numbers


def dashboard(folder):
    alarms = [("exploding_loss", 5000, "It rises."), ("dead_attention", 7000, "Head 3." + "x" * 99)]
    header = {"total_steps": 12_500, "reference_loss": 0.5}
    html = page(header, records_that_learn(), alarms)
    (folder / "page.html").write_text(html, encoding="utf-8")


def debugging(name):
    def build(folder):
        write_page(TARGETS[name], 0, CASES[name](load_submission(SOLUTION, FIXES), 0), folder)

    return build


def practice(folder):
    practice_monitor(load_submission(SOLUTION, "problem6/diagnostics.py"), folder)


def report(folder):
    html = encoder_report.page(*odd_numbers(), seed=0, seconds=1.5)
    (folder / "page.html").write_text(html, encoding="utf-8")


def look(folder):
    """Without weights to compute with, and without attention, the page says so."""
    found, _ = references(folder)
    for shown in found["looks"]:
        shown["weights"] = None
        for seen in shown["seen"] or ():
            seen["attention"] = None
    written(found, folder)


@pytest.fixture(
    scope="module", params=[dashboard, *map(debugging, CASES), practice, report, references, look]
)
def path(request, tmp_path_factory):
    """Each page, of trainings at a fraction of their size."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        request.param(folder)
    (page,) = folder.glob("*.html")
    return page


@pytest.mark.full
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_for_everybody(browser, path, size, scheme):
    with opened(browser, path, size, scheme, reduced_motion="reduce") as tab:
        tab.evaluate("typeof ready === 'undefined' || ready")
        for closed in tab.locator("summary").all():
            closed.click()
        assert violations(tab) == [] and sideways(tab) <= 0 and smallest_text(tab) >= 9.4
        boxes = tab.locator(".scroll").all()
        assert all(box.get_attribute("tabindex") == "0" for box in boxes)
