"""The dashboard in Chromium: every view, its numbers, its links and its downloads."""

import sys
from pathlib import Path

import pytest
from database import write_database
from free_port import free_port
from hostile import hostile
from samples import baseline, drafting, stalled
from serving import serving

import tracekit

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "sample_traces").glob("vllm_cpu_tp2_*"))
DONE = '[data-testid="stApp"][data-test-script-state="notRunning"]'
TIMEOUT_MS = 30_000


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("dashboard") / "runs.duckdb"
    write_database(path, baseline, drafting, stalled, hostile)
    tracekit.ingest(RECORDED, each=True, db=path)
    return path


@pytest.fixture(scope="module")
def url(db):
    port = free_port()
    words = [sys.executable, "-m", "tracekit", "app", "--no-browser", "--port", str(port)]
    with serving([*words, "--db", str(db)], port, health="/_stcore/health") as address:
        yield address


@pytest.fixture
def view(url, open_page):
    """Opens a view, waits until it is drawn, and gives the page and what it did unseen."""

    def opened(name="", query="", **settings):
        page, seen = open_page(f"{url}/{name}?{query}", **settings)
        settle(page)
        return page, seen

    return opened


def settle(page):
    """Wait until the script has run and nothing on the page is on its way."""
    page.wait_for_selector(DONE, timeout=TIMEOUT_MS)
    page.wait_for_function(
        "document.querySelectorAll('[data-testid=stSkeleton], [data-stale=true]').length == 0"
    )


def links(page):
    return [link.get_attribute("href") for link in page.get_by_test_id("stSidebarNavLink").all()]


def names(page):
    """Of the views, the first has no path of its own."""
    return [link.rpartition("/")[2].partition("?")[0] for link in links(page)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("run", ["vllm_cpu_tp2_draft", "baseline", "stalled", "hostile"])
def test_no_view_fails_or_logs_an_error_or_asks_another_host(view, url, run, scheme):
    for name in names(view()[0]):
        page, seen = view(name, f"run={run}&other=drafting", color_scheme=scheme)
        assert page.get_by_test_id("stException").count() == 0, name
        assert seen.errors == [], name
        assert [
            asked for asked in seen.requests if not asked.startswith((url, "data:", "blob:"))
        ] == []
