"""The dashboard in Chromium: every view, its numbers, its links and its downloads."""

import io
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
from database import write_database
from free_port import free_port
from hostile import hostile
from samples import baseline, drafting, stalled
from serving import serving

import tracekit
from tracekit import units

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "sample_traces").glob("vllm_cpu_tp2_*"))
DONE = '[data-testid="stApp"][data-test-script-state="notRunning"]'
DRAWN = """() => [
    ...document.querySelectorAll('[data-testid=stVegaLiteChart], [data-testid=stDataFrame]')
].every(element => element.querySelector('canvas, svg') || !element.checkVisibility())"""
"""Their scripts are loaded where the page has the first of them; one in a tab has to be shown."""

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
    page.wait_for_function(DRAWN)


def names(page):
    """Of the views in the menu; the first has no path of its own."""
    links = page.get_by_test_id("stSidebarNavLink").all()
    return [link.get_attribute("href").rpartition("/")[2].partition("?")[0] for link in links]


@pytest.mark.parametrize(
    ("run", "scheme"),
    [
        ("vllm_cpu_tp2_draft", "light"),
        ("vllm_cpu_tp2_draft", "dark"),
        ("baseline", "dark"),
        ("stalled", "light"),
        ("hostile", "light"),
    ],
)
def test_no_view_fails_or_logs_an_error_or_asks_another_host(view, url, run, scheme):
    for name in names(view()[0]):
        page, seen = view(name, f"run={run}&other=drafting", color_scheme=scheme)
        assert page.get_by_test_id("stException").count() == 0, name
        assert seen.errors == [], name
        assert [
            asked for asked in seen.requests if not asked.startswith((url, "data:", "blob:"))
        ] == []


RUN, OTHER = "vllm_cpu_tp2_draft", "vllm_cpu_tp2_baseline"
BOTH = {"base": OTHER, "other": RUN}
NUMBERS = [
    ("", "drafts accepted", "spec_totals", {"run": RUN}, "acceptance_rate", units.percent),
    ("step", "busy", "step_list", {"run": RUN, "step": 7}, "busy_share", units.percent),
    ("collectives", "waiting", "comm_skew", {"run": RUN}, "waiting_ns", units.ms),
    ("speculation", "accepted", "spec_totals", {"run": RUN}, "acceptance_rate", units.percent),
    ("compare", "speed-up", "compare_headline", BOTH, "speedup", "{:.2f}".format),
]
"""View, what a figure on it is called, and the report, column and unit it comes from."""

DOWNLOADS = [
    ("", "run_headline", {}),
    ("step", "step_histogram", {"run": RUN}),
    ("collectives", "comm_ranks", {"run": RUN}),
    ("speculation", "spec_phases", {"run": RUN}),
    ("compare", "compare_context", BOTH),
    ("quality", "ledger", {"run": RUN}),
]


def metric(page, name):
    found = page.get_by_test_id("stMetric").filter(has=page.get_by_text(name, exact=True))
    return found.get_by_test_id("stMetricValue").inner_text()


def downloads(page):
    """Tables that the page gives as files, by their names."""
    found = {}
    for button in page.get_by_test_id("stDownloadButton").get_by_role("button").all():
        with page.expect_download() as started:
            button.click()
        file = started.value
        found.setdefault(file.suggested_filename, Path(file.path()).read_text("utf-8"))
    return found


@pytest.mark.parametrize(("name", "label", "report", "params", "column", "written"), NUMBERS)
def test_a_number_of_a_view_is_that_of_the_report(
    view, db, name, label, report, params, column, written
):
    row = tracekit.open(db).report(report, **params).records()[0]
    page, _ = view(name, f"run={RUN}&other={OTHER}&step=7")
    assert metric(page, label).split()[0] == written(getattr(row, column))


@pytest.mark.parametrize(("name", "report", "params"), DOWNLOADS)
def test_downloads_hold_the_rows_of_the_report(view, db, name, report, params):
    page, _ = view(name, f"run={RUN}&other={OTHER}")
    found = downloads(page)
    assert all(found.values())
    expected = tracekit.open(db).report(report, **params).df().to_csv(index=False)
    given, wanted = (pd.read_csv(io.StringIO(text)) for text in (found[f"{report}.csv"], expected))
    pd.testing.assert_frame_equal(given, wanted, check_dtype=False)


