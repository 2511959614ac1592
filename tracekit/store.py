"""The database file: built beside its place, published by one rename, read without locking it."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit import schema
from tracekit.errors import StoreError, is_interrupt
from tracekit.limits import DEFAULT_MEMORY
from tracekit.lock import locked, try_lock
from tracekit.place import (
    NO_NETWORK,
    InUse,
    Settings,
    attach,
    fold_wal,
    is_database,
    is_of_store,
    line,
    resolve,
    wal,
)
from tracekit.views import InstallViews, Views

STORAGE_VERSION = "v1.2.0"
"""Oldest storage format that holds what we write; duckdb 1.2 and later open it."""

ROW_GROUP_SIZE = 16_384
"""Rows that one thread writes alone: of 122,880 at a time, few inserts have work for two."""

# No log: a scratch is finished or thrown away, and each commit would wait for the disk.
_FORM = (
    f"STORAGE_VERSION '{STORAGE_VERSION}', ROW_GROUP_SIZE {ROW_GROUP_SIZE}, "
    "RECOVERY_MODE 'NO_WAL_WRITES'"
)

_SUFFIX = ".ingest"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A database under construction: its connection and a folder for temporary files beside it.

    `begin_views` has its views made beside what `con` does next; else they are made at the end.
    """

    con: duckdb.DuckDBPyConnection
    folder: Path
    begin_views: Callable[[], None]


def open_readonly(
    db: str | os.PathLike[str], settings: Settings | None = None
) -> duckdb.DuckDBPyConnection:
    """Connection whose current database is `db`, read-only; the caller closes it.

    `db` is attached to an instance of its own: `duckdb.connect(db)` would hand out the process's
    older instance of that path, with the file of before the last ingest and another configuration.
    A `cursor()` of the connection has to `USE tracekit` itself.

    Raises:
        StoreError: there is no such file, it is no database of tracekit's, or somebody writes it.
        SchemaVersionError: another version of tracekit made it.
    """
    target = resolve(db)
    if not is_database(target):
        raise StoreError(f"{db}: no such database; make it with `tracekit ingest PATH --db {db}`")
    return attach(target, str(db), settings)


@contextmanager
def building(
    db: str | os.PathLike[str],
    run: str,
    *,
    install_views: InstallViews,
    replace: bool = False,
    memory: str = DEFAULT_MEMORY,
) -> Iterator[Scratch]:
    """An empty database with the schema applied, to be filled with `run`; published at the end.

    Where `db` exists the run's rows join a copy of it and the copy takes its place, so readers
    of the old file are not disturbed. An exception in the body leaves `db` as it was.

    Raises:
        StoreError: `run` is there and not `replace`, or `db` cannot be read or written.
        SchemaVersionError: another version of tracekit made `db`.
    """
    target = resolve(db)
    with _told(target), _scratch_folder(target, run, replace) as folder:
        con = _connect_scratch(folder, memory)
        try:
            with ThreadPoolExecutor(1) as helper:
                views = Views(con, install_views, helper, is_new=not is_database(target))
                schema.apply(con)
                yield Scratch(con, folder, views.begin)
                with _told(target, duckdb.Error), locked(_lock_path(target)):
                    result = _finish(con, folder, target, run, replace, views)
                    _publish(result, target)
        finally:
            con.close()


def _connect_scratch(folder: Path, memory: str) -> duckdb.DuckDBPyConnection:
    bad = f"--memory {memory}: not an amount; write 500MB or 2GB"
    if "-" in memory:  # DuckDB takes a negative one as no limit
        raise StoreError(bad)
    settings: Settings = {
        **NO_NETWORK,
        "memory_limit": memory,
        "temp_directory": str(folder / "spill"),
        # Pages are kept for the next table: given back and taken anew they cost 3 % of an ingest.
        "block_allocator_memory": "256MB",
        # Rows have no order of their own; keeping it costs a fifth of the time of an insert.
        "preserve_insertion_order": False,
    }
    try:
        con = duckdb.connect(":memory:", config=settings)
    except (duckdb.ParserException, duckdb.InvalidInputException) as error:
        raise StoreError(bad) from error
    con.execute(f"ATTACH ? AS scratch ({_FORM})", [str(folder / "scratch.duckdb")])
    con.execute("USE scratch")
    return con


