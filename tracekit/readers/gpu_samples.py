"""What `nvidia-smi --query-gpu=... --format=csv -l 1` wrote during a window, to table `gpu_sample`.

The heading tells the columns: in any order, with units or without, more than are needed. A value
that a GPU does not have is `N/A`, `[N/A]`, `[Not Supported]` or another word in brackets. Source:
nvidia-smi of drivers 470 to 580; throttle reasons are `clocks_throttle_reasons.*` up to 530, then
`clocks_event_reasons.*`.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from tracekit.readers.accounts import note
from tracekit.readers.folder import InputFile
from tracekit.readers.kind import read_text
from tracekit.readers.rows import insert
from tracekit.readers.values import text
from tracekit.readers.windows import Window, Windows

MAX_BYTES = 64 * 1024 * 1024
"""Text beyond it is not read: eight GPUs make it in three days."""

NUMBERS = {
    "sm_clock_mhz": ("clocks.current.sm", "clocks.sm"),
    "memory_clock_mhz": ("clocks.current.memory", "clocks.mem"),
    "power_w": ("power.draw", "power.draw.instant", "power.draw.average"),
    "power_limit_w": ("power.limit", "enforced.power.limit"),
    "temperature_c": ("temperature.gpu",),
    "memory_temperature_c": ("temperature.memory",),
    "utilization_ratio": ("utilization.gpu",),
    "memory_used_bytes": ("memory.used",),
    "pcie_generation": ("pcie.link.gen.current", "pcie.link.gen.gpucurrent"),
    "pcie_width": ("pcie.link.width.current",),
}
"""Columns of the table and how nvidia-smi calls them, best first."""

REASONS = {
    "gpu_idle": 1,
    "applications_clocks_setting": 2,
    "sw_power_cap": 4,
    "hw_slowdown": 8,
    "sync_boost": 16,
    "sw_thermal_slowdown": 32,
    "hw_thermal_slowdown": 64,
    "hw_power_brake_slowdown": 128,
    "display_clock_setting": 256,
}
"""NVML's bits of the throttle reasons, by the names that columns of their own have."""

MAX_GPUS = 4096

_SCALE = {"utilization_ratio": 0.01, "memory_used_bytes": 1024.0 * 1024.0}
_UNIT = re.compile(r" ?\[[^\]]*\]$")
_NUMBER = re.compile(r"([-+]?\d{1,15}(?:\.\d{1,9})?)(?: ?(?:MHz|W|%|C|MiB))?")
_MASK = re.compile(r"0x0?[0-9a-fA-F]{1,15}|\d{1,15}")
_NOTHING = re.compile(r"|-|N/A|\[.*\]")
_REASON = re.compile(r"clocks_(?:throttle|event)_reasons\.(\w+)")
_QUARTER_NS = 15 * 60 * 10**9
"""Time zones differ by whole quarters of an hour."""


Row = dict[str, str | float | int | None]


@dataclass(slots=True)
class _Sheet:
    """Cells by name of column, and what could not be read."""

    headings: list[str]
    bad_rows: list[str]
    bad_values: list[str]


def read_samples(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[tuple[int, InputFile]],
    windows: Windows,
    *,
    run: str,
) -> None:
    """Fill `gpu_sample`; rows and values that make no sense go to `ledger`."""
    for file_id, file in files:
        sheet = _Sheet([], [], [])
        window = windows.files.get(file_id)
        place: Row = {"run": run, "file_id": file_id, "window_name": windows.name_of(file_id)}
        rows = _set_right(_rows(read_text(file.path, MAX_BYTES), sheet), window)
        insert(con, "gpu_sample", [{**place, **row} for row in rows])
        note(con, run, file_id, "GPU sample not understood", sheet.bad_rows)
        note(con, run, file_id, "value of a GPU sample not understood", sheet.bad_values)


def _rows(content: str, sheet: _Sheet) -> Iterator[Row]:
    for line in content.splitlines():
        cells = _cells(line)
        if _is_heading(cells):
            sheet.headings = [_UNIT.sub("", cell) for cell in cells]
        elif cells and (row := _row(cells, sheet)) is not None:
            yield row
        elif cells:
            sheet.bad_rows.append(line)


def _cells(line: str) -> list[str]:
    try:
        found = next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return [line]
    return [cell.strip() for cell in found] if line.strip() else []


def _is_heading(cells: Sequence[str]) -> bool:
    return "index" in cells and any(cell.startswith("timestamp") for cell in cells)


def _row(cells: Sequence[str], sheet: _Sheet) -> Row | None:
    said = dict(zip(sheet.headings, cells, strict=False))
    index = said.get("index", "")
    if len(cells) != len(sheet.headings) or not index.isdecimal() or int(index[:9]) >= MAX_GPUS:
        return None
    row: Row = {"gpu": int(index), "start_ns": _moment(said.get("timestamp", ""), sheet)}
    row["name"] = text(said.get("name"))
    for column, names in NUMBERS.items():
        found = (_number(said[name], sheet) for name in names if name in said)
        value = next((number for number in found if number is not None), None)
        row[column] = None if value is None else value * _SCALE.get(column, 1.0)
    row["throttle_mask"] = _mask(said, sheet)
    return row


def _moment(cell: str, sheet: _Sheet) -> int | None:
    try:
        moment = datetime.strptime(cell[:26], "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=UTC)
    except ValueError:
        sheet.bad_values.append(cell)
        return None
    return round(moment.timestamp() * 1000) * 1_000_000


def _number(cell: str, sheet: _Sheet) -> float | None:
    if match := _NUMBER.fullmatch(cell):
        return float(match[1])
    if not _NOTHING.fullmatch(cell):
        sheet.bad_values.append(cell)
    return None


def _mask(said: dict[str, str], sheet: _Sheet) -> int | None:
    """The bits of `active`, else of the reasons that have columns of their own."""
    bits = []
    for heading, cell in said.items():
        reason = _REASON.fullmatch(heading)
        if reason is None or _NOTHING.fullmatch(cell):
            continue
        if reason[1] == "active" and _MASK.fullmatch(cell):
            bits.append(int(cell, 0) if cell.startswith("0x") else int(cell))
        elif reason[1] in REASONS and cell in ("Active", "Not Active"):
            bits.append(REASONS[reason[1]] if cell == "Active" else 0)
        elif reason[1] == "active" or reason[1] in REASONS:
            sheet.bad_values.append(cell)
    mask = 0
    for bit in bits:
        mask |= bit
    return mask if bits else None


def _set_right(rows: Iterator[Row], window: Window | None) -> Iterator[Row]:
    """Rows with their local times as epoch ns: the first sample is taken at the window's start."""
    offset_ns: int | None = None
    for row in rows:
        at_ns = row["start_ns"]
        if not isinstance(at_ns, int) or window is None or window.start_ns is None:
            row["start_ns"] = None
            yield row
            continue
        if offset_ns is None:
            offset_ns = round((at_ns - window.start_ns) / _QUARTER_NS) * _QUARTER_NS
        row["start_ns"] = at_ns - offset_ns
        yield row
