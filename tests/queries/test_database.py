"""tracekit.open and the rows of a query."""

import duckdb
import pytest
from database import join, write_database
from samples import baseline, eagle3

import tracekit
from tracekit import database, queries
from tracekit.errors import QueryError, RunError, StoreError


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "runs.duckdb"
    return tracekit.open(write_database(path, baseline, eagle3))


def test_rows_can_be_read_again(db):
    found = db.sql("SELECT run, n_ranks FROM runs ORDER BY run")
    assert found.columns == ["run", "n_ranks"]
    assert found.fetchall() == [("baseline", 2), ("eagle3", 1)]
    assert [row.run for row in found.records()] == ["baseline", "eagle3"]
    assert list(found) == found.fetchall()


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("SELECT count(*) FROM steps WHERE run = ?", ["baseline"]),
        ("SELECT count(*) FROM steps WHERE run = $run", {"run": "baseline"}),
    ],
)
def test_values_are_bound(db, query, params):
    assert db.sql(query, params).fetchall() == [(8,)]


def test_a_report_as_a_data_frame(db):
    frame = db.report("breakdown", run="baseline").df()
    assert frame.busy_ns.iloc[-1] == 1_550_000
    assert str(frame.busy_ns.dtype) == "int64"


def test_a_report_as_an_arrow_table(db):
    found = db.report("breakdown", run="baseline").arrow()
    assert found.column("busy_ns")[0].as_py() == 600_000


def test_without_pandas_the_extra_is_named(db, monkeypatch):
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    with pytest.raises(QueryError, match=r"pandas: not installed.*tracekit-llm\[notebook\]"):
        db.sql("SELECT 1").df()


def test_mistakes_are_told_at_once_and_in_one_line(db):
    with pytest.raises(QueryError, match="^query: Binder Error: .*nothing") as told:
        db.sql("SELECT nothing FROM steps")
    assert "\n" not in str(told.value)
    with pytest.raises(QueryError, match="query: Conversion Error"):
        db.sql("SELECT name::INTEGER FROM activities").fetchall()


def test_reports_check_run_and_parameters(db):
    with pytest.raises(RunError, match="no such run in .*; there are: eagle3, baseline"):
        db.report("breakdown", run="eagle")
    with pytest.raises(RunError, match="2 runs in it; name one of: baseline, eagle3"):
        db.report("breakdown")
    with pytest.raises(QueryError, match="no parameter 'bye'"):
        db.report("breakdown", run="eagle3", bye="impl")


def test_a_view_is_no_report(db):
    with pytest.raises(QueryError, match=r"'steps': a view.*FROM steps.*report 'step_list'"):
        db.report("steps", run="baseline")
    with pytest.raises(QueryError, match=r"'activities': a view.*sql\('FROM activities'\)$"):
        db.report("activities")


def test_the_reports_named_for_views_are_there():
    assert set(database.REPORTS) < set(queries.VIEW_ORDER)
    assert {queries.load(report).kind for report in database.REPORTS.values()} == {"report"}


def test_a_parameter_may_be_called_name(db):
    (row,) = db.report("kernel_why", run="baseline", name="Marlin").records()
    assert row.impl == "marlin_moe"


def test_the_default_database(monkeypatch, tmp_path, db):
    monkeypatch.setenv("TRACEKIT_DB", str(db.path))
    assert tracekit.open().runs() == ["baseline", "eagle3"]
    monkeypatch.delenv("TRACEKIT_DB")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=r"^tracekit\.duckdb: no such database"):
        tracekit.open()


def test_results_see_the_database_of_their_time(tmp_path):
    path = write_database(tmp_path / "runs.duckdb", baseline)
    found = tracekit.open(path).sql("SELECT run FROM runs ORDER BY run")
    join(path, eagle3)
    assert found.fetchall() == [("baseline",)]
    assert found.fetchall() == [("baseline",), ("eagle3",)]


@pytest.mark.parametrize(
    "older",
    [
        "DROP MACRO TABLE chosen_calls",
        "CREATE OR REPLACE VIEW steps AS SELECT run FROM step",
        "CREATE OR REPLACE MACRO is_most(part) AS part",
    ],
)
def test_a_database_with_older_views_or_macros_says_what_to_do_until_it_has_a_run_more(
    tmp_path, older
):
    path = write_database(tmp_path / "runs.duckdb", baseline)
    with duckdb.connect(str(path)) as con:
        con.execute(older)

    def asked():
        for report in ("comms", "comm_ranks", "run_headline"):
            tracekit.open(path).report(report, run="baseline").fetchall()

    with pytest.raises(StoreError, match=r"another state of tracekit made it, .*; ingest the trac"):
        asked()
    join(path, eagle3)
    asked()
