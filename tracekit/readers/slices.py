"""Slices of the traceEvents array, each served to DuckDB as a JSON array of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fsspec.spec import AbstractFileSystem

from tracekit.readers.plain import Plain

BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|s|id|bp)"\s*:)')
"""Between two events: this cannot occur within a JSON string, whose quotes are escaped."""

SLICE_BYTES = 32 << 20
_PROTOCOL = "tracekit-slice"
_SEARCH_BYTES = 1 << 20
# One read of 32 MB costs page faults worth a tenth of the whole load.
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes start..end of the plain file: whole events and the commas between them."""

    start: int
    end: int

    @property
    def url(self) -> str:
        """Name under which `SliceFileSystem` serves it."""
        return f"{_PROTOCOL}://{self.start}-{self.end}"


def slices(plain: Plain, start: int, end: int, size: int = SLICE_BYTES) -> Iterator[Slice]:
    """Cut start..end into slices of about `size` bytes."""
    while start < end:
        cut, following = _next_boundary(plain, start + size, end)
        yield Slice(start, cut)
        start = following


def _next_boundary(plain: Plain, position: int, end: int) -> tuple[int, int]:
    """End of the event before the next boundary, and start of the one after it."""
    while position < end:
        data = plain.read(position, min(position + _SEARCH_BYTES, end))
        if match := BOUNDARY.search(data):
            return position + match.start() + 1, position + match.end()
        position += max(len(data) - 256, 1) if position + len(data) < end else len(data)
    return end, end


class SliceFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Read-only file system in which each slice of one plain file is a file."""

    protocol = _PROTOCOL
    cachable = False

    def __init__(self, plain: Plain) -> None:
        super().__init__()
        self._plain = plain

    def open(self, path: str, mode: str = "rb", **_: Any) -> "_SliceFile":  # noqa: D102
        return _SliceFile(self._plain, *self._bounds(path))

    def glob(self, path: str, **_: Any) -> list[str]:  # noqa: D102
        return [path]

    def info(self, path: str, **_: Any) -> dict[str, Any]:  # noqa: D102
        start, end = self._bounds(path)
        return {"name": path, "size": end - start + 2, "type": "file"}

    def _bounds(self, path: str) -> tuple[int, int]:
        start, _, end = self._strip_protocol(path).rpartition("/")[2].partition("-")
        return int(start), int(end)


class _SliceFile:
    """The part of Python's file protocol that DuckDB calls."""

    def __init__(self, plain: Plain, start: int, end: int) -> None:
        self._plain = plain
        self._first, self._last = start - 1, end  # where the brackets stand
        self._at = self._first

    def read(self, size: int) -> bytes:
        at = self._at
        if at == self._first:
            data = b"["
        elif at == self._last:
            data = b"]"
        else:
            data = self._plain.read(at, min(at + size, at + _READ_BYTES, self._last))
        self._at += len(data)
        return data if at <= self._last else b""

    def seek(self, position: int, whence: int = 0) -> int:
        self._at = self._first + position
        return position

    def tell(self) -> int:
        return self._at - self._first

    def close(self) -> None:
        pass
