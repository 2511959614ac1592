"""Everything of a trace file but its events, and where the events stand."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tracekit.errors import TraceFormatError
from tracekit.readers.plain import Plain
from tracekit.readers.slices import BOUNDARY

_KEY = re.compile(rb'"traceEvents"\s*:\s*\[\s*')
_HEAD_BYTES = 1 << 20
_TAIL_BYTES = 1 << 16
_MAX_BYTES = 256 << 20
_MAX_TRIES = 64
_MEMBERS = re.compile(rb'\s*(?:,\s*"|,?\s*\}\s*$)')
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the events stand in a plain file (bytes start..end), and the members around them.

    `is_closed` is false where no `]` ends the array: the file was cut off, or never finished.
    """

    start: int
    end: int
    is_closed: bool
    metadata: dict[str, Any]


def layout(plain: Plain, shown: str) -> Layout:
    """Find the array of events.

    Raises TraceFormatError where the file is no Kineto trace.
    """
    start, head = _events_start(plain, shown)
    end, tail = _events_end(plain, start, is_object=head is not None)
    members = [part for part in (head, tail) if part]
    return Layout(start, plain.size if end is None else end, end is not None, _merged(members))


def _events_start(plain: Plain, shown: str) -> tuple[int, bytes | None]:
    """Offset of the first event, and the members before it (None in the bare array form)."""
    size = _HEAD_BYTES
    while True:
        data = plain.read(0, size)
        text = data.removeprefix(_BOM).lstrip()
        skipped = len(data) - len(text)
        if text.startswith(b"["):
            return _bare_start(text, skipped, shown), None
        if not text.startswith(b"{"):
            raise TraceFormatError(_no_trace(shown, skipped, text))
        for match in _KEY.finditer(text):
            if _object(text[1 : match.start()]) is not None:
                return skipped + match.end(), text[1 : match.start()]
        if len(data) < size or size > _MAX_BYTES:
            raise TraceFormatError(
                f"{shown}: byte {skipped}: a JSON object without traceEvents; "
                "give the .json that torch.profiler wrote"
            )
        size *= 4


def _no_trace(shown: str, byte: int, text: bytes) -> str:
    what = "the file is empty" if not text else "neither a JSON object nor an array"
    return f"{shown}: byte {byte}: {what}; collect the trace again"


def _bare_start(text: bytes, skipped: int, shown: str) -> int:
    body = text[1:].lstrip()
    start = skipped + len(text) - len(body)
    if body and not body.startswith((b"{", b"]")):
        raise TraceFormatError(
            f"{shown}: byte {start}: a JSON list of something else than trace events; "
            "leave the file out"
        )
    return start


def _events_end(plain: Plain, start: int, *, is_object: bool) -> tuple[int | None, bytes]:
    """Offset of the `]` that ends the events (None where it is missing), and the members after."""
    size = _TAIL_BYTES
    while True:
        first = max(start, plain.size - size)
        data = plain.read(first, plain.size)
        last_event = _last_boundary(data)
        if last_event is not None or first == start or size > _MAX_BYTES:
            break
        size *= 16
    begin = last_event or 0
    for bracket in _closing_brackets(data, begin, is_object):
        return first + bracket, data[bracket + 1 :].strip().lstrip(b",").removesuffix(b"}")
    return None, b""


def _last_boundary(data: bytes) -> int | None:
    """Where the last event of `data` begins that follows another one and is an event."""
    for match in reversed(list(BOUNDARY.finditer(data))):
        if b'"ph"' in data[match.end() : match.end() + 65536]:
            return match.end()
    return None


def _closing_brackets(data: bytes, begin: int, is_object: bool) -> Iterator[int]:
    tries = 0
    for match in re.finditer(rb"\]", data[begin:]):
        bracket = begin + match.start()
        if not is_object:
            if not data[bracket + 1 :].strip():
                yield bracket
        elif _MEMBERS.match(data, bracket + 1) and tries < _MAX_TRIES:
            tries += 1
            rest = data[bracket + 1 :].rstrip()
            if rest.endswith(b"}") and _object(rest.lstrip().lstrip(b",")[:-1]) is not None:
                yield bracket


def _object(members: bytes) -> dict[str, Any] | None:
    """Members of an object without its braces; None where they are no JSON."""
    text = members.strip().removesuffix(b",").decode("utf-8", "replace")
    try:
        value = json.loads("{" + text + "}", strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _merged(members: list[bytes]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in members:
        merged |= _object(part) or {}
    return merged
