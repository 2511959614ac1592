"""A trace file as plain bytes with random access; a compressed one is inflated once, on disk."""

import gzip
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard
from isal import isal_zlib

from tracekit.errors import TraceFormatError, TracekitError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_PACKED_BYTES = 1 << 18
_CHUNK_BYTES = 4 << 20
_CORRUPT = (zlib.error, isal_zlib.IsalError, gzip.BadGzipFile, zstandard.ZstdError)


class Plain:
    """An open plain file that may still be growing: offsets are those of the decompressed trace."""

    def __init__(self, fd: int, shown: str, size: int = 0, *, is_whole: bool = False) -> None:
        self.shown = shown
        self.is_cut_off = False
        """True where the compressed stream ended without its end marker."""
        self._fd = fd
        self._size = self._packed_size = size
        self._is_whole = is_whole
        self._error: TracekitError | None = None
        self._grown = threading.Condition()

    @property
    def size(self) -> int:
        """Bytes in all; waits until the whole file is there."""
        self.reaches(1 << 63)
        return self._size

    def reaches(self, offset: int) -> bool:
        """Whether the file has bytes up to `offset`; waits until that is known.

        Raises TraceFormatError where the compressed data turns out to be corrupt.
        """
        with self._grown:
            self._grown.wait_for(lambda: self._is_whole or self._size >= offset)
            if self._error and self._size < offset:
                raise self._error
            return self._size >= offset

    def read(self, start: int, end: int) -> bytes:
        """Bytes start..end; fewer only where the file ends.

        Raises TraceFormatError where it ends before it did when it was opened.
        """
        self.reaches(end)
        parts = []
        while start < end and (part := os.pread(self._fd, end - start, start)):
            parts.append(part)
            start += len(part)
        if start < min(end, self._size):
            self._error = changed(self.shown)
            self.check()
        return b"".join(parts)

    def check(self) -> None:
        """Raise what has been found wrong; DuckDB hides what a read raises within a query."""
        if self._error:
            raise self._error

    def on_disk(self, offset: int) -> int:
        """About how many bytes on disk hold what is before `offset`."""
        with self._grown:
            return offset * self._packed_size // max(self._size, 1)

    def grow(self, size: int, packed_size: int) -> None:
        """Tell that `size` bytes are there, from `packed_size` bytes on disk."""
        with self._grown:
            self._size = size
            self._packed_size = packed_size
            self._grown.notify_all()

    def finish(self, error: TracekitError | None = None, *, is_cut_off: bool = False) -> None:
        """Tell that no more bytes will come."""
        with self._grown:
            self._is_whole = True
            self._error = error
            self.is_cut_off = is_cut_off
            self._grown.notify_all()


def changed(shown: str) -> TraceFormatError:
    """Error for a trace that is not what it was when it was opened."""
    return TraceFormatError(f"{shown}: changed while it was read; copy it again")


@contextmanager
def opened(path: Path, shown: str, scratch: Path) -> Iterator[Plain]:
    """The trace as a plain file; .gz and .zst, told by content, are inflated into `scratch`.

    A thread inflates while the caller reads what is there already.
    Raises TraceFormatError at the end where the size on disk is another by then.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        with _plain_of(file, shown, scratch) as plain:
            yield plain
        if os.fstat(file.fileno()).st_size != size:
            raise changed(shown)


@contextmanager
def _plain_of(file: BinaryIO, shown: str, scratch: Path) -> Iterator[Plain]:
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(_GZIP):
        chunks = _gunzipped(file)
    elif magic == _ZSTD:
        chunks = _unzstd(file)
    else:
        size = os.fstat(file.fileno()).st_size
        yield Plain(file.fileno(), shown, size, is_whole=True)
        return
    with (scratch / "inflated.json").open("w+b") as target:
        Path(target.name).unlink()  # the open file lives on, and no crash leaves it behind
        with _Inflater(file, chunks, target, shown) as plain:
            yield plain


class _Inflater:
    """Inflates in a thread; as a context manager it gives the growing plain file."""

    def __init__(
        self, file: BinaryIO, chunks: Iterator[bytes], target: BinaryIO, shown: str
    ) -> None:
        self._file = file
        self._chunks = chunks
        self._target = target
        self._plain = Plain(target.fileno(), shown)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Plain:
        self._thread.start()
        return self._plain

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        error: TracekitError | None = None
        is_cut_off = False
        try:
            self._copy()
        except EOFError:
            is_cut_off = True
        except _CORRUPT as fault:  # type: ignore[misc]  # isal's stub has no class here
            # The fault lies in what was read last; nothing inflated since can be trusted.
            place = f"{self._plain.shown}: byte {self._file.tell()} on disk or before"
            what = f"the compressed data is corrupt ({fault}); copy the file again"
            error = TraceFormatError(f"{place}: {what}")
        except OSError as fault:
            what = f"cannot be inflated beside the database: {fault.strerror}; make room for it"
            error = TracekitError(self._at_end(what))
        finally:  # whatever happens: a reader may be waiting
            self._plain.finish(error, is_cut_off=is_cut_off)

    def _copy(self) -> None:
        size = 0
        for chunk in self._chunks:
            self._target.write(chunk)
            self._target.flush()
            size += len(chunk)
            self._plain.grow(size, self._file.tell())
            if self._stop.is_set():
                break

    def _at_end(self, what: str) -> str:
        return f"{self._plain.shown}: byte {self._target.tell()}: {what}"


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    """All that the members of a .gz hold, in chunks; what follows the last one is left out.

    Raises EOFError behind the last byte where the file is cut off: isal's own file object
    gives none of a chunk then.
    """
    data = file.read(_PACKED_BYTES)
    while data.startswith(_GZIP):
        member = isal_zlib.decompressobj(wbits=31)
        while not member.eof:
            if not data:
                raise EOFError
            yield member.decompress(data, _CHUNK_BYTES)
            data = member.unused_data if member.eof else member.unconsumed_tail
            data = data or file.read(_PACKED_BYTES)


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    while chunk := reader.read(_CHUNK_BYTES):
        yield chunk
