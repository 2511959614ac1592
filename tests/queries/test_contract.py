"""Every query file: its header holds what the SQL does, and it has something to say."""

import re
from importlib.resources import files

import click
import duckdb
import pytest
from database import memory_database

from tracekit import queries
from tracekit.cli import breakdown

QUERIES = queries.catalog()
REPORTS = [query for query in QUERIES if query.kind == "report"]
ARGUMENTS = {
    "name": "Marlin",
    "step": 2,
    "base": "baseline",
    "other": "eagle3",
    "inputs": '[{"input": "baseline_ns", "value": 12e6}, {"input": "verify_ns", "value": 11e6}]',
}


def arguments(query, run):
    required = {"run": run, **ARGUMENTS}
    return query.bind({p.name: required[p.name] for p in query.params if p.is_required})


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_header_names_the_parameters(query):
    (statement,) = duckdb.extract_statements(query.sql)
    assert {param.name for param in query.params} == set(statement.named_parameters)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_header_names_the_columns_and_types(query, con):
    described = con.execute(f"DESCRIBE {query.sql}", arguments(query, "baseline")).fetchall()
    assert [(c.name, c.type) for c in query.columns] == [row[:2] for row in described]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_every_query_gives_rows_on_some_sample(query, con):
    found = [
        con.execute(query.sql, arguments(query, run)).fetchone()
        for run in ("baseline", "eagle3", "stalled")
    ]
    assert any(found)


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_every_header_says_all_a_reader_needs(query):
    assert query.title.endswith(".")
    assert query.answers.endswith("?")
    assert query.grain
    assert query.limits
    assert all(item.meaning.endswith(".") for item in (*query.params, *query.columns))


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_reports_read_views_for_what_views_hold(query):
    """A step's class, a run's facts: one definition each, in the view."""
    reads = set(re.findall(r"\b(?:FROM|JOIN) (\w+)", query.sql))
    assert query.kind == "view" or not reads & {
        "run",
        "step",
        "kernel",
        "ledger",
        "counter",
    }


def test_names_are_unique():
    names = [query.name for query in QUERIES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("kind", "order"), [("views", queries.VIEW_ORDER), ("macros", queries.MACRO_ORDER)]
)
def test_every_file_that_is_stored_has_its_place_in_the_order(kind, order):
    stems = {entry.name.removesuffix(".sql") for entry in files(queries).joinpath(kind).iterdir()}
    assert stems == set(order)


def test_views_and_their_columns_are_described_in_the_database(con):
    views = con.execute("SELECT count(*), count(comment) FROM duckdb_views() WHERE NOT internal")
    assert views.fetchone() == (len(queries.VIEW_ORDER), len(queries.VIEW_ORDER))
    columns = con.execute(
        "SELECT count(*) FROM duckdb_columns() WHERE NOT internal AND comment IS NULL"
    )
    assert columns.fetchone() == (0,)


def test_installing_again_keeps_the_comments():
    con = memory_database()
    queries.install(con)
    comment = con.execute("SELECT comment FROM duckdb_views() WHERE view_name = 'steps'").fetchone()
    assert comment[0].startswith("Engine steps")


def test_options_offer_the_choices_of_the_reports():
    of_report = {param.name: param for param in queries.load("breakdown").params}
    for option in breakdown.command.params:
        if isinstance(option.type, click.Choice) and option.name in of_report:
            assert list(option.type.choices) == of_report[option.name].choices
