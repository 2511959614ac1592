"""Requests of a capture's load, one JSON object a line, to table `request`.

    {"request": 0, "prompt": 3, "start_ns": 1795961069016733685, "first_chunk_ns": ...,
     "end_ns": ..., "n_prompt_tokens": 17, "n_tokens": 32, "status": "ok",
     "chunk_offsets_ns": [12000000, ...]}

Times are epoch ns. All members but `start_ns` may be left out or null.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from tracekit.readers.accounts import tell
from tracekit.readers.folder import InputFile
from tracekit.readers.rows import insert
from tracekit.readers.values import integer, text
from tracekit.readers.windows import MAX_DURATION_NS, MAX_START_NS, Windows

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longest line that is read; a request of 100,000 chunks has 1.5 MB."""

MAX_TOKENS = 2**40

Row = dict[str, str | int | None]

_OK = "ok"


def read_requests(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[tuple[int, InputFile]],
    windows: Windows,
    *,
    run: str,
) -> None:
    """Fill `request`; lines that are no requests go to `ledger`."""
    for file_id, file in files:
        place: Row = {"run": run, "file_id": file_id, "window_name": windows.name_of(file_id)}
        rows: list[Row] = []
        bad: list[str] = []
        for number, line in enumerate(_lines(file)):
            row = _row(number, line)
            if row is None:
                bad.append(f"line {number + 1}: {line[:200].decode(errors='replace').strip()}")
            else:
                rows.append({**place, **row})
        insert(con, "request", rows)
        tell(con, run, file_id, "request of the load not understood", len(bad), "".join(bad[:1]))


def _lines(file: InputFile) -> Iterator[bytes]:
    with file.path.open("rb") as stream:
        while line := stream.readline(MAX_LINE_BYTES):
            if line.strip():
                yield line


def _row(number: int, line: bytes) -> Row | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    start_ns = integer(said.get("start_ns"), MAX_START_NS)
    if start_ns is None:
        return None
    chunks = said.get("chunk_offsets_ns")
    status = text(said.get("status"))
    return {
        "request": number,
        "prompt": _name(said.get("prompt")),
        "start_ns": start_ns,
        "dur_ns": _after(start_ns, said.get("end_ns")) if status in (_OK, None) else None,
        "first_chunk_ns": _after(start_ns, said.get("first_chunk_ns")),
        "n_prompt_tokens": integer(said.get("n_prompt_tokens"), MAX_TOKENS),
        "n_tokens": integer(said.get("n_tokens"), MAX_TOKENS),
        "n_chunks": len(chunks) if isinstance(chunks, list) else None,
        "status": status,
    }


def _name(prompt: object) -> str | None:
    return str(prompt) if integer(prompt, MAX_START_NS) is not None else text(prompt)


def _after(start_ns: int, moment: Any) -> int | None:
    """Time from the start to `moment`; None where it lies before or is absurd."""
    end_ns = integer(moment, MAX_START_NS)
    return None if end_ns is None else integer(end_ns - start_ns, MAX_DURATION_NS)
