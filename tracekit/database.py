"""A database of runs, and the rows of a query."""

import fnmatch
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import duckdb

from tracekit import guard, queries, store
from tracekit.errors import QueryError, RunError, StoreError, is_interrupt
from tracekit.queries.header import Value

if TYPE_CHECKING:
    import pandas
    import pyarrow

DATABASE_VARIABLE = "TRACEKIT_DB"
DEFAULT_DATABASE = "tracekit.duckdb"

NAMED = 12
"""Runs an error names."""

REPORTS = {
    "runs": "run_list",
    "spec_decode": "spec",
    "steps": "step_list",
    "step_phases": "spec_phases",
    "step_breakdown": "breakdown",
    "kernel_names": "kernels",
    "ingest_ledger": "losses",
}
"""The report that reads each view; the others are read by several."""

RUNS = "VARCHAR[]"
"""Type of a report's parameter that takes names of runs."""

Parameters = Mapping[str, Value] | Sequence[Value]
Row = tuple[object, ...]


class Result:
    """Rows of one query, read when asked for; asked again, the query runs again.

    The connection to the database is closed with the last row.
    """

    def __init__(self, run: Callable[[], duckdb.DuckDBPyConnection]) -> None:
        self._run = run
        self._cursor: duckdb.DuckDBPyConnection | None = run()
        self.columns: list[str] = [column[0] for column in self._cursor.description or []]

    def __iter__(self) -> Iterator[Row]:
        with self._reading() as cursor:
            while rows := cursor.fetchmany(1000):
                yield from rows

    def fetchall(self) -> list[Row]:
        """All rows as tuples."""
        return list(self)

    def records(self) -> list[SimpleNamespace]:
        """All rows with their columns as attributes: `row.busy_ns`."""
        return [SimpleNamespace(**dict(zip(self.columns, row, strict=True))) for row in self]

    def df(self) -> "pandas.DataFrame":
        """All rows as a pandas DataFrame.

        Raises:
            QueryError: pandas is not installed.
        """
        _require("pandas")
        with self._reading() as cursor:
            return cursor.df()

    def arrow(self) -> "pyarrow.Table":
        """All rows as an Arrow table.

        Raises:
            QueryError: pyarrow is not installed.
        """
        _require("pyarrow")
        with self._reading() as cursor, warnings.catch_warnings():
            # DuckDB advises relations, which would run the query twice: here the copy is cheaper.
            warnings.simplefilter("ignore", UserWarning)
            return cursor.to_arrow_table()

    @contextmanager
    def _reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor, self._cursor = self._cursor or self._run(), None
        with _told():
            try:
                yield cursor
            finally:
                cursor.close()


class Database:
    """A database of runs, opened for reading, anew for each query: ingests go on meanwhile."""

    def __init__(self, path: Path, con: duckdb.DuckDBPyConnection | None = None) -> None:
        self.path = path
        self._con = con

    @contextmanager
    def batch(self) -> Iterator["Database"]:
        """The database held open: all queries in the body see one state of it.

        Raises:
            StoreError: there is none, or another version of tracekit made it.
        """
        con = _open_locked(self.path)
        try:
            yield Database(self.path, con)
        finally:
            con.close()

    def sql(self, query: str, params: Parameters | None = None) -> Result:
        """Rows of any SELECT; `params` fill its `$name` or `?` places.

        Raises:
            QueryError: a mistake in the query. It can neither write nor reach other files.
        """
        return Result(lambda: self._execute(query, params))

    def report(self, name: str, /, **params: Value) -> Result:
        """Rows of a report of tracekit.queries; parameters left out have their defaults.

        `run` may be left out where the database has one run; `base` and `other` take one run or a
        list of them.

        Raises:
            QueryError: no such report (views are for `sql`), or a wrong parameter.
            RunError: no such run.
            StoreError: the views of the database are those of another state of tracekit.
        """
        query = queries.load(name)
        if query.kind == "view":
            raise QueryError(_no_report(name))
        if any(param.name == "run" and param.is_required for param in query.params):
            params["run"] = self.run_name(params.get("run"))
        bound = query.bind(params)
        for param in query.params:
            if param.type == RUNS:
                self._check_runs(bound[param.name])
        try:
            return self.sql(query.sql, bound)
        except QueryError as error:
            if isinstance(error.__cause__, duckdb.CatalogException | duckdb.BinderException):
                raise StoreError(_of_another_state(self.path, name, error.__cause__)) from error
            raise

    def runs(self) -> list[str]:
        """Names of all runs, in alphabetical order."""
        return [str(row[0]) for row in self.sql("SELECT run FROM run ORDER BY run")]

    def run_name(self, name: Value = None) -> str:
        """`name` if there is such a run; of a database with one run, that run for None.

        Raises:
            RunError: there is none, or several to choose from.
        """
        runs = self.runs()
        if name is None and len(runs) == 1:
            return runs[0]
        if name not in runs:
            raise RunError(_no_run(name, runs, self.path))
        return str(name)

    def run_names(self, text: str) -> list[str]:
        """Runs that `text` names: one, several with commas between them, or all a pattern fits.

        Raises:
            RunError: a name or pattern that no run has.
        """
        runs = self.runs()
        words = [text] if text in runs else text.split(",")
        found = {word: [word] if word in runs else fnmatch.filter(runs, word) for word in words}
        for word, names in found.items():
            if not names:
                raise RunError(_no_run(word, runs, self.path))
        return list(dict.fromkeys(name for names in found.values() for name in names))

    def _check_runs(self, names: Value) -> None:
        for name in names if isinstance(names, list) else [names]:
            self.run_name(name)

    def _execute(self, query: str, params: Parameters | None) -> duckdb.DuckDBPyConnection:
        con = self._connect()
        with _told():
            try:
                guard.check(con, query)
                return _executed(con, query, params)
            except (duckdb.Error, QueryError):
                con.close()
                raise

    def _connect(self) -> duckdb.DuckDBPyConnection:
        if self._con is None:
            return _open_locked(self.path)
        con = self._con.cursor()
        con.execute("USE tracekit")
        return con


