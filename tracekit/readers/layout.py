"""Where the events of a trace file begin and end, and the members around them."""

import re
from dataclasses import dataclass
from itertools import islice

from tracekit.errors import TraceFormatError
from tracekit.readers.boundary import BOUNDARY, decoded, is_event
from tracekit.readers.metadata import members
from tracekit.readers.plain import Plain

HOLD_BYTES = 32 << 20
"""Within this of either end of the file the events are expected to begin and to end."""

_HEAD_BYTES = 1 << 20
_TAIL_BYTES = 1 << 18
_MAX_TRIES = 64
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[\s*')
_MERGED_RANKS = re.compile(rb'"pid"\s*:\s*"\[(?:TP|DP|PP|EP)\d')
_NEXT_BRACKET = re.compile(r"[\s,]*\]")
_CLOSING = re.compile(r'\](?=\s*(?:,\s*"|\}\s*$))')
_FINAL = re.compile(r"(?:\}\s*)?\](?=\s*$)")
_SPACE = " \t\r\n"
_LEAD = b"\xef\xbb\xbf \t\r\n"  # a byte-order mark, white space


@dataclass(frozen=True, slots=True)
class Start:
    """Offset of the first event, and the members before it; None in the bare array form."""

    offset: int
    members: bytes | None


@dataclass(frozen=True, slots=True)
class End:
    """Offset behind the last event, and the members after the array.

    `is_closed` is false where nothing ends the array: the file was cut off, or never finished.
    """

    offset: int
    members: bytes
    is_closed: bool


def find_start(plain: Plain) -> Start:
    """Find the first event.

    Raises TraceFormatError where the file is no Kineto trace of one rank.
    """
    data = plain.read(0, _HEAD_BYTES)
    lead = len(data) - len(data.lstrip(_LEAD))
    if _MERGED_RANKS.search(data):
        raise _refused(plain, lead, "several ranks merged into one", "give the files of the ranks")
    match data[lead : lead + 1]:
        case b"{":
            return _start_in_object(plain, lead)
        case b"[":
            return _start_in_array(plain, data, lead)
        case b"":
            raise _refused(plain, lead, "the file is empty", "collect the trace again")
    raise _refused(plain, lead, "neither a JSON object nor an array", "leave the file out")


def find_end(plain: Plain, position: int, *, is_object: bool) -> End:
    """Find the end of the events; at `position` is an event, or the end itself."""
    first, text = _tail(plain, position)
    last = _last_event(text)
    if not last and first > position and (end := _end_after(plain, position, text)):
        return end
    bracket = _bracket_after(text, last, _CLOSING if is_object else _FINAL)
    behind = len(text[:bracket].rstrip(_SPACE + ","))
    rest = text[last:] if bracket is None else text[bracket + 1 :]
    return End(first + behind, rest.encode("latin-1"), is_closed=bracket is not None)


def _end_after(plain: Plain, position: int, tail: str) -> End | None:
    """End of the events where the one at `position` is the last, and long members follow."""
    text = plain.read(position, position + HOLD_BYTES).decode("latin-1")
    _, end = decoded(text, 0)
    bracket = _NEXT_BRACKET.match(text, end) if end >= 0 else None
    if bracket is None:
        return None
    rest = text[bracket.end() :] + tail  # too long to be taken for whole members
    return End(position + end, rest.encode("latin-1"), is_closed=True)


def _refused(plain: Plain, byte: int, what: str, remedy: str) -> TraceFormatError:
    return TraceFormatError(f"{plain.shown}: byte {byte}: {what}; {remedy}")


def _start_in_array(plain: Plain, data: bytes, lead: int) -> Start:
    body = data[lead + 1 :].lstrip(_LEAD)
    offset = len(data) - len(body)
    if body and not body.startswith((b"{", b"]")):
        raise _refused(plain, offset, "a JSON list of no trace events", "leave the file out")
    return Start(offset, None)


def _start_in_object(plain: Plain, lead: int) -> Start:
    size = _HEAD_BYTES
    while True:
        data = plain.read(0, size)
        if match := _events_key(data, lead):
            return Start(match.end(), data[lead + 1 : match.start()])
        if size >= HOLD_BYTES or not plain.reaches(size):
            what = "a JSON object without a traceEvents array"
            raise _refused(plain, lead, what, "give the file that torch.profiler wrote")
        size *= 4


def _events_key(data: bytes, lead: int) -> re.Match[bytes] | None:
    """`"traceEvents": [` as a member of the outermost object; any, where the others are broken."""
    matches = list(_EVENTS.finditer(data))
    good = (match for match in matches if members(data[lead + 1 : match.start()]) is not None)
    return next(good, matches[0] if matches else None)


def _tail(plain: Plain, position: int) -> tuple[int, str]:
    """End of the file from some event on, one character per byte, and where it begins."""
    size = _TAIL_BYTES
    end = _end_of_text(plain, position)
    while True:
        first = max(position, end - size)
        text = plain.read(first, end).decode("latin-1")
        if first == position or size >= HOLD_BYTES or _last_event(text):
            return first, text
        size *= 4


def _end_of_text(plain: Plain, position: int) -> int:
    """Where the white space begins that ends the file."""
    end = plain.size
    while end > position:
        first = max(position, end - _HEAD_BYTES)
        if data := plain.read(first, end).rstrip():
            return first + len(data)
        end = first
    return position


def _last_event(text: str) -> int:
    """Start of the last event that can be read; 0 where none follows the first."""
    boundaries = reversed(list(BOUNDARY.finditer(text.encode("latin-1"))))
    return next((match.end() for match in boundaries if is_event(text, match.end())), 0)


def _bracket_after(text: str, position: int, fallback: re.Pattern[str]) -> int | None:
    """Where the array ends that the event at `position` belongs to."""
    _, end = decoded(text, position)
    if end >= 0 and (bracket := _NEXT_BRACKET.match(text, end)):
        return bracket.end() - 1
    # The last event is broken, or there is none: what follows the array then tells.
    for match in islice(fallback.finditer(text, position), _MAX_TRIES):
        rest = text[match.end() :].strip().removesuffix("}")
        if members(rest.encode("latin-1")) is not None:
            return match.end() - 1
    return None
