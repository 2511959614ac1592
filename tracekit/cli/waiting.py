"""Waiting and transfer, the parts of a collective's time, as lines of a breakdown."""

from types import SimpleNamespace

from tracekit import units
from tracekit.cli import page, table

PARTS = ("waiting", "transfer", "unmatched")
"""Kinds of rows that a collective's row is followed by."""

MOST = 0.5
"""Part of what ranks wait that a reason has to make up to be named as the reason."""

NO_FIGURES = ("share_of_busy", "exposed_ns", "calls", "ns_per_call", "p10_ns", "p90_ns", "n_folded")


def with_parts(
    rows: list[SimpleNamespace], waiting: list[SimpleNamespace], run: SimpleNamespace
) -> list[SimpleNamespace]:
    """Rows of the report `breakdown`, each collective followed by its parts, which add up to it.

    `waiting` is the report `comm_waiting`. A part has in `note` what belongs on its line.
    """
    known = {(row.phase, row.category): row for row in waiting if row.phase is not None}
    found = []
    for row in rows:
        found.append(row)
        if row.row_kind == "work" and (row.phase, row.category) in known:
            found += _parts(known[row.phase, row.category], run)
    return found


def with_notes(rows: list[SimpleNamespace], lines: list[str], width: int) -> list[str]:
    """The lines of those rows, notes added where they fit."""
    noted = [
        f"{line}   {row.note}".rstrip() if hasattr(row, "note") else line
        for row, line in zip(rows, lines, strict=True)
    ]
    return [table.shorten(line, width) for line in noted]


def last(row: SimpleNamespace, run: SimpleNamespace) -> str:
    """`rank 5 last in 71 % of the calls`; nothing where all ranks come at the same time."""
    if row.last_rank is None:
        return ""
    name = page.rank(row.last_dp, row.last_rank, run)
    return f"rank {name} last in {units.percent(row.last_share, 0)} % of the calls"


def _parts(parts: SimpleNamespace, run: SimpleNamespace) -> list[SimpleNamespace]:
    notes = {
        "waiting": last(parts, run),
        "transfer": _message(parts),
        "unmatched": "calls not matched over all ranks",
    }
    return [
        SimpleNamespace(
            row_kind=kind,
            phase=None,
            busy_ns=getattr(parts, f"{kind}_ns"),
            share_of_step=getattr(parts, f"{kind}_share_of_step"),
            note=note,
            **dict.fromkeys(NO_FIGURES),
        )
        for kind, note in notes.items()
        if kind != "unmatched" or parts.unmatched_ns
    ]


def _message(parts: SimpleNamespace) -> str:
    speed, more = parts.busbw_gb_per_s, parts.n_signatures - 1
    told = [page.message(parts.bytes, parts.dtype), table.visible(parts.impl or "")]
    if more:
        told.append(f"and {more} more")
    elif speed:
        told.append(f"busbw {units.gb_per_s(speed)} GB/s")
    return ", ".join(filter(None, told))