@contextmanager
def _scratch_folder(target: Path, run: str, replace: bool) -> Iterator[Path]:
    """A folder beside `target`; refuses first what could not be published in the end."""
    with locked(_lock_path(target)):
        _sweep(target)
        folder = Path(
            tempfile.mkdtemp(suffix=_SUFFIX, prefix=f".{target.name}.", dir=target.parent)
        )
        alive = try_lock(folder / "alive")
    try:
        _refuse_early(target, folder, run, replace)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if alive is not None:
            os.close(alive)


def _sweep(target: Path) -> None:
    """Remove what killed ingests left: their folders, whose lock nobody holds any more."""
    for folder in target.parent.iterdir():
        if folder.name.startswith(f".{target.name}.") and folder.name.endswith(_SUFFIX):
            with suppress(OSError):
                _remove_if_dead(folder)


def _remove_if_dead(folder: Path) -> None:
    alive = try_lock(folder / "alive")
    if alive is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(alive)


def _refuse_early(target: Path, folder: Path, run: str, replace: bool) -> None:
    if not is_database(target):
        return
    fold_wal(target)
    try:
        con = attach(target, str(target))
    except InUse:  # somebody has it open for writing: a copy needs no lock
        con = attach(Path(shutil.copyfile(target, folder / "seen.duckdb")), str(target))
    try:
        _refuse_run(con, target, run, replace)
    finally:
        con.close()


def _refuse_run(con: duckdb.DuckDBPyConnection, target: Path, run: str, replace: bool) -> None:
    found = con.execute("SELECT run FROM run WHERE run = ?", [run]).fetchall()
    if found and not replace:
        raise StoreError(
            f"{target}: run {run!r} is already there; "
            "add --replace, or choose another name with --run"
        )


def _finish(
    con: duckdb.DuckDBPyConnection,
    folder: Path,
    target: Path,
    run: str,
    replace: bool,
    views: Views,
) -> Path:
    """Complete database file in `folder`: the scratch itself, or the target's copy with the run."""
    if not is_database(target):
        wal(target).unlink(missing_ok=True)  # of a file that was removed
        views.finish()
        con.execute("CHECKPOINT")  # closing would checkpoint too, but keep quiet about a full disk
        con.close()
        return folder / "scratch.duckdb"
    fold_wal(target)
    merged = Path(shutil.copy(target, folder / "merged.duckdb"))
    con.execute("ATTACH ? AS merged", [str(merged)])
    con.execute("USE merged")
    schema.check(con, str(target))
    _refuse_run(con, target, run, replace)
    _move_rows(con, run)
    schema.renew_macros(con)
    views.renew()
    con.execute("CHECKPOINT")
    con.execute("USE scratch; DETACH merged")
    return merged


def _move_rows(con: duckdb.DuckDBPyConnection, run: str) -> None:
    con.execute("BEGIN")
    for table in schema.RUN_TABLES:
        con.execute(f"DELETE FROM merged.{table} WHERE run = ?", [run])
        con.execute(f"INSERT INTO merged.{table} BY NAME FROM scratch.{table}")
    con.execute("COMMIT")


def _publish(result: Path, target: Path) -> None:
    _sync(result)
    result.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


@contextmanager
def _told(target: Path, also: type[duckdb.Error] = duckdb.IOException) -> Iterator[None]:
    """Say as one StoreError what DuckDB or the system says about the files of an ingest."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise StoreError(f"{target}: out of memory; raise --memory ({line(error)})") from error
    except duckdb.Error as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if not (isinstance(error, also) or is_of_store(error)):
            raise
        raise StoreError(
            f"{target}: cannot be written ({line(error)}); free space or choose another with --db"
        ) from error
    except OSError as error:
        place = error.filename or target
        raise StoreError(f"{place}: cannot be read or written: {error.strerror}") from error
