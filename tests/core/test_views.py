"""Views of a database under construction: made beside other work, and there whatever happens."""

import threading

import duckdb
import pytest
from core.fake_ingest import ingest, install_views, runs

from tracekit import store
from tracekit.errors import StoreError


def views(db):
    with duckdb.connect(db, read_only=True) as con:
        return con.execute(
            "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
        ).fetchall()


MADE = [("runs", "One row per run.")]


def build(db, run, install, *, within=lambda: None):
    with store.building(db, run, install_views=install) as scratch:
        scratch.begin_views()
        within()
        scratch.con.execute(
            "INSERT INTO run (run, backend, is_synthetic, source) VALUES (?, 'cpu', false, '')",
            [run],
        )


def test_they_are_made_in_another_thread(db):
    threads = []

    def install(con):
        threads.append(threading.current_thread())
        install_views(con)

    build(db, "a", install)
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
    assert views(db) == MADE


def test_rows_are_written_while_they_are_made(db):
    inside, go_on = threading.Event(), threading.Event()

    def install(con):
        con.execute("BEGIN")
        install_views(con)
        inside.set()
        assert go_on.wait(60)
        con.execute("COMMIT")

    with store.building(db, "a", install_views=install) as scratch:
        scratch.begin_views()
        assert inside.wait(60)
        scratch.con.execute(
            "INSERT INTO run (run, backend, is_synthetic, source) VALUES ('a', 'cpu', false, '')"
        )
        go_on.set()
    assert views(db) == MADE
    assert runs(db) == [("a", "")]


def test_into_a_database_that_is_there_they_are_made_once(db):
    ingest(db, "a")
    installed = []

    def install(con):
        installed.append(con.execute("SELECT current_database()").fetchone())
        install_views(con)

    build(db, "b", install)
    assert installed == [("merged",)]
    assert views(db) == MADE


def test_a_database_that_appears_meanwhile_gets_them_too(db):
    build(db, "a", install_views, within=lambda: ingest(db, "b"))
    assert views(db) == MADE
    assert [run for run, _ in runs(db)] == ["a", "b"]


def test_what_goes_wrong_with_them_leaves_no_database(db):
    def install(con):
        con.execute("CREATE VIEW runs AS SELECT nothing FROM nowhere")

    with pytest.raises(StoreError):
        build(db, "a", install)
    assert not db.exists()


def test_an_error_of_the_ingest_waits_for_them_and_is_told(db):
    def fail():
        raise ValueError("of the ingest")

    with pytest.raises(ValueError, match="of the ingest"):
        build(db, "a", install_views, within=fail)
    assert not db.exists()
