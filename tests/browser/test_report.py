"""The HTML report in Chromium, without a network."""

import pytest
from click.testing import CliRunner
from database import write_database
from hostile import hostile
from samples import baseline, drafting

from tracekit.cli import main

pytestmark = pytest.mark.browser

RUNS = {"one": ["baseline"], "two": ["baseline", "drafting"], "hostile": ["hostile"]}


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "runs.duckdb"
    return write_database(path, baseline, drafting, hostile)


@pytest.fixture(scope="module", params=RUNS)
def report(request, db, tmp_path_factory):
    target = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    words = ["report", *RUNS[request.param], "-o", str(target), "--db", str(db)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return target


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_logged_run_or_asked_of_a_network(report, open_page, scheme):
    page, seen = open_page(report.as_uri(), color_scheme=scheme)
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for details in page.locator("details").all():
        details.evaluate("element => element.open = true")
    page.wait_for_load_state("networkidle")
    assert seen.errors == []
    assert seen.requests == [report.as_uri()]
    assert dialogs == []
    assert page.locator("script, iframe, img, object, a[href^=javascript]").count() == 0


def test_the_page_is_as_wide_as_its_window(report, open_page):
    page, _ = open_page(report.as_uri())
    for width in (1280, 600):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_light_and_dark_are_the_readers_choice(report, open_page):
    colors = {
        scheme: open_page(report.as_uri(), color_scheme=scheme)[0].evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    }
    assert colors["light"] != colors["dark"]


def test_it_prints_light_whatever_the_screen_is(report, open_page):
    page, _ = open_page(report.as_uri(), color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    red, *_ = page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)")
    assert red < 128
    assert page.pdf().startswith(b"%PDF")
