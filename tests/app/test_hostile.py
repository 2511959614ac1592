"""Names from traces are shown as they are: no Markdown, no HTML, no pictures from elsewhere."""

import re

import pytest
from dashboard import VIEWS
from database import add, write_database
from samples import baseline, drafting

from tracekit.app import parts

NAME = "<img src=x onerror=alert(1)>![a](http://example.com/a.png) $x$ :red[b] **c** `d`"
RAW = re.compile(r"(?<!\\)(<img|!\[|\*\*c|:red|`d)")
"""The name's signs without a backslash before them."""

MARKDOWN = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error")


def run_of_that_name(con, run):
    drafting(con, run)
    con.execute("UPDATE run SET model = ?, engine = ?, gpu = ?", [NAME] * 3)
    con.execute("UPDATE run SET status = 'failed', error = ?", [f"{NAME}\n\x1b[2J"])
    con.execute("UPDATE file SET path = ? || file_id", [NAME])
    add(con, "kernel", run, name=NAME, category="unknown")


def compared_run(con, run):
    baseline(con, run)
    con.execute("UPDATE run SET model = ?, gpu = ?", [NAME] * 2)
    con.execute("UPDATE kernel SET name = ?, impl = ? WHERE category = 'all_reduce'", [NAME] * 2)
    con.execute("UPDATE activity SET name = ?, impl = ? WHERE category = 'all_reduce'", [NAME] * 2)
    con.execute("UPDATE collective SET name = ?, impl = ?", [NAME] * 2)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    run_of_that_name.__name__, compared_run.__name__ = NAME, f"{NAME}2"
    path = tmp_path_factory.mktemp("hostile") / "runs.duckdb"
    return write_database(path, run_of_that_name, compared_run)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("run", [NAME, f"{NAME}2"])
def test_hostile_names_are_text(view, name, run):
    page = view(name, run=run)
    assert page.selectbox(key="choice_run").value == run
    said = [found.value for kind in MARKDOWN for found in getattr(page, kind)]
    said += [metric.label for metric in page.metric]
    assert not [text for text in said if RAW.search(text)]


def test_a_hostile_name_is_not_swallowed(view):
    page = view(run=NAME)
    assert "<img" in page.subheader[0].value


def test_a_name_that_is_nowhere_is_text(view):
    page = view(run="baseline" + NAME)
    assert "<img" in page.warning[0].value
    assert not RAW.search(page.warning[0].value)


@pytest.mark.parametrize(
    "name",
    ["a http://evil.example/x.png", "HTTPS://evil.example", "WWW.evil.example", "me@evil.example"],
)
def test_an_address_in_a_name_is_no_link(name):
    said = parts.escaped(f"{name} against aten::mul").replace("\\", "")
    assert said.replace(parts.JOINER, "") == f"{name} against aten::mul"
    assert not re.search(r"https?://|www\.|\w@", said, re.IGNORECASE)


def test_a_name_of_many_letters_does_not_fill_the_screen():
    said = parts.escaped(f"run {'e' * 2000}x is faster")
    assert said.startswith("run eeee")
    assert said.endswith("ex is faster")
    assert len(said) < 150


def test_a_share_is_not_broken_from_its_sign():
    assert parts.escaped("in 95 % of steps") == "in 95\u00a0\\% of steps"
