"""`tracekit capture` when the database is in use or is none: the run folder is kept."""

import fcntl
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from capturing import RUN, capture

import tracekit

HOLD = """
import duckdb, sys
con = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by_a_writer(db):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "held\n"
        yield
    finally:
        process.communicate("")


@contextmanager
def locked_by_an_ingest(db):
    with db.with_name(f".{db.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def runs(db):
    return [run for (run,) in tracekit.open(db).sql("SELECT run FROM runs").fetchall()]


def test_a_database_open_for_writing_elsewhere(vllm, tmp_path):
    db = tmp_path / "t.duckdb"
    assert capture(tmp_path / "first", vllm(), "--db", db).ended().code == 0
    with held_by_a_writer(db):
        ended = capture(tmp_path, vllm(), "--db", db, "--run", "second").ended()
    assert ended.left == []
    assert "Traceback" not in ended.err
    if ended.code:
        assert "t.duckdb" in ended.line
    assert (tmp_path / "runs" / "second" / "run.json").exists()
    if ended.code == 0:
        assert sorted(runs(db)) == [RUN, "second"]


def test_a_database_another_ingest_has_locked_is_waited_for(vllm, tmp_path):
    with locked_by_an_ingest(tmp_path / "t.duckdb"):
        running = capture(tmp_path, vllm())
        running.until(lambda c: "Shutting down" in c.log)
        time.sleep(0.5)
        assert running.process.poll() is None
    assert running.ended().code == 0


def test_waiting_for_a_locked_database_can_be_interrupted(vllm, tmp_path):
    with locked_by_an_ingest(tmp_path / "t.duckdb"):
        running = capture(tmp_path, vllm())
        running.until(lambda c: "Shutting down" in c.log)
        time.sleep(0.5)
        running.signal(signal.SIGINT)
        ended = running.ended()
    assert (ended.code, ended.left) == (128 + signal.SIGINT, [])
    assert ended.check_ingest() is not None


def test_what_is_no_database_is_told_before_the_server_starts(vllm, tmp_path):
    (tmp_path / "t.duckdb").write_text("no database, but long enough to be looked at")
    ended = capture(tmp_path, vllm()).ended()
    ended.check("t.duckdb: not a DuckDB database")
    assert not ended.log_is_there


@pytest.mark.parametrize("db", ["nowhere/t.duckdb", "."])
def test_a_database_that_cannot_be_made_is_told_before_the_server_starts(vllm, tmp_path, db):
    ended = capture(tmp_path, vllm(), "--db", db).ended()
    assert (ended.code, ended.left) == (1, [])
    assert "Traceback" not in ended.err
    assert not ended.log_is_there
