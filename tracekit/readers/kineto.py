"""Kineto traces (torch.profiler JSON) to the tables `file`, `ledger` and the staging table `event`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all, over all files of the run."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace to read, and what the user or its folder says of it before it is opened.

    `shown` is the path relative to what was ingested: table `file` and messages have it.
    `rank` and `dp` are None where the trace or its name has to tell.
    """

    path: Path
    shown: str
    file_id: int
    rank: int | None = None
    dp: int | None = None


def read_traces(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[TraceFile],
    *,
    run: str,
    scratch: Path,
    progress: Progress | None = None,
) -> None:
    """Fill `file` and `ledger` for the traces of one run and make the TEMP table `event`."""
    raise NotImplementedError
