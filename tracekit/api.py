"""The library: ingest traces into a database, open one."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit import queries, store
from tracekit.database import Database, Result, default_database
from tracekit.derive import derive
from tracekit.errors import RunError, TraceFormatError, is_interrupt
from tracekit.limits import DEFAULT_MEMORY
from tracekit.place import is_of_store, line
from tracekit.readers import (
    calibration,
    context,
    gpu_samples,
    iteration_log,
    kineto,
    load_rows,
    nccl_log,
    prometheus,
    spec_log,
    windows,
)
from tracekit.readers.folder import InputFile
from tracekit.readers.kind import Kind
from tracekit.run import RunInput, discover
from tracekit.taxonomy import classify, load_collective_categories, load_no_work

__all__ = ["Database", "IngestSummary", "Result", "ingest", "open"]

PathLike = str | os.PathLike[str]
Progress = Callable[[str, int, int], None]
"""Called with the run's name, bytes read and bytes in all."""


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """What one run came to; `n_lost` counts events skipped though their kind is needed."""

    run: str
    db: Path
    n_ranks: int
    n_activities: int
    n_steps: int
    n_lost: int
    seconds: float


Done = Callable[[IngestSummary], None]
"""Called with each run's summary as soon as the run is in the database."""


def open(path: PathLike | None = None) -> Database:
    """Database at `path`, by default `$TRACEKIT_DB` or `tracekit.duckdb`, for reading.

    Raises:
        StoreError: there is none, or another version of tracekit made it.
    """
    database = Database(default_database(path))
    with database.batch():
        return database


def ingest(
    paths: PathLike | Sequence[PathLike],
    *,
    run: str | None = None,
    db: PathLike | None = None,
    rank: int | None = None,
    replace: bool = False,
    each: bool = False,
    taxonomy: PathLike | None = None,
    memory: str = DEFAULT_MEMORY,
    progress: Progress | None = None,
    done: Done | None = None,
) -> list[IngestSummary]:
    """Read traces, and what lies beside them, into a database; one summary per run.

    `paths` are trace files, run folders or folders of either. `run` names the run (default: the
    folder's or file's name), `rank` that of a single trace which tells none. With `each`, every
    folder with traces becomes a run. `taxonomy` is a TOML file of kernel rules to try first.

    Raises:
        TracekitError: bad input or a run that is there already. Of that run nothing is in the
            database then; those before it, with `each`, are.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if "" in given:
        raise RunError("'': an empty path; write . for the current folder")
    target = default_database(db)
    rules = None if taxonomy is None else Path(taxonomy)
    summaries = []
    for inputs in discover(given, run=run, rank=rank, each=each):
        summaries.append(_ingest(inputs, target, replace, rules, memory, progress))
        if done is not None:
            done(summaries[-1])
    return summaries


def _ingest(
    inputs: RunInput,
    db: Path,
    replace: bool,
    rules: Path | None,
    memory: str,
    progress: Progress | None,
) -> IngestSummary:
    began = time.perf_counter()
    building = store.building(
        db, inputs.name, install_views=queries.install, replace=replace, memory=memory
    )
    with building as scratch, _told(inputs):
        _fill(scratch, inputs, rules, progress)
    (row,) = Database(db).report("run_list", run=inputs.name).records()
    return IngestSummary(
        run=inputs.name,
        db=db,
        n_ranks=row.n_ranks,
        n_activities=row.n_activities,
        n_steps=row.n_steps,
        n_lost=row.n_lost,
        seconds=time.perf_counter() - began,
    )


@contextmanager
def _told(inputs: RunInput) -> Iterator[None]:
    """Say in one line what DuckDB cannot do with a trace; of files and memory the store tells."""
    try:
        yield
    except duckdb.Error as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        if is_of_store(error):
            raise
        raise TraceFormatError(
            f"{inputs.source}: cannot be analysed ({line(error)}); please report it with the trace"
        ) from error


def _fill(
    scratch: store.Scratch, inputs: RunInput, rules: Path | None, progress: Progress | None
) -> None:
    con, run = scratch.con, inputs.name
    kineto.read_traces(
        con,
        inputs.traces,
        run=run,
        scratch=scratch.folder,
        progress=progress and (lambda done, total: progress(run, done, total)),
        is_failed=inputs.is_failed,
    )
    context.insert_run(con, context.describe(con, inputs))
    context.insert_files(con, inputs)
    _read_windows(con, inputs)
    nccl_log.read_logs(con, _nccl_logs(inputs), run=run, scratch=scratch.folder)
    scratch.begin_views()
    classify(con, run, rules)
    load_no_work(con)
    load_collective_categories(con)
    derive(con, run)


def _nccl_logs(inputs: RunInput) -> list[tuple[int, InputFile]]:
    """Logs of NCCL's, and others that may hold lines of it."""
    kinds: tuple[Kind, ...] = ("nccl_log", "server_log", "calibration")
    return [found for kind in kinds for found in inputs.of_kind(kind)]


def _read_windows(con: duckdb.DuckDBPyConnection, inputs: RunInput) -> None:
    """What was recorded beside the traces, by the window it was recorded in."""
    run = inputs.name
    found = windows.read_windows(con, inputs)
    prometheus.read_metrics(con, inputs.of_kind("metrics"), found.metrics, run=run)
    iteration_log.read_iterations(con, inputs.of_kind("server_log"), found, run=run)
    spec_log.read_acceptance(con, inputs.of_kind("server_log"), found, run=run)
    load_rows.read_requests(con, inputs.of_kind("load"), found, run=run)
    gpu_samples.read_samples(con, inputs.of_kind("gpu_samples"), found, run=run)
    calibration.read_calibrations(con, inputs.of_kind("calibration"), run=run)
