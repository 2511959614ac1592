"""The database file: built beside its place, published by one rename, read without locking it."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit import schema
from tracekit.errors import StoreError
from tracekit.limits import DEFAULT_MEMORY
from tracekit.lock import locked, try_lock

STORAGE_VERSION = "v1.2.0"
"""Oldest storage format that holds what we write; duckdb 1.2 and later open it."""

InstallViews = Callable[[duckdb.DuckDBPyConnection], None]
"""Creates the views, with their comments, in the current database of a connection."""

_Settings = dict[str, str | bool | int | float | list[str]]
_NO_NETWORK: _Settings = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_SUFFIX = ".ingest"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A database under construction: its connection and a folder for temporary files beside it."""

    con: duckdb.DuckDBPyConnection
    folder: Path


def open_readonly(db: str | os.PathLike[str]) -> duckdb.DuckDBPyConnection:
    """Connection whose current database is `db`, read-only; the caller closes it.

    `db` is attached to an instance of its own: `duckdb.connect(db)` would hand out the process's
    older instance of that path, with the file of before the last ingest and another configuration.
    A `cursor()` of the connection has to `USE tracekit` itself.

    Raises:
        StoreError: there is no such file, it is no database of tracekit's, or somebody writes it.
        SchemaVersionError: another version of tracekit made it.
    """
    target = _resolve(db)
    if not _is_database(target):
        raise StoreError(f"{db}: no such database; make it with `tracekit ingest PATH --db {db}`")
    return _attach(target, str(db))


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
    target = _resolve(db)
    with _told(target), _scratch_folder(target, run, replace) as folder:
        con = _connect_scratch(folder, memory)
        try:
            schema.apply(con)
            yield Scratch(con, folder)
            with _told(target, duckdb.Error), locked(_lock_path(target)):
                result = _finish(con, folder, target, run, replace, install_views)
                _publish(result, target)
        finally:
            con.close()


def _connect_scratch(folder: Path, memory: str) -> duckdb.DuckDBPyConnection:
    settings: _Settings = {
        **_NO_NETWORK,
        "memory_limit": memory,
        "temp_directory": str(folder / "spill"),
        "storage_compatibility_version": STORAGE_VERSION,
    }
    try:
        return duckdb.connect(str(folder / "scratch.duckdb"), config=settings)
    except (duckdb.ParserException, duckdb.InvalidInputException) as error:
        raise StoreError(f"--memory {memory}: not an amount; write 500MB or 2GB") from error


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
    if not _is_database(target):
        return
    _fold_wal(target)
    try:
        con = _attach(target, str(target))
    except _InUse:  # somebody has it open for writing: a copy needs no lock
        con = _attach(Path(shutil.copyfile(target, folder / "seen.duckdb")), str(target))
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
    install_views: InstallViews,
) -> Path:
    """Complete database file in `folder`: the scratch itself, or the target's copy with the run."""
    if not _is_database(target):
        _wal(target).unlink(missing_ok=True)  # of a file that was removed
        install_views(con)
        con.execute("CHECKPOINT")  # closing would checkpoint too, but keep quiet about a full disk
        con.close()
        return folder / "scratch.duckdb"
    _fold_wal(target)
    merged = Path(shutil.copy(target, folder / "merged.duckdb"))
    con.execute("ATTACH ? AS merged", [str(merged)])
    con.execute("USE merged")
    schema.check(con, str(target))
    _refuse_run(con, target, run, replace)
    _move_rows(con, run)
    install_views(con)
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


def _fold_wal(target: Path) -> None:
    """Let DuckDB fold changes that a crashed or living writer left beside the target."""
    if not _wal(target).exists():
        return
    with suppress(duckdb.IOException, duckdb.ConnectionException):
        duckdb.connect(str(target)).close()
    if _wal(target).exists():
        raise StoreError(f"{target}: another program is writing to it; close that, then try again")


class _InUse(StoreError):
    """Somebody has the file open for writing."""


def _attach(path: Path, place: str) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(":memory:", config=_NO_NETWORK)
    try:
        con.execute("ATTACH ? AS tracekit (READ_ONLY)", [str(path)])
        con.execute("USE tracekit")
        schema.check(con, place)
    except duckdb.Error as error:
        con.close()
        raise _cannot_open(place, error) from error
    except StoreError:
        con.close()
        raise
    return con


def _cannot_open(place: str, error: duckdb.Error) -> StoreError:
    if isinstance(error, duckdb.ResourceInUseException) or "Could not set lock" in str(error):
        return _InUse(f"{place}: open for writing elsewhere; close it there ({_line(error)})")
    return StoreError(
        f"{place}: cannot be opened ({_line(error)}); remove it or choose another with --db"
    )


def _is_database(target: Path) -> bool:
    """Whether something to read is at `target`; an empty file counts as nothing there."""
    if not target.exists():
        return False
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{target}: not a regular file; choose another with --db")
    if status.st_size == 0:
        return False
    with target.open("rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise StoreError(f"{target}: not a DuckDB database; choose another file with --db")
    return True


def _resolve(db: str | os.PathLike[str]) -> Path:
    """The file that a rename has to replace: behind links, in a folder that exists."""
    try:
        target = Path(db).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
        raise StoreError(f"{db}: not a usable path; choose another file with --db") from error
    if not target.parent.is_dir():
        raise StoreError(f"{db}: there is no folder {target.parent}; make it first")
    return target


def _wal(target: Path) -> Path:
    return target.with_name(f"{target.name}.wal")


def _lock_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


@contextmanager
def _told(target: Path, also: type[duckdb.Error] = duckdb.IOException) -> Iterator[None]:
    """Say as one StoreError what DuckDB or the system says about the files of an ingest."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise StoreError(f"{target}: out of memory; raise --memory ({_line(error)})") from error
    except (duckdb.IOException, duckdb.FatalException, also) as error:
        raise StoreError(
            f"{target}: cannot be written ({_line(error)}); free space or choose another with --db"
        ) from error
    except OSError as error:
        place = error.filename or target
        raise StoreError(f"{place}: cannot be read or written: {error.strerror}") from error


def _line(error: duckdb.Error) -> str:
    return str(error).splitlines()[0]
