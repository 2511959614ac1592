"""What is at the place of a database: the file, its log, and what DuckDB says about them."""

import os
import stat
import tempfile
import uuid
from pathlib import Path

import duckdb

from tracekit import schema
from tracekit.errors import StoreError

Settings = dict[str, str | bool | int | float | list[str]]
NO_NETWORK: Settings = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}


class InUse(StoreError):
    """Somebody has the file open for writing."""


def resolve(db: str | os.PathLike[str]) -> Path:
    """The file that a rename has to replace: behind links, in a folder that exists."""
    try:
        target = Path(db).resolve()
        str(target).encode()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL, no UTF-8
        raise StoreError(f"{db}: not a usable path; choose another file with --db") from error
    if not target.parent.is_dir():
        raise StoreError(f"{db}: there is no folder {target.parent}; make it first")
    return target


def is_database(target: Path) -> bool:
    """Whether something to read is at `target`; an empty file counts as nothing there."""
    if not target.exists():
        return False
    status = target.stat()
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{target}: not a regular file; choose another with --db")
    if status.st_size == 0:
        return False
    if _head(target)[8:] != b"DUCK":
        raise StoreError(f"{target}: not a DuckDB database; choose another file with --db")
    return True


def _head(target: Path) -> bytes:
    try:
        with target.open("rb") as file:
            return file.read(12)
    except OSError as error:
        raise StoreError(
            f"{target}: cannot be read ({error.strerror}); choose another with --db"
        ) from error


def attach(path: Path, place: str, settings: Settings | None = None) -> duckdb.DuckDBPyConnection:
    """Connection whose current database is the file at `path`, read-only."""
    config = {**NO_NETWORK, "temp_directory": _spill_folder(), **(settings or {})}
    con = duckdb.connect(":memory:", config=config)
    try:
        con.execute("ATTACH ? AS tracekit (READ_ONLY)", [str(path)])
        con.execute("USE tracekit")
        schema.check(con, place)
    except duckdb.Error as error:
        con.close()
        raise _cannot_open(path, place, error) from error
    except StoreError:
        con.close()
        raise
    return con


def _spill_folder() -> str:
    """Where a query larger than memory goes: by itself DuckDB takes `.tmp` in the working folder.

    One of its own per connection, made only when needed: DuckDB names the files in it alike.
    """
    return str(Path(tempfile.gettempdir()) / f"tracekit-{uuid.uuid4().hex}")


def fold_wal(target: Path) -> None:
    """Let DuckDB fold changes that a crashed writer left beside the database.

    Raises:
        StoreError: somebody has the database open, or the changes are not of it.
    """
    if not wal(target).exists():
        return
    con = duckdb.connect(":memory:")  # an instance of its own: see `store.open_readonly`
    try:
        con.execute("ATTACH ? AS folded", [str(target)])
        con.execute("CHECKPOINT folded")
    except duckdb.Error as error:
        raise _cannot_fold(target, error) from error
    finally:
        con.close()
    if wal(target).exists():
        raise StoreError(_wal_left(target, "no changes of the database beside it"))


def _cannot_fold(target: Path, error: duckdb.Error) -> StoreError:
    if _is_in_use(error):
        return InUse(f"{target}: another program is writing to it; close that, then try again")
    return StoreError(_wal_left(target, line(error)))


def _wal_left(target: Path, why: str) -> str:
    return f"{wal(target)}: cannot be used ({why}); move it away, then try again"


def wal(target: Path) -> Path:
    """Where DuckDB keeps changes that are not in the file yet."""
    return target.with_name(f"{target.name}.wal")


def _cannot_open(path: Path, place: str, error: duckdb.Error) -> StoreError:
    if _is_in_use(error):
        return InUse(f"{place}: open for writing elsewhere; close it there ({line(error)})")
    if wal(path).exists() and "WAL" in str(error):
        return StoreError(_wal_left(path, line(error)))
    return StoreError(
        f"{place}: cannot be opened ({line(error)}); remove it or choose another with --db"
    )


def _is_in_use(error: duckdb.Error) -> bool:
    return isinstance(error, duckdb.ResourceInUseException) or "Could not set lock" in str(error)


def is_of_store(error: duckdb.Error) -> bool:
    """Whether DuckDB tells of files, space or memory, not of what it computes."""
    kinds = (duckdb.IOException, duckdb.FatalException, duckdb.OutOfMemoryException)
    return isinstance(error, kinds) or "No space left" in str(error)


def line(error: duckdb.Error) -> str:
    """What DuckDB says, without its hints."""
    return str(error).splitlines()[0]
