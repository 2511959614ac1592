"""What a program prints, in a file; its secrets are masked before they reach it."""

import array
import fcntl
import os
import select
import termios
import threading
import time
from pathlib import Path
from typing import IO

from tracekit.collectors.secrets import Known, redacted_text
from tracekit.errors import CaptureError

SETTLE_S = 2.0
"""Longest wait for what was printed to be in the file; a program that prints on has no end."""

_POLL_S = 0.001
_PART_BYTES = 1 << 16
"""Read at once; a line that is longer is masked in pieces."""


class MaskedLog:
    """Copies a program's output in a thread, line by line.

    What the file cannot take is dropped, so that a full disk does not stop the program.
    """

    def __init__(self, path: Path, known: Known) -> None:
        """Makes the file; raises CaptureError where it cannot be."""
        self.path = path
        self._known = known
        self._error: OSError | None = None
        self._is_idle = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        except OSError as error:
            raise self._failure(error) from error

    def read(self, stdout: IO[bytes]) -> None:
        """Begin with the output of a program that was started."""
        self._stdout, self._file = stdout, self.path.open("ab", buffering=0)
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def size(self) -> int:
        """Bytes of the file once all that was printed so far is in it."""
        deadline = time.monotonic() + SETTLE_S
        while self._thread.is_alive() and not (self._is_idle and self._n_unread() == 0):
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        return self.path.stat().st_size

    def close(self, timeout_s: float) -> None:
        """Wait for the output's end, not for ever: what escaped the program may hold it open."""
        self._thread.join(timeout_s)

    def refuse_incomplete(self) -> None:
        """Raises CaptureError where the file could not take all."""
        if self._error is not None:
            raise self._failure(self._error)

    def _failure(self, error: OSError) -> CaptureError:
        return CaptureError(f"{self.path}: {error.strerror}; make room, or choose another --out")

    def _copy(self) -> None:
        rest = b""
        with self._stdout, self._file:
            arrival = select.poll()
            arrival.register(self._stdout, select.POLLIN)
            while part := self._next_part(arrival):
                lines, rest = _whole_lines(rest + part)
                self._write(lines)
            self._write(rest)

    def _next_part(self, arrival: select.poll) -> bytes:
        self._is_idle = True  # `size` sees bytes in the pipe until this is False again
        arrival.poll()
        self._is_idle = False
        return os.read(self._stdout.fileno(), _PART_BYTES)

    def _n_unread(self) -> int:
        count = array.array("i", [0])
        fcntl.ioctl(self._stdout.fileno(), termios.FIONREAD, count)
        return count[0]

    def _write(self, text: bytes) -> None:
        masked = redacted_text(text.decode("utf-8", "surrogateescape"), self._known)
        left = masked.encode("utf-8", "surrogateescape")
        try:
            while left:  # a disk with little room takes a part
                left = left[self._file.write(left) :]
        except OSError as error:
            self._error = error


def _whole_lines(text: bytes) -> tuple[bytes, bytes]:
    """Up to the end of the last line, a progress bar's too, and what has none yet."""
    end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    return (text[:end], text[end:]) if len(text) - end < _PART_BYTES else (text, b"")
