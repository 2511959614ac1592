"""A real trace with random damage, all the way into a database that holds a run already."""

import gzip
import json
from pathlib import Path

import pytest
from mutations import mutated

import tracekit
from tracekit.errors import TracekitError

RECORDED = Path(__file__).parents[1] / "sample_traces" / "vllm_cpu_tp2_draft" / "traces"
KEPT_RUN = "kept"


def first_steps(n_events=700):
    """The head of a recorded rank: whole, so that only the damage is wrong with it."""
    path = next(RECORDED.glob("*rank0*.json.gz"))
    trace = json.loads(gzip.decompress(path.read_bytes()))
    starts = sorted(event["ts"] for event in trace["traceEvents"] if event.get("ph") == "X")
    until = starts[n_events]
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("ts", 0) < until]
    return json.dumps(trace).encode()


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "rank0.json").write_bytes(first_steps())
    db = folder / "db" / "tracekit.duckdb"
    db.parent.mkdir()
    tracekit.ingest([folder / "rank0.json"], run=KEPT_RUN, db=db)
    return db


@pytest.fixture(scope="module")
def undamaged():
    return first_steps()


def figures(db):
    return db.sql(
        "SELECT (SELECT count(*) FROM activities WHERE run = $run),"
        " (SELECT sum(busy_ns)::BIGINT FROM steps WHERE run = $run)",
        {"run": KEPT_RUN},
    ).fetchall()


def ingest_error(trace, db):
    """Message of the error that ingesting the trace ends in; None where it is read."""
    try:
        tracekit.ingest([trace], run="damaged", db=db, replace=True)
    except TracekitError as error:
        return str(error)
    return None


WRONG = """
SELECT 'ledger' FROM ingest_ledger WHERE reason IS NULL AND events != kept + skipped
UNION ALL
SELECT 'window' FROM steps
WHERE busy_ns + idle_ns + coalesce(wait_for_work_ns, 0) != dur_ns OR least(busy_ns, idle_ns) < 0
UNION ALL
SELECT 'breakdown' FROM step_breakdown
WHERE busy_ns > sum_ns OR exposed_ns > busy_ns OR overhang_ns > busy_ns
"""


@pytest.mark.parametrize("seed", range(200))
def test_damage_ends_in_an_error_or_a_sound_run(database, undamaged, tmp_path, seed):
    before = figures(tracekit.open(database))
    (tmp_path / "rank0.json").write_bytes(mutated(undamaged, seed))
    error = ingest_error(tmp_path / "rank0.json", database)
    assert error is None or "rank0.json" in error
    db = tracekit.open(database)
    assert before == figures(db) != [(0, None)]
    assert db.sql(WRONG).fetchall() == []
    assert [path.name for path in database.parent.iterdir() if path.is_dir()] == []