def test_a_link_brings_another_reader_to_the_same_view(view):
    page, _ = view("step", f"run={RUN}")
    page.get_by_role("combobox", name="Rank").click()
    page.get_by_role("option", name="1", exact=True).click()
    page.wait_for_url("**rank=1**")
    page.get_by_role("tab", name="Kernels").click()
    page.wait_for_url("**shown=Kernels**")
    settle(page)
    figures = page.get_by_test_id("stMetricValue").all_inner_texts()
    where, _, what = page.url.rpartition("/")[2].partition("?")
    shared, _ = view(where, what)
    assert shared.get_by_role("combobox", name="Rank").input_value() == "1"
    assert shared.get_by_test_id("stDataFrame").is_visible()
    assert shared.get_by_test_id("stMetricValue").all_inner_texts() == figures


def ask(page, query):
    """Run a query on the page for SQL, which begins when the query is in the address."""
    page.get_by_label("Query: one SELECT").fill(query)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("sql") == [query])
    settle(page)


def test_a_query_gives_its_rows_and_its_link(view, db):
    query = "SELECT run, count(*) AS n FROM steps GROUP BY run ORDER BY run"
    page, _ = view("sql")
    ask(page, query)
    expected = tracekit.open(db).sql(query).df().to_csv(index=False)
    assert downloads(page)["query.csv"] == expected
    shared, _ = view("sql", page.url.partition("?")[2])
    assert shared.get_by_label("Query: one SELECT").input_value() == query


def test_what_writes_or_reads_files_is_refused(view, tmp_path):
    page, _ = view("sql")
    for query in (f"COPY (SELECT 1) TO '{tmp_path}/x.csv'", "FROM read_text('/etc/hostname')"):
        ask(page, query)
        page.get_by_test_id("stAlert").wait_for()
        assert page.get_by_test_id("stException").count() == 0
    assert list(tmp_path.iterdir()) == []


def test_three_clicks_tell_what_a_new_user_wants_to_know(view):
    page, _ = view()
    page.get_by_role("combobox", name="Run", exact=True).click()
    page.get_by_role("option", name=RUN, exact=True).click()
    page.wait_for_url(f"**run={RUN}**")
    settle(page)
    words = page.get_by_test_id("stMain").inner_text()
    for topic in ("AllReduce", "Slowest rank", "Do drafts pay?"):
        assert topic in words


CHART = "[role=graphics-document]"
LANES = f"{CHART}[aria-label^='What runs on the device in step']"


def test_a_window_that_is_dragged_over_the_lanes_is_in_the_link(view):
    page, _ = view("step", f"run={RUN}&step=7")
    lanes = page.locator(LANES)
    lanes.scroll_into_view_if_needed()
    box = lanes.bounding_box()
    across, down = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(across, down)
    page.mouse.down()
    page.mouse.move(across + 150, down, steps=5)
    page.mouse.up()
    page.wait_for_url("**window=7**")
    settle(page)
    told = page.get_by_text("activities in this window").inner_text()
    shared, _ = view("step", page.url.partition("?")[2])
    assert shared.get_by_text("activities in this window").inner_text() == told
    whole, _ = view("step", f"run={RUN}&step=7")
    assert whole.get_by_text("activities in this window").inner_text() != told


MARK = "() => document.activeElement.setAttribute('data-reached', '')"
MISSED = """() => [...document.querySelectorAll('a[href], button, input, textarea, canvas')]
    .filter(element => !element.disabled && element.tabIndex >= 0)
    .filter(element => element.checkVisibility({opacityProperty: true, visibilityProperty: true}))
    .filter(element => element.role !== 'radio' || element.ariaChecked === 'true')
    .filter(element => !element.hasAttribute('data-reached'))
    .map(element => element.outerHTML.slice(0, 120))"""
"""What can be used and has not been marked as reached; arrow keys lead to a choice's others."""


def test_the_link_that_the_keyboard_is_on_is_outlined(view):
    page, _ = view("", f"run={RUN}")
    for test_id in ("stSidebarNavLink", "stPageLink-NavLink"):
        link = page.get_by_test_id(test_id).nth(1)
        link.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert link.evaluate("e => getComputedStyle(e).outline").endswith("solid 2px"), test_id


@pytest.mark.parametrize("name", ["", "step", "collectives", "speculation", "compare", "sql"])
def test_every_control_is_reached_by_tab_and_every_chart_has_a_name(view, name):
    page, _ = view(name, f"run={RUN}&other={OTHER}")
    n_charts = page.get_by_test_id("stVegaLiteChart").count()
    page.wait_for_function(f"document.querySelectorAll('{CHART}').length == {n_charts}")
    assert page.locator(f"{CHART}[aria-label]:not([aria-label=''])").count() == n_charts
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        page.evaluate(MARK)
        if page.evaluate("document.activeElement.tagName") == "CANVAS":
            page.keyboard.press("Escape")  # of a table's cells
    assert page.evaluate(MISSED) == []
