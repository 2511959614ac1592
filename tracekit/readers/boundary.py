"""Where one event of a trace ends and the next begins, found without parsing what lies between."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from tracekit.readers.plain import Plain

BOUNDARY = re.compile(
    rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|s|id|bp)"\s*:)',
)
"""Between two events: cannot occur within a JSON string, whose quotes are escaped."""

_PH = re.compile(rb'\{\s*"ph"')
_DECODER = json.JSONDecoder(strict=False)
_WINDOW_BYTES = 1 << 20
_OVERLAP_BYTES = 4096
_MAX_TRIES = 100


def decoded(text: str, position: int) -> tuple[Any, int]:
    """The JSON value at `position` and where it ends; (None, -1) where there is none."""
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, -1


def is_event(text: str, position: int) -> bool:
    """Whether an object with a `ph` stands there: an object within args has none."""
    value, _ = decoded(text, position)
    return isinstance(value, dict) and "ph" in value


def next_boundary(plain: Plain, position: int, end: int) -> tuple[int, int]:
    """End of the event before the next boundary and start of the one after it.

    Both are `end` where no boundary follows.
    """
    for offset, data in _windows(plain, position, end):
        matches = list(islice(BOUNDARY.finditer(data), _MAX_TRIES))
        for match in [*_before_events(data, matches), *matches[:1]]:
            return offset + match.start() + 1, offset + match.end()
    return end, end


def next_event(plain: Plain, position: int) -> tuple[int, int] | None:
    """The same up to the end of the file, for a boundary that is one for sure.

    An event follows, or a `ph`, as of an event that is too long as well.
    """
    for offset, data in _windows(plain, position, sys.maxsize):
        matches = list(islice(BOUNDARY.finditer(data), _MAX_TRIES))
        long = (match for match in matches if _PH.match(data, match.end()))
        for match in chain(long, _before_events(data, matches)):
            return offset + match.start() + 1, offset + match.end()
    return None


def last_boundary(plain: Plain, position: int, end: int) -> tuple[int, int]:
    """The last boundary before `end`, of those before a `ph` if there are any.

    Both are `position` where there is none.
    """
    found = sure = position, position
    for offset, data in _windows(plain, position, end):
        for match in BOUNDARY.finditer(data):
            found = offset + match.start() + 1, offset + match.end()
            sure = found if _PH.match(data, match.end()) else sure
    return sure if sure[1] > position else found


def _before_events(data: bytes, matches: Iterable[re.Match[bytes]]) -> Iterator[re.Match[bytes]]:
    text = data.decode("latin-1")  # one character per byte, so that offsets hold
    return (match for match in matches if is_event(text, match.end()))


def _windows(plain: Plain, position: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Bytes position..end, or up to the end of the file, in windows that overlap a little."""
    while position < end:
        size = min(_WINDOW_BYTES, end - position)
        data = plain.read(position, position + size)
        yield position, data
        if len(data) < size or position + size == end:
            break
        position += size - _OVERLAP_BYTES