@contextmanager
def reading(path: str | os.PathLike[str] | None = None) -> Iterator[Database]:
    """Database at `path`, else the default one, held open for a page of queries.

    Raises:
        StoreError: there is none, or another version of tracekit made it.
    """
    with Database(default_database(path)).batch() as database:
        yield database


def default_database(path: str | os.PathLike[str] | None = None) -> Path:
    """`path`, else `$TRACEKIT_DB`, else `tracekit.duckdb` in the current folder."""
    return Path(path or os.environ.get(DATABASE_VARIABLE) or DEFAULT_DATABASE)


def _open_locked(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection for a user's text: it reads this database and nothing else."""
    con = store.open_readonly(path)
    guard.lock(con)
    return con


def _executed(
    con: duckdb.DuckDBPyConnection, query: str, params: Parameters | None
) -> duckdb.DuckDBPyConnection:
    """Execute in a thread: within a query, DuckDB 2.0 hears of Ctrl-C by `interrupt()` alone."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        running = thread.submit(con.execute, query, params)
        try:
            return running.result()
        except KeyboardInterrupt:
            while not running.done():
                con.interrupt()  # lost where the query has not begun yet
                wait([running], timeout=0.1)
            raise


@contextmanager
def _told() -> Iterator[None]:
    """Say what DuckDB says about a query in one line."""
    try:
        yield
    except duckdb.Error as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        advice = "`tracekit schema` lists views and columns"
        raise QueryError(f"query: {str(error).splitlines()[0]}; {advice}") from error


def _require(package: str) -> None:
    if find_spec(package) is None:
        raise QueryError(
            f"{package}: not installed, and a table of it was asked for; "
            "pip install 'tracekit-llm[notebook]', or use fetchall()"
        )


def _no_report(view: str) -> str:
    report = f", or ask for the report {REPORTS[view]!r}" if view in REPORTS else ""
    return f"{view!r}: a view, not a report; query it with sql('FROM {view}'){report}"


def _of_another_state(db: Path, report: str, error: duckdb.Error) -> str:
    """What a report that does not fit says: its text is ours, and so are views and macros."""
    return (
        f"{db}: another state of tracekit made it, the report {report!r} does not fit it "
        f"({str(error).splitlines()[0]}); ingest the traces again into a new file"
    )


def _no_run(name: Value, runs: list[str], db: Path) -> str:
    if not runs:
        return f"{db}: no run in it; add one with `tracekit ingest PATH`"
    if name is None:
        return f"{db}: {len(runs)} runs in it; name one of: {_some(runs)}"
    close = get_close_matches(str(name), runs, n=len(runs), cutoff=0.0)
    return f"{name or repr(name)}: no such run in {db}; there are: {_some(close)}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
