"""Kineto traces (torch.profiler JSON) to the tables `file`, `ledger` and the staging table `event`."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import duckdb

from tracekit.errors import RunError, TraceFormatError
from tracekit.readers.file_names import NameFacts, facts_of_name
from tracekit.readers.metadata import Layout, layout
from tracekit.readers.plain import Plain, opened
from tracekit.readers.slices import Slice, SliceFileSystem, slices

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all, over all files of the run."""

_SQL = {
    path.name: path.read_text()
    for path in resources("tracekit.readers").iterdir()
    if path.name.endswith(".sql")
}
_ARGS = (
    'STRUCT(correlation BIGINT, "External id" BIGINT, device INTEGER, stream BIGINT, grid VARCHAR, '
    'block VARCHAR, bytes BIGINT, "graph id" BIGINT, "graph node id" BIGINT, "Collective name" VARCHAR)'
)
_STRICT = """
SELECT * FROM read_json($slices, format = 'array', records = true, auto_detect = false, compression = 'none',
    maximum_object_size = 16777216,
    columns = {ph: 'VARCHAR', cat: 'VARCHAR', name: 'VARCHAR', tid: 'VARCHAR', ts: 'TS', dur: 'DECIMAL(18,3)', args: 'ARGS'})
""".replace("ARGS", _ARGS)
_BATCH = 4


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
    con.execute(_SQL["event.sql"])
    for file in files:
        with opened(file.path, file.shown, scratch) as plain:
            found = layout(plain, file.shown)
            _load(con, file, plain, found)
        _settle(con, run, file, found)


def _load(con: duckdb.DuckDBPyConnection, file: TraceFile, plain: Plain, found: Layout) -> None:
    con.register_filesystem(SliceFileSystem(plain))
    try:
        parts = list(slices(plain, found.start, found.end))
        for i in range(0, len(parts), _BATCH):
            con.execute(
                _SQL["load.sql"].replace("{source}", _STRICT.replace("TS", "DECIMAL(38,3)")),
                {
                    "slices": [part.url for part in parts[i : i + _BATCH]],
                    "file_id": file.file_id,
                    "base_ns": found.metadata.get("baseTimeNanoseconds", 0),
                },
            )
    finally:
        con.unregister_filesystem("tracekit-slice")


def _settle(con: duckdb.DuckDBPyConnection, run: str, file: TraceFile, found: Layout) -> None:
    name = facts_of_name(file.path.name)
    metadata = found.metadata
    info = metadata.get("distributedInfo") or {}
    rank = next((r for r in (file.rank, info.get("rank"), name.rank) if r is not None), None)
    con.execute(
        """
        INSERT INTO file
        SELECT $run, $file_id, $shown, $kind, $dp, $rank, $stage, $host, $base,
            CASE WHEN bool_and((start_ns - coalesce($base, 0)) % 1000 = 0 AND dur_ns % 1000 = 0) THEN 1000 ELSE 1 END,
            $bytes, count(*),
            coalesce(min(start_ns) FILTER (skip = 'profiler span' AND name LIKE 'PyTorch Profiler%'), min(start_ns)),
            coalesce(max(start_ns + dur_ns) FILTER (skip = 'profiler span' AND name LIKE 'PyTorch Profiler%'), max(start_ns + dur_ns)),
            $metadata
        FROM event WHERE file_id = $file_id
        """,
        {
            "run": run,
            "file_id": file.file_id,
            "shown": file.shown,
            "kind": "frontend" if name.is_frontend else "trace",
            "dp": file.dp if file.dp is not None else name.dp or 0,
            "rank": rank,
            "stage": name.stage,
            "host": metadata.get("host_name"),
            "base": metadata.get("baseTimeNanoseconds"),
            "bytes": file.path.stat().st_size,
            "metadata": json.dumps(metadata),
        },
    )
    con.execute(
        """
        INSERT INTO ledger
        SELECT $run, file_id, skip, NULL, NULL, count(*), any_value(name),
            skip NOT IN ('flow', 'metadata', 'instant', 'python_function', 'profiler span', 'overhead', 'cuda_sync', 'cuda_profiler_range')
        FROM event WHERE file_id = $file_id AND skip IS NOT NULL GROUP BY ALL
        """,
        {"run": run, "file_id": file.file_id},
    )
    con.execute(
        "DELETE FROM event WHERE file_id = $file_id AND skip IS NOT NULL", {"file_id": file.file_id}
    )
