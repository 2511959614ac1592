"""Where one event of a trace ends and the next begins, found without parsing what lies between."""

import json
import re
from typing import Any

from tracekit.readers.plain import Plain

BOUNDARY = re.compile(
    rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|s|id|bp)"\s*:)',
)
"""Between two events: cannot occur within a JSON string, whose quotes are escaped."""

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
    while position < end:
        data = plain.read(position, min(position + _WINDOW_BYTES, end))
        matches = list(BOUNDARY.finditer(data))[:_MAX_TRIES]
        text = data.decode("latin-1")  # one character per byte, so that offsets hold
        for match in [*(m for m in matches if is_event(text, m.end())), *matches[:1]]:
            return position + match.start() + 1, position + match.end()
        if position + len(data) >= end:
            break
        position += len(data) - _OVERLAP_BYTES
    return end, end
