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
N_RANKS = 8
"""Damaged traces to a run: much of what an ingest takes does not depend on their number."""


def first_steps(n_events=700):
    """The head of a recorded rank: whole, so that only the damage is wrong with it."""
    path = next(RECORDED.glob("*rank0*.json.gz"))
    trace = json.loads(gzip.decompress(path.read_bytes()))
    starts = sorted(event["ts"] for event in trace["traceEvents"] if event.get("ph") == "X")
    until = starts[n_events]
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("ts", 0) < until]
    return trace


def of_rank(trace, rank):
    return json.dumps(trace | {"distributedInfo": trace["distributedInfo"] | {"rank": rank}})


@pytest.fixture(scope="module")
def undamaged():
    return first_steps()


@pytest.fixture(scope="module")
def database(undamaged, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "rank0.json").write_text(of_rank(undamaged, 0))
    db = folder / "db" / "tracekit.duckdb"
    db.parent.mkdir()
    tracekit.ingest([folder / "rank0.json"], run=KEPT_RUN, db=db)
    return db


def figures(db):
    return db.sql(
        "SELECT (SELECT count(*) FROM activities WHERE run = $run),"
        " (SELECT sum(busy_ns)::BIGINT FROM steps WHERE run = $run)",
        {"run": KEPT_RUN},
    ).fetchall()


def ingest_error(traces, db):
    """Message of the error that ingesting the traces ends in; None where they are read."""
    try:
        tracekit.ingest(traces, run="damaged", db=db, replace=True)
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


@pytest.mark.parametrize("seed", range(0, 200, N_RANKS))
def test_damage_ends_in_an_error_or_a_sound_run(database, undamaged, tmp_path, seed):
    before = figures(tracekit.open(database))
    traces = [tmp_path / f"rank{rank}.json" for rank in range(N_RANKS)]
    for rank, path in enumerate(traces):
        path.write_bytes(mutated(of_rank(undamaged, rank).encode(), seed + rank))
    error = ingest_error(traces, database)
    assert error is None or any(path.name in error for path in traces)
    db = tracekit.open(database)
    assert before == figures(db) != [(0, None)]
    assert db.sql(WRONG).fetchall() == []
    assert [path.name for path in database.parent.iterdir() if path.is_dir()] == []
