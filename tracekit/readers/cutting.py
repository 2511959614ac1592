"""Cut the events of a growing file into slices of whole events."""

from collections.abc import Iterator

from tracekit.readers.boundary import last_boundary, next_boundary, next_event
from tracekit.readers.layout import HOLD_BYTES, End, find_end
from tracekit.readers.plain import Plain
from tracekit.readers.slices import Slice

SLICE_BYTES = 31 << 20
"""A little less than 32 MB, above which DuckDB takes 64 MB for the buffer of a file."""

EVENT_BYTES = 32 << 20
"""Most that is read of one event: DuckDB takes ten times as much to do so."""

_MIN_SLICE_BYTES = 1 << 20
_LONG_BYTES = 1 << 20


class Cutter:
    """Slices of the events from `offset` on; `end` is known when all have been taken."""

    end: End

    def __init__(self, plain: Plain, offset: int, *, is_object: bool, n_parts: int) -> None:
        self._plain = plain
        self._offset = offset
        self._is_object = is_object
        self._n_parts = n_parts

    def __iter__(self) -> Iterator[Slice]:
        """Slices as soon as they are in the file; the last ones share what is left evenly."""
        position = self._offset
        while self._plain.reaches(position + SLICE_BYTES + HOLD_BYTES):
            found = self._boundary(position + SLICE_BYTES)
            if found is None:
                end, last = last_boundary(self._plain, position, position + SLICE_BYTES)
                yield from [Slice(position, end)] if last > position else []
                position = last
                break
            yield from _apart(self._plain, Slice(position, found[0]), SLICE_BYTES)
            position = found[1]
        self.end = find_end(self._plain, position, is_object=self._is_object)
        rest = Slice(position, self.end.offset)
        yield from cut(self._plain, rest, self._even_size(rest))

    def _boundary(self, position: int) -> tuple[int, int] | None:
        limit = position + HOLD_BYTES
        end, following = next_boundary(self._plain, position, limit)
        return (end, following) if following < limit else next_event(self._plain, limit)

    def _even_size(self, rest: Slice) -> int:
        rounds = -(-(rest.end - rest.start) // (self._n_parts * SLICE_BYTES))
        size = -(-(rest.end - rest.start) // max(rounds * self._n_parts, 1))
        return max(size, _MIN_SLICE_BYTES)


def cut(plain: Plain, part: Slice, size: int) -> Iterator[Slice]:
    """Smaller slices, of about `size` bytes each."""
    position = part.start
    while position < part.end:
        end, following = next_boundary(plain, position + size, part.end)
        yield from _apart(plain, Slice(position, end), size)
        position = following


def _apart(plain: Plain, part: Slice, size: int) -> Iterator[Slice]:
    """The slice, or two of it: an event that makes it much longer than `size` stands alone."""
    start = part.start
    if part.end - start > size + _LONG_BYTES:
        end, start = last_boundary(plain, start, start + size)
        if start > part.start:
            yield Slice(part.start, end)
    yield Slice(start, part.end, is_too_long=part.end - start > EVENT_BYTES)
