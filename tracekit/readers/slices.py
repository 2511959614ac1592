"""Slices of the traceEvents array, each served to DuckDB as a JSON array of its own."""

from dataclasses import dataclass
from typing import Any

from fsspec.spec import AbstractFileSystem

from tracekit.readers.plain import Plain

PROTOCOL = "tracekit-slice"
"""Name under which the file system is registered."""

# Larger reads come in fresh memory, whose page faults cost a tenth of the whole load.
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Slice:
    """Bytes start..end of a plain file: whole events and the commas between them.

    `is_too_long` marks a single event that is longer than any that is read.
    """

    start: int
    end: int
    is_too_long: bool = False


class SliceFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Read-only file system in which each slice of one trace is a file."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, plain: Plain, file_id: int) -> None:
        super().__init__()
        self._plain = plain
        self._root = f"{PROTOCOL}://{file_id}/"

    def url(self, part: Slice) -> str:
        """Path of a slice: `[`, its bytes, `]`."""
        return f"{self._root}{part.start}-{part.end}"

    def open(self, path: str, mode: str = "rb", **_: Any) -> "_SliceFile":
        """Open a slice for reading."""
        return _SliceFile(self._plain, _slice_of(path))

    def glob(self, path: str, **_: Any) -> list[str]:
        """The path itself: names of slices hold no patterns."""
        return [path]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Size of a slice with its brackets."""
        part = _slice_of(path)
        return {"name": path, "size": part.end - part.start + 2, "type": "file"}


class _SliceFile:
    """The part of Python's file protocol that DuckDB calls."""

    def __init__(self, plain: Plain, part: Slice) -> None:
        self._plain = plain
        self._first, self._last = part.start - 1, part.end  # where the brackets stand
        self._at = self._first

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._at == self._first:
            data = b"["
        elif self._at < self._last:
            end = min(self._at + min(size, _READ_BYTES), self._last)
            data = self._plain.read(self._at, end)
        else:
            data = b"]" if self._at == self._last else b""
        self._at += len(data)
        return data

    def seek(self, position: int, whence: int = 0) -> int:
        """Go to `position` of the slice; DuckDB seeks from the start only."""
        self._at = self._first + position
        return position

    def tell(self) -> int:
        """Position within the slice."""
        return self._at - self._first

    def close(self) -> None:
        """Do nothing: the trace stays open for the other slices."""


def _slice_of(path: str) -> Slice:
    start, _, end = path.rpartition("/")[2].partition("-")
    return Slice(int(start), int(end))
