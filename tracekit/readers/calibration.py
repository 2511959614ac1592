"""Measured sizes of collectives to table `calibration`: nccl-tests, and `tracekit bench` itself.

`tracekit bench` writes calibration.json; times are of the slowest rank, percentiles over calls:

    {"format": 1, "tool": "tracekit", "backend": "gloo", "n_ranks": 2, "gpu": null,
     "points": [{"mode": "eager", "collective": "all_reduce", "dtype": "bfloat16",
                 "bytes": 14336, "is_in_place": true, "n": 50, "p50_ns": 81000, "p95_ns": 99000,
                 "min_ns": 75000, "delayed_rank": null, "delay_ns": null}]}
"""

from collections.abc import Sequence
from typing import Any

import duckdb

from tracekit.errors import RunError
from tracekit.readers.accounts import note
from tracekit.readers.folder import InputFile
from tracekit.readers.kind import load_measured, read_text
from tracekit.readers.nccl_tests import points_of_json, points_of_text
from tracekit.readers.rows import insert
from tracekit.readers.sheet import MAX_BYTES, MAX_TIME_NS, Point, Sheet
from tracekit.readers.values import count, integer, text

FORMAT = 1
MAX_TEXT_BYTES = 64 * 1024 * 1024
"""Text or JSON beyond it is not read: one with all times of 10,000 calls has 10 MB."""

MODES = ("eager", "graph", "burst")


def read_calibrations(
    con: duckdb.DuckDBPyConnection, files: Sequence[tuple[int, InputFile]], *, run: str
) -> None:
    """Fill `calibration`; rows that make no sense go to `ledger`.

    Raises:
        RunError: a calibration.json is of a later format.
    """
    for file_id, file in files:
        sheet = _sheet(file)
        rows = [{"run": run, "file_id": file_id, **point.row()} for point in sheet.points]
        insert(con, "calibration", rows)
        note(con, run, file_id, "measured size not understood", sheet.bad)
        note(con, run, file_id, "measured size with wrong results", sheet.wrong)
        if sheet.is_empty:
            note(con, run, file_id, "no measured size", [file.shown])


def _sheet(file: InputFile) -> Sheet:
    if not read_text(file.path, 64).lstrip().startswith("{"):
        return points_of_text(read_text(file.path, MAX_TEXT_BYTES), file.path.name)
    said = load_measured(file.path, MAX_TEXT_BYTES)
    if said is None:
        return Sheet(bad=["no whole JSON object"])
    return _own(said, file.shown) if said.get("tool") == "tracekit" else points_of_json(said)


def _own(said: dict[str, Any], shown: str) -> Sheet:
    if said.get("format") != FORMAT:
        raise RunError(
            f"{shown}: format {said.get('format')!r}, this tracekit reads {FORMAT};"
            " upgrade tracekit"
        )
    sheet = Sheet()
    points = said.get("points")
    for item in points if isinstance(points, list) else []:
        sheet.add(_point(said, item) if isinstance(item, dict) else None, repr(item))
    return sheet


def _point(said: dict[str, Any], item: dict[str, Any]) -> Point | None:
    category, mode = text(item.get("collective")), text(item.get("mode"))
    size = integer(item.get("bytes"), MAX_BYTES)
    time_ns = integer(item.get("p50_ns"), MAX_TIME_NS)
    if category is None or mode not in MODES or size is None or not time_ns:
        return None
    return Point(
        tool="tracekit",
        mode=mode,
        category=category,
        backend=text(said.get("backend")),
        n_ranks=count(said.get("n_ranks")),
        gpu=text(said.get("gpu")),
        dtype=text(item.get("dtype")),
        bytes=size,
        is_in_place=item.get("is_in_place") is True,
        n=count(item.get("n")),
        time_ns=time_ns,
        p95_ns=integer(item.get("p95_ns"), MAX_TIME_NS),
        delayed_rank=integer(item.get("delayed_rank"), 2**31),
        delay_ns=integer(item.get("delay_ns"), MAX_TIME_NS),
    )
