import subprocess
import sys

import duckdb
import pytest
from core.fake_ingest import files, holding, ingest, ingesting, runs

from tracekit import store
from tracekit.errors import StoreError


def test_error_in_the_work_leaves_everything_as_it_was(db):
    ingest(db, "baseline")
    before = db.read_bytes()
    with pytest.raises(ZeroDivisionError):
        ingest(db, "eagle3", wait=lambda: 1 / 0)
    assert db.read_bytes() == before
    assert files(db.parent) == ["tracekit.duckdb"]


@pytest.mark.parametrize("place", ["body", "rename"])
def test_killed_ingest_leaves_the_database_and_the_next_one_cleans_up(db, place):
    ingest(db, "baseline")
    before = db.read_bytes()
    with ingesting(db, "eagle3", place) as child:
        child.kill()
        child.wait()
    assert db.read_bytes() == before
    assert len(files(db.parent)) > 1
    ingest(db, "ngram")
    assert [run for run, _ in runs(db)] == ["baseline", "ngram"]
    assert files(db.parent) == ["tracekit.duckdb"]


def test_two_ingests_at_once_end_in_both_runs(db):
    with ingesting(db, "baseline") as one, ingesting(db, "eagle3") as other:
        for child in (one, other):
            child.stdin.write(b"\n")
            child.stdin.flush()
        assert (one.wait(20), other.wait(20)) == (0, 0)
    assert [run for run, _ in runs(db)] == ["baseline", "eagle3"]
    assert files(db.parent) == ["tracekit.duckdb"]


def test_same_run_ingested_meanwhile_is_refused_at_the_end(db):
    with pytest.raises(StoreError, match="already there"):
        ingest(db, "baseline", source="second", wait=lambda: ingest(db, "baseline"))
    assert runs(db) == [("baseline", "first")]


def test_living_ingest_is_not_taken_for_a_dead_one(db):
    with ingesting(db, "eagle3") as child:
        ingest(db, "baseline")
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.wait(20) == 0
    assert [run for run, _ in runs(db)] == ["baseline", "eagle3"]


def test_reader_in_another_process_does_not_stop_an_ingest(db):
    ingest(db, "baseline")
    with holding(db, "read_only=True"):
        ingest(db, "eagle3")
    assert len(runs(db)) == 2


def test_reader_in_this_process_keeps_its_rows_and_a_new_one_sees_the_new(db):
    ingest(db, "baseline")
    notebook = duckdb.connect(str(db), read_only=True)
    before = store.open_readonly(db)
    ingest(db, "eagle3")
    assert len(notebook.sql("FROM runs").fetchall()) == 1
    assert len(before.sql("FROM runs").fetchall()) == 1
    assert len(runs(db)) == 2


def test_idle_writing_connection_elsewhere_does_not_stop_an_ingest(db):
    ingest(db, "baseline")
    with holding(db):
        ingest(db, "eagle3")
    own = duckdb.connect(str(db))
    ingest(db, "ngram")
    own.close()
    assert len(runs(db)) == 3


def test_unsaved_changes_of_another_writer_are_not_lost(db):
    ingest(db, "baseline")
    own = duckdb.connect(str(db))
    own.execute("CREATE TABLE note AS SELECT 1 AS x")
    with pytest.raises(StoreError, match="another program is writing to it; close that"):
        ingest(db, "eagle3")
    own.close()
    ingest(db, "eagle3")
    assert store.open_readonly(db).sql("FROM note").fetchall() == [(1,)]


def test_changes_of_a_crashed_writer_are_kept(db):
    ingest(db, "baseline")
    code = (
        "import duckdb, os, sys; con = duckdb.connect(sys.argv[1]); "
        "con.execute('CREATE TABLE note AS SELECT 1 AS x'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(db)], check=False)
    assert files(db.parent) == ["tracekit.duckdb", "tracekit.duckdb.wal"]
    ingest(db, "eagle3")
    assert store.open_readonly(db).sql("FROM note").fetchall() == [(1,)]
    assert files(db.parent) == ["tracekit.duckdb"]
