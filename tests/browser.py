"""Pages in a real browser, offline: pictures, clicks, and the rules of WCAG 2.1 AA.

`python tests/browser.py PAGE... --out DIR` takes pictures of pages, wide and narrow, light and dark.
"""

import argparse
import contextlib
import os
import re
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

    with sync_playwright() as playwright:
        # root needs --no-sandbox; the pages are our own
        browser = playwright.chromium.launch(
            executable_path=path, args=[*FLAGS, "--no-sandbox"], chromium_sandbox=False
        )
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def opened(browser, path: Path, size: str = "wide", scheme: str = "light", **context):
    """That file in a tab, which must load nothing else and log no error."""
    width, height = SIZES[size]
    tab = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, **context
    ).new_page()
    faults = []
    tab.on("pageerror", lambda error: faults.append(f"script: {error}"))
    tab.on("console", lambda line: line.type == "error" and faults.append(line.text))
    tab.on("request", lambda asked: asked.url.startswith("http") and faults.append(asked.url))
    tab.goto(Path(path).resolve().as_uri())
    try:
        yield tab
        assert faults == []
    finally:
        tab.context.close()


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
        text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a || Infinity))""")


def main():
    """Take the pictures, and print what breaks the rules."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--at", metavar="SELECTOR", help="only this element")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for page in options.pages:
            for size in SIZES:
                for scheme in ("light", "dark"):
                    name = f"{re.sub(r'[^A-Za-z0-9]+', '-', page.stem)}-{size}-{scheme}.png"
                    with opened(browser, page, size, scheme) as tab:
                        what = tab.locator(options.at).first if options.at else tab
                        what.screenshot(
                            path=options.out / name, **({} if options.at else {"full_page": True})
                        )
                        print(name, *violations(tab), f"{sideways(tab)} px sideways", sep="\n  ")


if __name__ == "__main__":
    main()
