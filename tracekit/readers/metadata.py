"""The members of a trace object other than its events."""

import json
import re
from typing import Any

MAX_BYTES = 8 << 20
"""Most that is read of the members before the events, or of those after them.

DuckDB takes ten times as much to store them; recorded traces have a thousandth of it.
"""

_BASE = re.compile(rb'"baseTimeNanoseconds"\s*:\s*(\d+)')
_RANK = re.compile(rb'"distributedInfo"\s*:\s*\{[^{}]*?"rank"\s*:\s*(\d+)')
_MAX_BASE_NS = 4 * 10**18


def members(text: bytes) -> dict[str, Any] | None:
    """Members of an object, given without its braces; None where they are no JSON, or too long."""
    if len(text) > MAX_BYTES:
        return None
    inner = text.strip().strip(b",").decode("utf-8", "replace")
    try:
        value = json.loads("{" + inner + "}", strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def metadata(head: bytes, tail: bytes) -> tuple[dict[str, Any], bool]:
    """Members before and after the events as one, and whether all could be read.

    Where they are no JSON, or too long, only the base of the clock and the rank are looked for.
    """
    parts = (head, tail.strip().removesuffix(b"}"))
    found = [members(part) for part in parts]
    merged: dict[str, Any] = {}
    for part, value in zip(parts, found, strict=True):
        merged |= _scalars(part) if value is None else value
    return _storable(merged), None not in found


def base_ns(meta: dict[str, Any]) -> int | None:
    """Epoch time that every `ts` counts from, ns; None where the file has none.

    Raises ValueError for a base that no clock can have.
    Source: baseTimeNanoseconds, torch >= 2.4.
    """
    base = meta.get("baseTimeNanoseconds")
    if base is None:
        return None
    if type(base) is not int or not 0 <= base <= _MAX_BASE_NS:
        raise ValueError(f"baseTimeNanoseconds is {base!r:.40}")
    return base


def rank_of(meta: dict[str, Any]) -> int | None:
    """Rank in the job; None where the trace does not tell. Source: distributedInfo.rank."""
    info = meta.get("distributedInfo")
    value = info.get("rank") if isinstance(info, dict) else None
    return value if type(value) is int and 0 <= value < 1 << 31 else None


def host_name(meta: dict[str, Any]) -> str | None:
    """Host that wrote the trace; None where it does not tell."""
    value = meta.get("host_name")
    return value if isinstance(value, str) else None


def _storable(value: dict[str, Any]) -> dict[str, Any]:
    """The same without what UTF-8 and JSON cannot hold: halves of surrogate pairs, infinity."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    stored: dict[str, Any] = json.loads(text, parse_constant=str)
    return stored


def _scalars(text: bytes) -> dict[str, Any]:
    base, rank = _BASE.search(text), _RANK.search(text)
    return ({"baseTimeNanoseconds": int(base[1])} if base else {}) | (
        {"distributedInfo": {"rank": int(rank[1])}} if rank else {}
    )
