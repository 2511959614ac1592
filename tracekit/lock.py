"""One lock between processes: a file that is there while somebody holds it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tracekit.errors import StoreError

POLL_S = 0.02


@contextmanager
def locked(path: Path, *, timeout_s: float = 600) -> Iterator[None]:
    """Hold the lock at `path`; a holder that dies loses it, so nothing is ever left locked.

    Raises:
        StoreError: somebody else held it for all of `timeout_s`.
    """
    descriptor = _wait(path, timeout_s)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # before letting go: who waits sees it gone and tries anew
        os.close(descriptor)


def try_lock(path: Path) -> int | None:
    """Open descriptor that holds the lock at `path` until it is closed; None where it is taken."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            return descriptor
    os.close(descriptor)
    return None


def _wait(path: Path, timeout_s: float) -> int:
    deadline = time.monotonic() + timeout_s
    while (descriptor := try_lock(path)) is None:
        if time.monotonic() > deadline:
            raise StoreError(
                f"{path}: another ingest holds it since {timeout_s:.0f} s; end that one first"
            )
        time.sleep(POLL_S)
    return descriptor
