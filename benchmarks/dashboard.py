"""Times the dashboard in Chromium: first paint of each view, and a changed filter.

Usage: python benchmarks/dashboard.py DATABASE [--run NAME] [--other NAME] [--runs N]

Prints a Markdown table for docs/performance.md. First paint: from the request in a new browser
window until the last change of the view, by the page's own clock: of its elements, or on the
canvas of a chart or table. The first time, the server has not seen the view's queries before.
Filter: from the click on another rank until then. Medians of N. Needs playwright and chromium
(`make test-browser` sets both up).
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal
from urllib.error import URLError

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

Scheme = Literal["light", "dark"]
DONE = '[data-testid="stApp"][data-test-script-state="notRunning"]'
QUIET_MS = 400
WATCH = """
window.clicked = window.changed = 0
const change = () => { window.changed = performance.now() }
const drawing = CanvasRenderingContext2D.prototype
for (const name of ['fill', 'stroke', 'fillRect', 'strokeRect', 'fillText', 'drawImage']) {
    const draw = drawing[name]
    drawing[name] = function (...given) { change(); return draw.apply(this, given) }
}
const isShown = ({target}) => {
    const element = target.nodeType == Node.ELEMENT_NODE ? target : target.parentElement
    return element?.closest('[data-testid=stMain]') && !element.closest('canvas')
}
new MutationObserver(changes => { if (changes.some(isShown)) change() }).observe(
    document, {subtree: true, childList: true, characterData: true, attributes: true})
addEventListener('click', () => { window.clicked = performance.now() }, true)
"""
"""Keeps when the page was clicked, and when what it shows changed: in ms since the request."""

DRAWN = f"""() => document.querySelector('[data-testid=stMain] h1')
    && !document.querySelector('[data-testid=stSkeleton], [data-stale=true]')
    && [...document.querySelectorAll('[data-testid=stVegaLiteChart], [data-testid=stDataFrame]')]
        .every(element => element.querySelector('canvas, svg'))
    && performance.now() - window.changed > {QUIET_MS}"""
TIMEOUT_MS = 120_000


@contextmanager
def dashboard(db: str) -> Iterator[str]:
    """Address of a dashboard over the database, as long as the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "tracekit", "app", "--no-browser", "--port", str(port)]
    server = subprocess.Popen(
        [*words, "--db", db], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not _answers(f"http://127.0.0.1:{port}/_stcore/health"):
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def _answers(url: str) -> bool:
    with suppress(URLError), urllib.request.urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def views(browser: Browser, address: str) -> list[str]:
    """Paths of the views in the menu."""
    page, _ = first_paint(browser, address)
    links = page.get_by_test_id("stSidebarNavLink").all()
    paths = [str(link.get_attribute("href")).rpartition("/")[2].partition("?")[0] for link in links]
    page.close()
    return paths


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's browser, which asks no host of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking"],
        )
        yield browser
        browser.close()


def first_paint(
    browser: Browser, url: str, *, height: int = 800, color_scheme: Scheme = "light"
) -> tuple[Page, float]:
    """The page in a window of its own, and the seconds until it is drawn."""
    size = ViewportSize(width=1280, height=height)
    page = browser.new_page(viewport=size, color_scheme=color_scheme)
    page.add_init_script(WATCH)
    page.goto(url)
    return page, _settled(page)


def another_rank(page: Page, rank: int) -> float:
    """Seconds from the choice of a rank in the sidebar until the view is drawn for it."""
    page.get_by_test_id("stSelectbox").filter(has_text="Rank").locator("input").click()
    page.get_by_role("option", name=str(rank), exact=True).click()
    clicked: float = page.evaluate("window.clicked / 1000")
    page.wait_for_url(f"**rank={rank}**", timeout=TIMEOUT_MS)
    return _settled(page) - clicked


def _settled(page: Page) -> float:
    """Seconds from the request of the page until the last change of what it shows."""
    page.wait_for_selector(DONE, timeout=TIMEOUT_MS)
    page.wait_for_function(DRAWN, timeout=TIMEOUT_MS)
    changed: float = page.evaluate("window.changed / 1000")
    return changed


def main() -> None:
    """Time all views as the command line says."""
    parser = argparse.ArgumentParser(description="Time the dashboard's views.")
    parser.add_argument("database")
    parser.add_argument("--run", default="story_eagle3")
    parser.add_argument("--other", default="story_baseline")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    print("| view | first paint, s | the first time, s | another rank, s |\n|---|---|---|---|")
    with dashboard(given.database) as address, chromium() as browser:
        for view in views(browser, address):
            paints, filters = [], []
            for number in range(given.runs):
                url = f"{address}/{view}?run={given.run}&other={given.other}"
                page, seconds = first_paint(browser, url)
                paints.append(seconds)
                filters.append(another_rank(page, number))
                page.close()
            print(
                f"| {view or 'overview'} | {statistics.median(paints):.2f} | {paints[0]:.2f}"
                f" | {statistics.median(filters):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
