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
from looks import references
from test_dashboard import records_that_learn
from test_debugging import CASES, FIXES, small
from test_encoder_jobs import odd_numbers

__all__ = ["small"]  # a fixture: trainings at a fraction of their size


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


PAGES = [dashboard, *map(debugging, CASES), practice, report, references]


@pytest.mark.full
@pytest.mark.parametrize("build", PAGES)
def test_a_page_is_for_everybody(browser, small, tmp_path, build):
    build(tmp_path)
    (path,) = tmp_path.glob("*.html")
    for size in SIZES:
        for scheme in ("light", "dark"):
            with opened(browser, path, size, scheme, reduced_motion="reduce") as tab:
                tab.evaluate("typeof ready === 'undefined' || ready")
                for closed in tab.locator("summary").all():
                    closed.click()
                assert violations(tab) == [] and sideways(tab) <= 0
                assert smallest_text(tab) >= 9.4
                boxes = tab.locator(".scroll").all()
                assert all(box.get_attribute("tabindex") == "0" for box in boxes)
