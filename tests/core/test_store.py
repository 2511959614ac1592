from pathlib import Path

import duckdb
import pytest
from core.fake_ingest import files, ingest, install_views, runs

from tracekit import store
from tracekit.errors import StoreError


def test_first_ingest_leaves_the_database_and_nothing_else(db):
    ingest(db, "baseline")
    assert runs(db) == [("baseline", "first")]
    assert files(db.parent) == ["tracekit.duckdb"]


def test_second_run_joins_the_first(db):
    ingest(db, "baseline", rows=2)
    ingest(db, "eagle3", rows=5)
    con = store.open_readonly(db)
    counts = con.sql("SELECT run, count(*) FROM counter GROUP BY run ORDER BY run").fetchall()
    assert counts == [("baseline", 2), ("eagle3", 5)]
    assert con.sql("SELECT count(*) FROM meta").fetchall() == [(1,)]
    assert files(db.parent) == ["tracekit.duckdb"]


def test_run_that_is_there_is_refused_before_the_work(db):
    ingest(db, "baseline")
    with pytest.raises(StoreError, match="run 'baseline' is already there; add --replace"):
        ingest(db, "baseline", wait=lambda: pytest.fail("the work was done"))
    assert runs(db) == [("baseline", "first")]


def test_replace_removes_all_rows_of_the_old_run_and_no_others(db):
    ingest(db, "baseline", rows=4)
    ingest(db, "eagle3", rows=2)
    ingest(db, "baseline", rows=1, source="second", replace=True)
    assert runs(db) == [("baseline", "second"), ("eagle3", "first")]
    con = store.open_readonly(db)
    assert con.sql("SELECT count(*) FROM counter").fetchall() == [(3,)]


def test_replace_of_a_run_that_is_not_there_adds_it(db):
    ingest(db, "baseline")
    ingest(db, "eagle3", replace=True)
    assert [run for run, _ in runs(db)] == ["baseline", "eagle3"]


def test_run_names_are_data(db):
    name = """'; DROP TABLE run; --\n<b>"%s"</b> {run} ../x"""
    ingest(db, name)
    ingest(db, "other")
    ingest(db, name, source="second", replace=True)
    assert set(runs(db)) == {(name, "second"), ("other", "first")}


def test_views_of_an_older_tracekit_are_made_anew(db):
    ingest(db, "baseline")
    con = duckdb.connect(str(db))
    con.execute("CREATE OR REPLACE VIEW runs AS SELECT 'old' AS run, 'old' AS source")
    con.close()
    ingest(db, "eagle3")
    assert [run for run, _ in runs(db)] == ["baseline", "eagle3"]


def test_what_a_user_added_to_the_database_stays(db):
    ingest(db, "baseline")
    con = duckdb.connect(str(db))
    con.execute("CREATE TABLE note AS SELECT 'mine' AS run; CREATE VIEW mine AS FROM runs")
    con.close()
    ingest(db, "eagle3", replace=True)
    con = store.open_readonly(db)
    assert con.sql("FROM note").fetchall() == [("mine",)]
    assert len(con.sql("FROM mine").fetchall()) == 2


def test_older_duckdb_can_open_the_file(db):
    ingest(db, "baseline")
    ingest(db, "eagle3")
    con = duckdb.connect(str(db), read_only=True)
    tags = con.sql("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()
    assert tags == [({"storage_version": "v1.2.0+"},)]


def test_views_and_comments_need_no_tracekit(db):
    ingest(db, "baseline")
    ingest(db, "eagle3")
    con = duckdb.connect(str(db), read_only=True)
    assert len(con.sql("FROM runs").fetchall()) == 2
    comment = con.sql("SELECT comment FROM duckdb_views() WHERE view_name = 'runs'").fetchall()
    assert comment == [("One row per run.",)]


def test_link_keeps_pointing_at_the_database(db, tmp_path):
    link = tmp_path / "link.duckdb"
    link.symlink_to("tracekit.duckdb")
    ingest(link, "baseline")
    ingest(link, "eagle3")
    assert link.is_symlink()
    assert len(runs(db)) == 2


def test_rights_of_the_database_stay(db):
    ingest(db, "baseline")
    db.chmod(0o640)
    ingest(db, "eagle3")
    assert db.stat().st_mode & 0o777 == 0o640


def test_empty_file_is_filled(db):
    db.touch()
    ingest(db, "baseline")
    assert runs(db) == [("baseline", "first")]


def test_log_of_a_removed_database_does_not_spoil_the_next(db):
    db.with_name("tracekit.duckdb.wal").write_bytes(b"left over")
    ingest(db, "baseline")
    assert files(db.parent) == ["tracekit.duckdb"]


def test_reading_connection_cannot_write(db):
    ingest(db, "baseline")
    con = store.open_readonly(db)
    with pytest.raises(duckdb.InvalidInputException, match="read-only"):
        con.execute("DELETE FROM run")


def test_no_connection_loads_extensions_from_the_network(db):
    asked = "SELECT current_setting('autoinstall_known_extensions'), "
    asked += "current_setting('autoload_known_extensions')"
    with store.building(db, "baseline", install_views=install_views) as scratch:
        assert scratch.con.sql(asked).fetchall() == [(False, False)]
    assert store.open_readonly(db).sql(asked).fetchall() == [(False, False)]


def test_a_query_larger_than_memory_spills_outside_the_working_folder(db, tmp_path, monkeypatch):
    ingest(db, "a")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with store.open_readonly(db) as con:
        con.execute("SET memory_limit = '60MB'")
        con.execute("CREATE TEMP TABLE big AS SELECT md5(range::VARCHAR) FROM range(3_000_000)")
        [(folder,)] = con.execute("SELECT current_setting('temp_directory')").fetchall()
        assert list(Path(folder).iterdir()) != []
        assert sorted(tmp_path.iterdir()) == before
    assert not Path(folder).exists()
