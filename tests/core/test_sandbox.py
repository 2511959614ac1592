"""What a query of anybody's cannot do: write, read files, reach the network, or never end."""

import hashlib
from dataclasses import replace

import duckdb
import pytest
from database import write_database
from samples import baseline

from tracekit import guard
from tracekit.errors import QueryError, StoreError
from tracekit.sandbox import Limits, run

QUICK = Limits(seconds=2, rows=1000, memory_mb=300, process_mb=1000)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return write_database(tmp_path_factory.mktemp("db") / "runs.duckdb", baseline)


@pytest.fixture(scope="module")
def con():
    with duckdb.connect(":memory:") as con:
        yield con


@pytest.fixture
def unchanged(db):
    """The database and its folder are the same after the test."""

    def state():
        names = sorted(path.name for path in db.parent.iterdir())
        return names, hashlib.sha256(db.read_bytes()).hexdigest()

    before = state()
    yield
    assert state() == before


def refused(db, query, limits=QUICK):
    with pytest.raises(QueryError) as caught:
        run(db, query, limits)
    return str(caught.value)


def test_rows_with_their_types(db):
    found = run(db, "SELECT 'a' AS x, NULL::INTEGER AS y, 1.5::DOUBLE AS z, DATE '2026-01-02' AS d")
    assert found.columns == ["x", "y", "z", "d"]
    assert found.types == ["VARCHAR", "INTEGER", "DOUBLE", "DATE"]
    assert found.rows == [["a", None, 1.5, "2026-01-02"]]
    assert not found.is_cut


@pytest.mark.parametrize(
    "query",
    [
        "COPY run TO 'x.csv'",
        "COPY (SELECT 1) TO '/dev/stdout'",
        "COPY (PIVOT run ON run USING count(*)) TO 'x.csv'",
        "EXPLAIN ANALYZE COPY run TO 'x.csv'",
        "ATTACH ':memory:' AS more",
        "ATTACH 'more.duckdb'",
        "DETACH tracekit",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET memory_limit",
        "PRAGMA database_list",
        "CALL force_checkpoint()",
        "EXPORT DATABASE 'x'",
        "IMPORT DATABASE 'x'",
        "CREATE TABLE memory.mine AS SELECT 1",
        "CREATE TEMP TABLE mine AS SELECT 1",
        "DELETE FROM run",
        "UPDATE run SET model = ''",
        "DROP VIEW runs",
        "PREPARE x AS DELETE FROM run",
        "USE memory",
        "BEGIN",
        "VACUUM",
    ],
)
def test_only_a_select_passes(con, query):
    with pytest.raises(QueryError, match="where only a SELECT is run|a PIVOT"):
        guard.check(con, query)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("query", ["COPY run TO 'x.csv'", "ATTACH 'x.duckdb'", "DELETE FROM run"])
def test_only_a_select_is_run(db, query):
    assert "where only a SELECT is run" in refused(db, query)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("INSTALL httpfs", "INSTALL"),
        ("-- a\n /* b */ checkpoint", "CHECKPOINT"),
        ("WITH x AS (SELECT 1) DELETE FROM run", "DELETE"),
    ],
)
def test_what_is_no_select_is_named_as_it_is_written(con, query, word):
    with pytest.raises(QueryError, match=f"query: {word} where only a SELECT is run"):
        guard.check(con, query)


def test_there_is_no_folder_to_spill_to(db):
    found = run(db, "SELECT value FROM duckdb_settings() WHERE name = 'allowed_directories'")
    assert found.rows == [["[]"]]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "source",
    [
        "read_csv('{file}')",
        "read_text('{file}')",
        "read_blob('{file}')",
        "read_json('{file}')",
        "read_parquet('{file}')",
        "sniff_csv('{file}')",
        "glob('{folder}/*')",
        "'{file}.csv'",
        "'https://example.com/x.parquet'",
        "read_csv('https://example.com/x.csv')",
    ],
)
def test_no_other_file_is_read(db, source, tmp_path):
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    query = f"FROM {source.format(file=file, folder=tmp_path)}"
    assert "disabled by configuration" in refused(db, query)


def test_nothing_is_known_of_the_environment(db):
    assert "getenv does not exist" in refused(db, "SELECT getenv('HOME')")


def test_python_is_out_of_reach(db):
    assert "limits does not exist" in refused(db, "FROM limits")


def test_several_statements(db):
    assert refused(db, "SELECT 1; DROP TABLE run") == (
        "query: 2 statements; give one SELECT at a time"
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM range(10000000000) a, range(100000) b",  # of b all is kept in memory
        "SELECT levenshtein(repeat('a', 3000000), repeat('b', 3000000))",
    ],
)
def test_what_never_ends_is_ended(db, query):
    limits = Limits(seconds=0.5)
    assert refused(db, query, limits).startswith("query: it takes longer than 0.5 s; ")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT list(range) FROM range(1000000000)",
        "SELECT repeat('x', 1000000000) FROM range(100)",
    ],
)
def test_what_takes_too_much_memory_ends_nothing_but_itself(db, query):
    said = refused(db, query, replace(QUICK, seconds=30))
    assert said.startswith("query: it takes more memory than 300 MB; ")


def test_of_a_result_of_100_million_rows_the_first_come(db):
    found = run(db, "FROM range(100000000)", QUICK)
    assert [row[0] for row in found.rows] == list(range(1000))
    assert found.is_cut


def test_long_texts_are_cut(db):
    limits = replace(QUICK, cell=10, characters=95)
    found = run(db, "SELECT repeat('x', 1000) FROM range(100)", limits)
    assert found.rows == [["xxxxxxxxx…"]] * 10
    assert found.is_cut


def test_a_mistake_is_told_with_what_was_meant(db):
    said = refused(db, "SELECT modell FROM runs")
    assert 'Referenced column "modell" not found' in said
    assert '"model"' in said


def test_no_database(tmp_path):
    with pytest.raises((QueryError, StoreError), match="no such database"):
        run(tmp_path / "none.duckdb", "SELECT 1")
