"""Debian's Chromium, driven by playwright; what a page logs or asks of the network is kept."""

import os
import shutil
from dataclasses import dataclass, field

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
"""Root needs the first; the others keep Chromium from asking hosts of its own."""


@dataclass
class Seen:
    """What a page did that nobody sees on it."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self, page):
        page.on("console", self._logged)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _logged(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.location['url']}: {message.text}")


def executable():
    found = os.environ.get("TRACEKIT_CHROMIUM") or next(
        filter(None, map(shutil.which, NAMES)), None
    )
    assert found, "no Chromium: `apt-get install chromium`, or set TRACEKIT_CHROMIUM"
    return found


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright  # collected where it is not installed, too

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Opens pages of their own context: `open_page(url, color_scheme="dark")` -> page, Seen."""
    contexts = []

    def opened(url, **settings):
        size = {"width": 1280, "height": 800}
        contexts.append(chromium.new_context(viewport=size, **settings))
        page, seen = contexts[-1].new_page(), Seen()
        seen.listen(page)
        page.goto(url)
        return page, seen

    yield opened
    for context in contexts:
        context.close()
