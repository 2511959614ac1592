"""Traces that a server wrote: which are new, whether each rank wrote one, into the run folder."""

import gzip
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

from tracekit.collectors.engine import Engine
from tracekit.collectors.run_folder import RunFolder
from tracekit.errors import CaptureError

LATE_S = 10.0
"""Wait for ranks that have not written when the profiler says it has stopped."""

_POLL_S = 0.2
_CHUNK_BYTES = 1 << 20
_TAIL_BYTES = 64
Stamp = tuple[Path, int]


@dataclass(frozen=True, slots=True)
class TraceDir:
    """Where traces appear; `inside` is its path as the server sees it.

    `is_ours`: it is of the capture alone, so traces are moved out of it, not copied.
    """

    path: Path
    inside: str
    is_ours: bool

    def stamps(self) -> frozenset[Stamp]:
        """Files that are there, with the time of their last change."""
        files = (path for path in self.path.rglob("*") if path.is_file())
        return frozenset((path, path.stat().st_mtime_ns) for path in files)

    def take_new(self, before: frozenset[Stamp], folder: RunFolder) -> None:
        """Bring what was written since `before` into the run folder."""
        for path, _ in sorted(self.stamps() - before):
            folder.take(path, folder.traces, is_ours=self.is_ours)

    def wait_for_ranks(self, before: frozenset[Stamp], engine: Engine, n_ranks: int | None) -> None:
        """Return when as many ranks have written as there are, or after `LATE_S`."""
        deadline = time.monotonic() + LATE_S
        while time.monotonic() < deadline:
            written = [
                path for path, _ in self.stamps() - before if engine.is_rank_trace(path.name)
            ]
            if len(written) >= (n_ranks or 1):
                return
            time.sleep(_POLL_S)


def check_ranks(folder: RunFolder, engine: Engine, n_ranks: int | None) -> None:
    """Raise CaptureError unless each rank wrote a whole trace; `n_ranks` None: at least one did."""
    found = sorted(path for path in folder.traces.iterdir() if engine.is_rank_trace(path.name))
    for path in found:
        if not is_whole(path):
            raise CaptureError(
                f"{path}: cut off; look into the server's log for the reason, "
                "what is there can be ingested"
            )
    if not found:
        raise CaptureError(
            f"{folder.traces}: no rank wrote a trace; look into the server's log, and in attach "
            "mode at --trace-dir"
        )
    if n_ranks is not None and len(found) < n_ranks:
        names = ", ".join(path.name for path in found)
        raise CaptureError(
            f"{folder.traces}: {len(found)} of {n_ranks} ranks wrote a trace ({names}); "
            "look into the server's log for the others, what is there can be ingested"
        )


def is_whole(path: Path) -> bool:
    """Whether a trace ends as JSON does, and its gzip stream with it: 0.2 s for 13 MB."""
    tail = b""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                tail = (tail + chunk)[-_TAIL_BYTES:]
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return False
    return tail.rstrip().endswith((b"}", b"]"))
