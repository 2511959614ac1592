"""Times the dashboard in Chromium: first paint of each view, and a changed filter.

Usage: python benchmarks/dashboard.py DATABASE [--run NAME] [--other NAME] [--runs N]

Prints a Markdown table for docs/performance.md. First paint: from the request in a new browser
window until the view is drawn and nothing on it is on its way; the first time, the server has not
seen the view's queries before. Filter: from the choice of another rank until then. Medians of N.
Needs playwright and chromium (`make test-browser` sets both up).
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
DRAWN = """() => document.querySelectorAll(
    '[data-testid=stSkeleton], [data-stale=true]').length == 0
    && document.querySelector('[data-testid=stAppViewContainer] h1')"""
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
    start = time.perf_counter()
    page.goto(url)
    _settle(page)
    return page, time.perf_counter() - start


def another_rank(page: Page, rank: int) -> float:
    """Seconds from the choice of a rank in the sidebar until the view is drawn for it."""
    page.get_by_test_id("stSelectbox").filter(has_text="Rank").locator("input").click()
    option = page.get_by_role("option", name=str(rank), exact=True)
    start = time.perf_counter()
    option.click()
    page.wait_for_url(f"**rank={rank}**", timeout=TIMEOUT_MS)
    _settle(page)
    return time.perf_counter() - start


def _settle(page: Page) -> None:
    page.wait_for_selector(DONE, timeout=TIMEOUT_MS)
    page.wait_for_function(DRAWN, timeout=TIMEOUT_MS)


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
