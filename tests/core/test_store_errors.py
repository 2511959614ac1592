import os
import resource
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from core.fake_ingest import files, holding, ingest, runs

from tracekit import store
from tracekit.errors import SchemaVersionError, StoreError


def test_full_disk_is_one_line_and_leaves_nothing(db):
    ingest(db, "baseline")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limits[1]))
    try:
        with pytest.raises(StoreError, match="cannot be written .*free space") as error:
            ingest(db, "eagle3", rows=1_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(error.value)
    assert runs(db) == [("baseline", "first")]
    assert files(db.parent) == ["tracekit.duckdb"]


def test_too_little_memory_says_what_to_raise(db):
    with pytest.raises(StoreError, match="raise --memory"):
        ingest(db, "baseline", rows=3_000_000, memory="1MB")
    assert files(db.parent) == []


@pytest.mark.parametrize("memory", ["lots", "", "12", "-1", "-5MB"])
def test_amount_of_memory_that_is_none_is_refused(db, memory):
    with pytest.raises(StoreError, match="not an amount; write 500MB"):
        ingest(db, "baseline", memory=memory)


def test_full_disk_at_a_commit_is_told_like_any_other(db):
    text = "TransactionContext Error: Failed to commit: Could not write: No space left on device"

    def fail():
        raise duckdb.TransactionException(text)

    with pytest.raises(StoreError, match="cannot be written .*free space"):
        ingest(db, "baseline", wait=fail)


@pytest.mark.parametrize("error", [duckdb.IOException, duckdb.InterruptException])
def test_an_interrupted_query_is_no_error_of_the_store(db, error):
    def interrupt():
        raise error("INTERRUPT Error: Interrupted!")

    with pytest.raises(KeyboardInterrupt):
        ingest(db, "baseline", wait=interrupt)
    assert files(db.parent) == []


def make_orphan(db):
    """Changes of another database."""
    other = db.with_name("other.duckdb")
    code = (
        "import duckdb, os, sys; con = duckdb.connect(sys.argv[1]); "
        "con.execute('CREATE TABLE note AS SELECT 1 AS x'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(other)], check=False)
    return other.with_name("other.duckdb.wal").read_bytes()


@pytest.mark.parametrize("content", [lambda db: b"garbage" * 100, make_orphan])
def test_a_log_that_is_not_of_the_database_is_named(db, content):
    ingest(db, "baseline")
    wal = db.with_name("tracekit.duckdb.wal")
    wal.write_bytes(content(db))
    with pytest.raises(StoreError, match=r"^\S+\.wal: cannot be used .*; move it away"):
        ingest(db, "eagle3")
    wal.unlink()
    ingest(db, "eagle3")


def test_a_reader_names_a_log_that_is_not_of_the_database(db):
    ingest(db, "baseline")
    db.with_name("tracekit.duckdb.wal").write_bytes(make_orphan(db))
    with pytest.raises(StoreError, match=r"^\S+\.wal: cannot be used .*; move it away"):
        store.open_readonly(db)


def test_a_log_beside_a_database_in_use_is_the_users_of_it(db):
    ingest(db, "baseline")
    with holding(db):
        db.with_name("tracekit.duckdb.wal").write_bytes(b"changes")
        with pytest.raises(StoreError, match="another program is writing to it"):
            ingest(db, "eagle3")


def spoil(db):
    data = bytearray(db.read_bytes())
    data[12288:] = bytes(len(data) - 12288)
    db.write_bytes(data)


def make_foreign(db):
    con = duckdb.connect(str(db))
    con.execute("CREATE TABLE meta AS SELECT 1 AS x")
    con.close()


def make_old(db):
    ingest(db, "baseline")
    con = duckdb.connect(str(db))
    con.execute("UPDATE meta SET schema_version = 0, tracekit_version = '0.0.1'")
    con.close()


def make_spoilt(db):
    ingest(db, "baseline", rows=1000)
    spoil(db)


def make_cut(db):
    ingest(db, "baseline")
    os.truncate(db, 5000)


BAD_TARGETS = {
    "folder": (Path.mkdir, "not a regular file"),
    "pipe": (os.mkfifo, "not a regular file"),
    "text": (lambda db: db.write_text("trace,ms\n" * 10), "not a DuckDB database"),
    "foreign": (make_foreign, "not a database of tracekit's"),
    "spoilt": (make_spoilt, "cannot be opened"),
    "cut": (make_cut, "cannot be opened"),
}


@pytest.mark.parametrize("kind", BAD_TARGETS)
@pytest.mark.parametrize("use", [store.open_readonly, lambda db: ingest(db, "eagle3")])
def test_what_is_no_database_of_tracekits_is_refused(db, kind, use):
    make, message = BAD_TARGETS[kind]
    make(db)
    with pytest.raises(StoreError, match=message):
        use(db)
    assert files(db.parent) == ["tracekit.duckdb"]


@pytest.mark.parametrize("use", [store.open_readonly, lambda db: ingest(db, "eagle3")])
def test_other_schema_version_says_how_to_go_on(db, use):
    make_old(db)
    message = "version 0 of tracekit 0.0.1, .*; ingest the traces again into a new file"
    with pytest.raises(SchemaVersionError, match=message):
        use(db)


def test_missing_database_says_how_to_make_it(db):
    with pytest.raises(StoreError, match="no such database; make it with `tracekit ingest PATH"):
        store.open_readonly(db)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/x.duckdb", "there is no folder .*nowhere; make it first"),
        ("a\0b", "not a usable path"),
        ("loop/x.duckdb", "not a usable path"),
        ("x" * 300, "File name too long"),
        ("\udcff/x.duckdb", "not a usable path"),
    ],
)
def test_unusable_path_is_refused(tmp_path, path, message):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StoreError, match=message):
        ingest(tmp_path / path, "baseline")


def test_folder_that_cannot_be_written_is_one_line():
    with pytest.raises(StoreError, match=r"^/proc/.*cannot be read or written: .*$"):
        ingest("/proc/tracekit.duckdb", "baseline")


def test_database_in_a_folder_without_rights_is_left_as_it_was(db):
    ingest(db, "baseline")
    db.parent.chmod(0o500)
    if os.access(db.parent, os.W_OK):
        pytest.skip("this user writes everywhere")
    with pytest.raises(StoreError, match="cannot be read or written: Permission denied$"):
        ingest(db, "eagle3")
    assert runs(db) == [("baseline", "first")]


def test_writer_elsewhere_is_named_to_a_reader(db):
    ingest(db, "baseline")
    with holding(db), pytest.raises(StoreError, match="open for writing elsewhere; close it"):
        store.open_readonly(db)


def test_database_that_must_not_be_read_is_one_line(db, monkeypatch):
    ingest(db, "baseline")

    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # rights would not stop root
    with pytest.raises(StoreError, match="cannot be read .Permission denied.; choose another"):
        store.open_readonly(db)
