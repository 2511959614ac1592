"""A trace file as plain bytes with random access; compressed ones are inflated once, on disk."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

import zstandard
from isal import igzip, isal_zlib

from tracekit.errors import TraceFormatError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 4 << 20
_CORRUPT = (zlib.error, isal_zlib.error, igzip.BadGzipFile, zstandard.ZstdError)


@dataclass(frozen=True, slots=True)
class Plain:
    """An open plain file: `read` takes byte offsets of the decompressed trace.

    `is_cut_off` is true where the compressed stream ended without its end marker.
    """

    fd: int
    size: int
    is_cut_off: bool = False

    def read(self, start: int, end: int) -> bytes:
        """Bytes start..end of the file; shorter only at the end of the file."""
        parts = []
        while start < end and (part := os.pread(self.fd, end - start, start)):
            parts.append(part)
            start += len(part)
        return b"".join(parts)


@contextmanager
def opened(path: Path, shown: str, scratch: Path) -> Iterator[Plain]:
    """The trace as a plain file; .gz and .zst, told by content, are inflated into `scratch`."""
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        if magic.startswith(_GZIP):
            with (
                igzip.IGzipFile(fileobj=file) as packed,
                _inflated(packed, shown, scratch) as plain,
            ):
                yield plain
        elif magic == _ZSTD:
            packed = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            with _inflated(packed, shown, scratch) as plain:
                yield plain
        else:
            yield Plain(file.fileno(), os.fstat(file.fileno()).st_size)


@contextmanager
def _inflated(packed: IO[bytes], shown: str, scratch: Path) -> Iterator[Plain]:
    target = scratch / "inflated.json"
    with target.open("w+b") as file:
        target.unlink()  # the open file lives on, and no crash can leave it behind
        is_cut_off = _inflate(packed, file, shown)
        file.flush()
        yield Plain(file.fileno(), file.tell(), is_cut_off)


def _inflate(packed: IO[bytes], file: BinaryIO, shown: str) -> bool:
    """Copy all there is; true where the stream is cut off."""
    try:
        while chunk := packed.read(_CHUNK):
            file.write(chunk)
    except EOFError:
        return True
    except _CORRUPT as error:
        raise TraceFormatError(
            f"{shown}: the compressed data is corrupt after byte {file.tell()} of the "
            f"decompressed trace ({error}); copy or collect the file again"
        ) from error
    return False
