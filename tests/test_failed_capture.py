"""A run folder of a capture that failed: what is there is in the database."""

import gzip
import json

import pytest

import tracekit
from tracekit.errors import TraceFormatError

LINE = (
    "(APIServer pid=7) INFO 11-29 12:03:32 [loggers.py:199] Engine 000: Iteration(1): 0 context "
    "requests, 0 context tokens, 1 generation requests, 1 generation tokens, iteration elapsed "
    "time: 2.50 ms, CPU KV cache usage: 0.0%\n"
)


def capture(folder, status, traces):
    """A run folder with one unprofiled window and the given traces ({name: bytes})."""
    (folder / "traces").mkdir(parents=True)
    (folder / "server.log").write_text(LINE)
    window = {"name": "unprofiled", "is_profiled": False, "start_ns": 1_000}
    window["log"] = {"path": "server.log", "from_byte": 0, "to_byte": len(LINE)}
    said = {"format": 1, "status": status, "error": "server: ended", "windows": [window]}
    (folder / "run.json").write_text(json.dumps(said))
    for name, content in traces.items():
        (folder / "traces" / name).write_bytes(content)
    return folder


WHOLE = gzip.compress(json.dumps({"traceEvents": [], "distributedInfo": {"rank": 1}}).encode())
BROKEN = {
    "empty": b"",
    "of another kind": b'{"traceEvents": 7}',
    "damaged": WHOLE[:30] + b"\xff" * 40 + WHOLE[30:],
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_trace_is_said_and_hinders_nothing(tmp_path, broken):
    traces = {"rank0.1.pt.trace.json.gz": broken, "rank1.1.pt.trace.json.gz": WHOLE}
    folder = capture(tmp_path / "x", "failed", traces)
    (summary,) = tracekit.ingest(folder, db=tmp_path / "x.duckdb")
    assert summary.n_ranks == 1
    db = tracekit.open(tmp_path / "x.duckdb")
    query = "SELECT window_name, step_ns_p50, source FROM windows"
    assert db.sql(query).fetchall() == [("unprofiled", 2_500_000, "iteration_log")]
    assert db.sql("SELECT status, error FROM runs").fetchall() == [("failed", "server: ended")]
    losses = db.report("losses", run="x").records()
    unread = db.report("unread", run="x").records()
    assert any("rank0" in row.file for row in losses) or any("rank0" in row.path for row in unread)


def test_without_any_trace_there_is_the_rest(tmp_path):
    tracekit.ingest(capture(tmp_path / "x", "failed", {}), db=tmp_path / "x.duckdb")
    db = tracekit.open(tmp_path / "x.duckdb")
    assert db.sql("SELECT n_ranks, backend FROM runs").fetchall() == [(0, "unknown")]
    assert db.sql("SELECT count(*) FROM iteration").fetchall() == [(1,)]


def test_of_a_complete_capture_a_broken_trace_is_refused(tmp_path):
    folder = capture(tmp_path / "x", "complete", {"rank0.1.pt.trace.json.gz": b""})
    with pytest.raises(TraceFormatError):
        tracekit.ingest(folder, db=tmp_path / "x.duckdb")
