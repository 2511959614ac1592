"""The only door to the database: what reports say, remembered until the file changes."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import cast

import pandas as pd
import pyarrow as pa
import streamlit as st

from tracekit import queries, sandbox
from tracekit.database import Database, default_database
from tracekit.errors import StoreError
from tracekit.queries.header import Query, Value
from tracekit.report import comparison, summary
from tracekit.report.document import TOPICS, Figure, Finding, Topic
from tracekit.report.measured import Measured

Identity = tuple[str, int, int, int]
"""Path, inode, modification time and size: an ingest puts a new file in the place of the old."""

Params = tuple[tuple[str, Value], ...]

SIDE_BY_SIDE = 2
"""Questions that are asked ahead at a time: to plan one takes more than to run it."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is open as long as a body asks: databases, and threads that ask ahead."""

    stack: ExitStack
    threads: ThreadPoolExecutor
    databases: dict[Identity, Database] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def database(self, identity: Identity) -> Database:
        """The database in that state, opened where it is not yet."""
        with self.lock:
            if identity not in self.databases:
                opened = Database(Path(identity[0])).batch()
                self.databases[identity] = self.stack.enter_context(opened)
            return self.databases[identity]


_HELD: ContextVar[Held | None] = ContextVar("held", default=None)

REMEMBERED = 256
"""Answers kept at a time, over all sessions."""

LATE: tuple[Topic, ...] = ("gemm", "unknown")
"""Topics whose findings read every kernel."""

EXACT = {
    pa.int64(): pd.Int64Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}
"""Types that keep a whole number whole where others of its column are missing."""


@contextmanager
def held_open() -> Iterator[None]:
    """Open the database at most once for all that the body asks, and only where it has to be.

    Opening is 60 of the 90 ms of CPU that an answer of the Step view takes.
    """
    with ExitStack() as stack, ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        token = _HELD.set(Held(stack, threads))
        try:
            yield
        finally:
            _HELD.reset(token)
            threads.shutdown(cancel_futures=True)


def path() -> Path:
    """The database file: `--db` of the command, as `$TRACEKIT_DB`."""
    return default_database()


def query(name: str) -> Query:
    """The report or view `name`, its header taken apart."""
    return queries.load(name)


def header(name: str) -> str:
    """The comment above the query: what it answers, its columns and limits."""
    lines = query(name).sql.split("\n\n", 1)[0].splitlines()
    return "\n".join(line.removeprefix("--").removeprefix(" ") for line in lines)


def report(name: str, /, **params: Value) -> pd.DataFrame:
    """Rows of a report; whole numbers stay whole, `pd.NA` where one is missing.

    Raises:
        TracekitError: no database, no such run, a wrong parameter.
    """
    table = _table(_identity(), name, tuple(params.items()))
    return cast(pd.DataFrame, table.to_pandas(types_mapper=EXACT.get))


def rows(name: str, /, **params: Value) -> list[SimpleNamespace]:
    """Rows of a report with their columns as attributes, for sentences; None where one is missing.

    Raises:
        TracekitError: as `report`.
    """
    table = _table(_identity(), name, tuple(params.items()))
    return [SimpleNamespace(**row) for row in table.to_pylist()]


def ahead(questions: Iterable[tuple[str, Mapping[str, Value]]]) -> None:
    """Begin to ask reports, by name and parameters, that the view shows further down.

    What is wrong with a question is told where its answer is wanted.
    """
    held, identity = _HELD.get(), _identity()
    if held is None:
        return
    for name, params in questions:
        held.threads.submit(copy_context().run, _table, identity, name, tuple(params.items()))


def summarized(run: str) -> tuple[tuple[Figure, ...], tuple[Finding, ...]]:
    """Key figures and findings of a run, in the words of `tracekit report`.

    What takes long to find is left to `found_late`.
    """
    return _summarized(_identity(), run)


def found_late(run: str) -> tuple[Finding, ...]:
    """Findings that read every kernel: on 8 ranks of a million activities, seconds."""
    return _found_late(_identity(), run)


def compared(base: str, other: str) -> tuple[Finding, ...]:
    """Which of two runs is faster, in the words of `tracekit report`."""
    return _compared(_identity(), base, other)


def asked(query: str) -> sandbox.Excerpt:
    """The first rows of a SELECT that a user wrote.

    Raises:
        QueryError: a mistake in it, or it takes more than its limits.
    """
    return _asked(_identity(), query)


def _identity() -> Identity:
    place = path()
    try:
        status = place.stat()
    except OSError as error:
        raise StoreError(
            f"{place}: no such database; make it with `tracekit ingest PATH --db {place}`"
        ) from error
    return (str(place), status.st_ino, status.st_mtime_ns, status.st_size)


def _database(identity: Identity) -> Database:
    """The database in that state: held open where a body says so, else opened by each question."""
    held = _HELD.get()
    return Database(Path(identity[0])) if held is None else held.database(identity)


@st.cache_data(max_entries=REMEMBERED, show_spinner=False)
def _table(identity: Identity, name: str, params: Params) -> pa.Table:
    return _database(identity).report(name, **dict(params)).arrow()


@st.cache_data(max_entries=REMEMBERED, show_spinner=False)
def _summarized(identity: Identity, run: str) -> tuple[tuple[Figure, ...], tuple[Finding, ...]]:
    measured = Measured(_database(identity))
    (facts,) = measured.ask("run_list", run=run)
    quick = [topic for topic in TOPICS if topic not in LATE]
    return summary.key_figures(measured, facts), summary.findings(measured, facts, quick)


@st.cache_data(max_entries=REMEMBERED, show_spinner=False)
def _found_late(identity: Identity, run: str) -> tuple[Finding, ...]:
    measured = Measured(_database(identity))
    (facts,) = measured.ask("run_list", run=run)
    return summary.findings(measured, facts, LATE)


@st.cache_data(max_entries=REMEMBERED, show_spinner=False)
def _compared(identity: Identity, base: str, other: str) -> tuple[Finding, ...]:
    return comparison.findings(Measured(_database(identity)), base, other)


@st.cache_data(max_entries=8, show_spinner=False)
def _asked(identity: Identity, query: str) -> sandbox.Excerpt:
    return sandbox.run(Path(identity[0]), query)
