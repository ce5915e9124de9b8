"""Pages in a real browser, offline: clicks, and the rules of WCAG 2.1 AA."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
FLAGS = ["--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]


@contextlib.contextmanager
def chromium() -> Iterator["playwright.sync_api.Browser"]:  # noqa: F821
    """Debian's Chromium. Without it a test is skipped, or fails if REQUIRE_BROWSER is set."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if not path:
        from helpers import lack

        lack("Chromium", "apt install chromium", os.environ.get("REQUIRE_BROWSER"))
    from playwright.sync_api import sync_playwright

    # root needs --no-sandbox; the pages are our own
    options = {"args": [*FLAGS, "--no-sandbox"], "chromium_sandbox": False}
    with sync_playwright() as playwright:
        with playwright.chromium.launch(executable_path=path, **options) as browser:
            yield browser


@contextlib.contextmanager
def opened(browser, path: Path, size: str = "wide", scheme: str = "light", **context):
    """That file in a tab, which must load nothing else and log no error."""
    width, height = SIZES[size]
    options = {"viewport": {"width": width, "height": height}, "color_scheme": scheme, **context}
    with browser.new_context(**options) as window:
        tab, faults = window.new_page(), []
        tab.on("pageerror", lambda error: faults.append(f"script: {error}"))
        tab.on("console", lambda line: line.type == "error" and faults.append(line.text))
        tab.on("request", lambda asked: asked.url.startswith("http") and faults.append(asked.url))
        tab.goto(Path(path).resolve().as_uri())
        yield tab
        assert faults == []


def violations(tab) -> list[str]:
    """What axe-core finds against WCAG 2.1 AA, one line for each element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab, options={"runOnly": {"type": "tag", "values": RULES}}).response
    return [
        f"{rule['id']}: {', '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def sideways(tab) -> int:
    """By how many pixels the page is wider than its window."""
    return tab.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def smallest_text(tab) -> float:
    """The pixels of the smallest text in a chart."""
    return tab.evaluate("""Math.min(...[...document.querySelectorAll("svg[role=img] text")].map(
        text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a
            || Infinity))""")
