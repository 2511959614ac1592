"""Nothing in the documentation may rot: what it quotes, its links and its examples."""

import contextlib
import html
import re
import runpy
from pathlib import Path

import pytest
import readme

import tracekit
from tracekit.cli import capture

ROOT = Path(__file__).parent.parent
GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("sample_traces/*.md")])
SAMPLE = ROOT / "sample_traces" / "vllm_cpu_tp2_draft"


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


@pytest.mark.parametrize("path", GENERATE["DOCUMENTS"], ids=lambda path: path.name)
def test_what_is_quoted_is_what_the_software_says(path):
    """`make docs` writes it anew; look at the difference before committing it."""
    text = path.read_text()
    assert GENERATE["DOCUMENTS"][path](text) == text


def test_the_picture_shows_the_page_of_today(generated):
    svg = GENERATE["PICTURE"].read_text()
    shown = html.unescape("".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg)))
    name = GENERATE["PICTURED"]
    text = GENERATE["pictured_page"](generated.written(name) / name)
    page = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "".join(page.split()) in "".join(shown.split())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    targets = re.findall(r"\]\(([^)#]+)", path.read_text())
    missing = [t for t in targets if "://" not in t and not (path.parent / t).exists()]
    assert missing == []


def test_the_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text()
    pages = [path.relative_to(ROOT).as_posix() for path in PAGES]
    pages = [page for page in pages if page not in {"README.md", "CHANGELOG.md"}]
    assert [page for page in pages if f"({page})" not in readme] == []


def test_every_command_of_the_readme_is_run_by_a_test():
    assert sorted(readme.commands()) == sorted(readme.RUN_BY_TESTS | readme.NEED_NO_TEST)


def test_every_option_that_the_readme_explains_is_there():
    there = {name for param in capture.command.params for name in param.opts}
    assert readme.capture_options() - there == set()


@pytest.mark.parametrize("text", blocks(ROOT / "README.md", "python"))
def test_python_in_the_readme_runs(text):
    with GENERATE["workplace"]() as folder, contextlib.chdir(folder):
        exec(text, {})


@pytest.fixture(scope="module")
def sample_db(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs") / "tracekit.duckdb"
    tracekit.ingest(SAMPLE, db=path)
    return tracekit.open(path)


@pytest.mark.parametrize("query", blocks(ROOT / "docs" / "sql.md", "sql"))
def test_queries_in_the_sql_page_give_rows(sample_db, query):
    assert sample_db.sql(query).fetchall()


def test_the_page_of_numbers_names_every_time_a_user_can_see():
    page = (ROOT / "docs" / "numbers.md").read_text()
    columns = {c.name for view in GENERATE["views"]() for c in view.columns}
    axes = {"start_ns", "host_start_ns", "launch_ns"}  # places on the axis, no measurements
    times = {name for name in columns if name.endswith("_ns")} - axes
    assert [name for name in sorted(times) if f"`{name}`" not in page] == []
