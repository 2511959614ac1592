"""Reports to send to others: the numbers of the queries, in one file, whatever names hold."""

import re
import sys
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from database import write_database
from hostile import HOSTILE, hostile
from markdown_it import MarkdownIt
from samples import baseline, eagle3, stalled

import tracekit
from tracekit import report, units
from tracekit.cli import main

TABLE = {"table", "thead", "tbody", "tr", "th", "td"}


class Page(HTMLParser):
    """The tags of a page, its cells and its addresses."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.cells = set(), [], []
        self._cell = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        self._cell = [] if tag in ("td", "th") else self._cell

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cells.append("".join(self._cell))
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.append(data)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "runs.duckdb"
    return write_database(path, baseline, eagle3, stalled, hostile)


@pytest.fixture(scope="module")
def documents(db):
    """Each run's report, by the run's name."""
    with tracekit.open(db).batch() as database:
        return {run: report.make(database, run) for run in database.runs()}


def call(db, *words, exit_code=0):
    result = CliRunner().invoke(main, ["report", *words, "--db", str(db)])
    assert result.exit_code == exit_code, result.output
    return result.output


def cells(document, caption):
    (table,) = [t for s in document.sections for t in s.tables if t.caption == caption]
    return [table.headings.index(next(h for h in table.headings if h.title == "ms")), table.rows]


@pytest.mark.parametrize("run", ["baseline", "eagle3", "stalled"])
def test_breakdown_is_that_of_the_query(db, documents, run):
    column, rows = cells(documents[run], "Time of a step")
    expected = tracekit.open(db).report("breakdown", run=run, fold=0.01).records()
    assert [row[column] for row in rows] == [units.ms(row.busy_ns) for row in expected]


@pytest.mark.parametrize("run", ["baseline", "eagle3"])
def test_tables_are_the_same_in_html_and_in_markdown(documents, run):
    document = documents[run]
    tables = [f.proof for f in document.findings] + [
        table for section in document.sections for table in section.tables
    ]
    expected = [cell for table in tables for row in table.rows for cell in row]
    page = Page(report.html(document))
    titles = {heading.title for table in tables for heading in table.headings}
    assert [cell for cell in page.cells if cell not in titles] == [
        cell for cell in expected if cell not in titles
    ]
    plain = re.sub(r"\\(.)", r"\1", report.markdown(document))
    lines = [line for table in tables for line in map(" | ".join, table.rows)]
    assert [line for line in lines if f"| {line} |" not in plain] == []


def test_headline_gives_time_per_token_and_the_share_of_all_reduce(db, documents):
    (row,) = tracekit.open(db).report("breakdown_headline", run="baseline").records()
    figures = {figure.name: figure.value for figure in documents["baseline"].figures}
    assert figures["AllReduce"] == units.percent(row.all_reduce_share_of_step)
    assert figures["decode step, median"] == units.ms(row.step_p50_ns)


def test_findings_tell_of_stalls_drafts_and_unknown_kernels(documents):
    titles = {run: " ".join(f.title for f in doc.findings) for run, doc in documents.items()}
    assert "The host stalled in 1 step" in titles["stalled"]
    assert "With drafts a step gives" in titles["eagle3"]
    assert "no known class" in titles["hostile"]
    assert re.search(r"goes to moe_gemm.* in forward: 0.10 ms in all its calls", titles["baseline"])
    assert all(f.proof.rows for doc in documents.values() for f in doc.findings)


def test_bars_of_the_breakdown_are_as_long_as_the_time(documents):
    (chart,) = [c for s in documents["baseline"].sections for c in s.charts if "phase" in c.title]
    work = {shape.title.partition(":")[0]: shape.width + 1 for shape in chart.shapes}
    column, rows = cells(documents["baseline"], "Time of a step")
    times = {row[1]: float(row[column]) for row in rows}
    ratio = times["all_reduce"] / times["idle"]
    assert work["all_reduce"] / work["idle"] == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("run", ["baseline", "eagle3", "stalled", "hostile"])
def test_a_page_runs_nothing_and_loads_nothing(documents, run):
    text = report.html(documents[run])
    page = Page(text)
    assert page.tags.isdisjoint({"script", "img", "link", "iframe", "object", "b", "a"})
    names = {name for name, _ in page.attributes}
    assert not [name for name in names if name.startswith("on")]
    assert names.isdisjoint({"src", "href", "style", "data"})
    assert "url(" not in text
    assert "@import" not in text


def test_hostile_names_are_text_everywhere(documents):
    text = report.html(documents["hostile"])
    assert HOSTILE.partition("<")[0] in text
    assert "<script" not in text.lower()
    assert text.count("</title>") == text.count("<title")
    assert "{{ 7*7 }}" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    shown = [cell for cell in Page(text).cells if 'alert("x")' in cell]
    assert shown
    assert all("</title></style><script>" in cell for cell in shown)


def test_hostile_names_are_no_markup_of_markdown(documents):
    text = report.markdown(documents["hostile"])
    page = Page(MarkdownIt("commonmark").enable("table").render(text))
    assert page.tags <= {"h1", "h2", "h3", "p", "strong", "ul", "li", "code", *TABLE}
    assert [cell for cell in page.cells if 'alert("x")' in cell and "{{ 7*7 }}" in cell]
    assert "http://" not in text  # GitHub makes a link of it without any markup


def test_what_was_measured_is_told_by_the_headers_of_the_queries(documents):
    names = {asked.query.name for asked in documents["eagle3"].asked}
    assert {"breakdown", "breakdown_headline", "comms", "spec", "losses"} <= names
    text = report.html(documents["eagle3"])
    assert all(
        asked.query.title in text.replace("&#39;", "'") for asked in documents["eagle3"].asked
    )


@pytest.mark.parametrize("name", ["run.html", "run.md"])
def test_the_file_is_written(db, tmp_path, name):
    assert "baseline ->" in call(db, "baseline", "-o", str(tmp_path / name))
    assert "Where the time of a decode step goes" in (tmp_path / name).read_text("utf-8")


def test_other_kinds_of_files_are_refused(db, tmp_path):
    assert ".html or .md" in call(db, "baseline", "-o", str(tmp_path / "run.pdf"), exit_code=2)


def test_a_file_that_cannot_be_written_is_told(db, tmp_path):
    told = call(db, "baseline", "-o", str(tmp_path / "no" / "run.md"), exit_code=1)
    assert "cannot be written" in told


def test_without_the_extra_it_is_named(db, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("tracekit.cli.report.find_spec", lambda name: None)
    told = call(db, "baseline", "-o", str(tmp_path / "run.md"), exit_code=1)
    assert "tracekit-llm[report]" in told
    assert len(told.splitlines()) == 1


def test_in_print_words_stay_with_the_chart_or_table_after_them(documents):
    (rule,) = re.findall(r"([^{}]*)\{ break-after: avoid; \}", report.html(documents["eagle3"]))
    assert "section > p:not(:last-child)" in rule
    assert "article > p:not(:last-child)" in rule
