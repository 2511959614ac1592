"""A query that anybody may write, run in a process of its own: its limits hold for certain.

DuckDB counts no long strings: `repeat('x', 1000000000)` takes 4 GB whatever its memory limit, and
is interrupted only after them. The system's limit stops that, and ends nothing but the process.
"""

import json
import resource
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

from tracekit import guard, store
from tracekit.errors import QueryError, TracekitError
from tracekit.place import Settings

START_S = 5.0
"""What the process may take to start and to write, beyond the time of the query."""

SETTINGS: Settings = {"temp_directory": "", "threads": 4}
"""Without a folder for spilling there is none that a query could write to, or fill."""

ADVICE = "add WHERE or LIMIT, or run it with `tracekit sql`"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a query may take; text is cut, the rest ends it."""

    seconds: float = 10.0
    rows: int = 10_000
    memory_mb: int = 1000
    process_mb: int = 3000
    cell: int = 2000
    characters: int = 5_000_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The first rows of a result; `is_cut` where there are more, `is_shortened` where a text is.

    A value is a number, a text, a bool or None; what is none of these is its text.
    """

    columns: list[str]
    types: list[str]
    rows: list[list[object]]
    is_cut: bool
    is_shortened: bool


def run(db: Path, query: str, limits: Limits | None = None) -> Excerpt:
    """The first rows of a SELECT over the database.

    Raises:
        QueryError: a mistake in it, more than a SELECT, or it takes more than the limits.
        StoreError: there is no such database, or it cannot be opened.
    """
    limits = limits or Limits()
    task = json.dumps({"db": str(db), "query": query, "limits": asdict(limits)})
    command = [sys.executable, "-P", "-m", "tracekit.sandbox"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        try:
            text, _ = process.communicate(task.encode(), limits.seconds + START_S)
        except subprocess.TimeoutExpired as error:
            raise QueryError(_too_long(limits)) from error
        finally:
            process.kill()
    if process.returncode != 0:
        raise QueryError(_too_large(limits))
    answer = json.loads(text)
    if "error" in answer:
        raise QueryError(answer["error"])
    return Excerpt(**answer)


def main() -> None:
    """Read a task from stdin, write its answer to stdout."""
    task = json.load(sys.stdin)
    limits = Limits(**task["limits"])
    most = limits.process_mb << 20
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        answer = asdict(_excerpt(task["db"], task["query"], limits))
    except TracekitError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": _too_large(limits)}
    json.dump(answer, sys.stdout)


def _excerpt(db: str, query: str, limits: Limits) -> Excerpt:
    con = store.open_readonly(db, {**SETTINGS, "memory_limit": f"{limits.memory_mb}MB"})
    guard.lock(con)
    timer = threading.Timer(limits.seconds, con.interrupt)
    timer.start()
    try:
        guard.check(con, query)
        con.execute(query)
        return _read(con, limits)
    except duckdb.InterruptException as error:
        raise QueryError(_too_long(limits)) from error
    except duckdb.OutOfMemoryException as error:
        raise QueryError(_too_large(limits)) from error
    except duckdb.Error as error:
        said = " ".join(str(error).split("\n\n", 1)[0].splitlines())
        raise QueryError(f"query: {said}") from error
    finally:
        timer.cancel()


def _read(con: duckdb.DuckDBPyConnection, limits: Limits) -> Excerpt:
    columns = [(column[0], str(column[1])) for column in con.description or []]
    rows: list[list[object]] = []
    left, is_shortened = limits.characters, False
    while left > 0 and len(rows) <= limits.rows and (row := con.fetchone()):
        cells = [_plain(value) for value in row]
        is_shortened |= any(isinstance(cell, str) and len(cell) > limits.cell for cell in cells)
        rows.append([_shortened(cell, limits.cell) for cell in cells])
        left -= sum(len(str(cell)) for cell in rows[-1])
    is_cut = left <= 0 or len(rows) > limits.rows
    names, types = [name for name, _ in columns], [kind for _, kind in columns]
    return Excerpt(names, types, rows[: limits.rows], is_cut, is_shortened)


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _shortened(cell: object, most: int) -> object:
    return f"{cell[: most - 1]}…" if isinstance(cell, str) and len(cell) > most else cell


def _too_long(limits: Limits) -> str:
    return f"query: it takes longer than {limits.seconds:g} s; {ADVICE}"


def _too_large(limits: Limits) -> str:
    return f"query: it takes more memory than {limits.memory_mb:,} MB; {ADVICE}"


if __name__ == "__main__":
    main()
