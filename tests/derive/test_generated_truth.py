"""Generated runs against the exact truth beside them: activities, steps, phases, breakdown."""

import json

import duckdb
import pytest
from generated import dialects

TABLES = {
    "activities": "SELECT * FROM activities",
    "steps": "SELECT * REPLACE (is_verify::INTEGER AS is_verify,"
    " is_complete::INTEGER AS is_complete) FROM steps",
    "step_phases": "SELECT * FROM step_phases",
    "step_breakdown": "SELECT * FROM step_breakdown",
}

DIFFERENT = """
SELECT * EXCLUDE side, sum(side) AS n_missing
FROM (SELECT *, 1 AS side FROM expected UNION ALL SELECT *, -1 FROM found)
GROUP BY ALL HAVING n_missing != 0 LIMIT 5
"""
"""One pass over both, where EXCEPT ALL takes two with a window over all columns in each."""


@pytest.fixture(scope="module", params=dialects())
def run(request, ingested):
    """Folder of a dialect's run, and a connection to its database: tests of one follow another."""
    folder, db = ingested(request.param)
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{db}' AS db (READ_ONLY)")
        con.execute("USE db")
        yield folder, con


def truth_columns(truth):
    with truth.open() as lines:
        # Names of implementations are compared where the truth has one, below.
        return [name for name in lines.readline().strip().split(",") if name != "impl"]


def differences(con, truth, query):
    columns = truth_columns(truth)
    as_text = ", ".join(f"{name}::VARCHAR AS {name}" for name in columns)
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE expected AS SELECT {', '.join(columns)}"
        " FROM read_csv($truth, all_varchar = true, header = true, nullstr = '')",
        {"truth": str(truth)},
    )
    con.execute(f"CREATE OR REPLACE TEMP TABLE found AS SELECT {as_text} FROM ({query})")
    assert con.execute("SELECT count(*) > 0 FROM expected").fetchall() == [(True,)]
    return con.execute(DIFFERENT).fetchall()


@pytest.mark.parametrize("table", TABLES)
def test_every_row_is_the_truth(run, table):
    folder, con = run
    assert differences(con, folder / "truth" / f"{table}.csv", TABLES[table]) == []


def test_implementations_are_told_apart(run):
    folder, con = run
    wrong = con.execute(
        "SELECT DISTINCT truth.name, truth.impl, activities.impl"
        " FROM read_csv($truth, all_varchar = true, header = true, nullstr = '') AS truth"
        " JOIN activities USING (name)"
        " WHERE truth.impl IS NOT NULL AND truth.impl IS DISTINCT FROM activities.impl",
        {"truth": str(folder / "truth" / "activities.csv")},
    )
    assert wrong.fetchall() == []


def test_speculation_counters_are_the_truth(run):
    folder, con = run
    said = json.loads((folder / "run.json").read_text())
    if not said["speculative"] or said["engine"]["name"] != "vllm":  # SGLang has gauges
        assert con.sql("FROM spec_decode").fetchall() == []
        return
    truth = folder / "truth" / "spec.csv"
    assert differences(con, truth, "SELECT * FROM spec_decode") == []
