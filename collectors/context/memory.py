"""Watches the memory of this machine: a profile that grows without bound takes the box with it."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tracekit.collectors.context.system_file import text_of

AVAILABLE = "MemAvailable"
"""Source of what the whole machine has left."""

POLL_S = 0.5
_GB = 1e9


@dataclass(frozen=True, slots=True)
class MemoryRoom:
    """Memory of the machine or of a control group: how much there is, how much of it is left."""

    source: str
    total_bytes: int
    left_bytes: int

    @property
    def reserve_bytes(self) -> int:
        """What had better stay free: a twentieth, 1 GB at least and 8 GB at most."""
        return int(min(max(self.total_bytes / 20, _GB), 8 * _GB, self.total_bytes / 4))

    def __str__(self) -> str:
        left, total = self.left_bytes / _GB, self.total_bytes / _GB
        return f"{left:.1f} of {total:.1f} GB left ({self.source})"


def memory_room(root: Path = Path("/")) -> MemoryRoom | None:
    """The tightest of the machine's memory and the limits of our control groups; None: not told."""
    rooms = memory_rooms(root)
    return min(rooms, key=lambda room: room.left_bytes - room.reserve_bytes, default=None)


def memory_rooms(root: Path = Path("/")) -> list[MemoryRoom]:
    """The machine's memory, then each limit of a control group that we run in.

    Source: Documentation/admin-guide of Linux: cgroup-v2.rst, cgroup-v1/memory.rst.
    """
    info = _fields(root / "proc/meminfo")
    total, left = info.get("MemTotal:"), info.get(f"{AVAILABLE}:")
    host = [MemoryRoom(AVAILABLE, total * 1024, left * 1024)] if total and left else []
    return [*host, *_groups(root)]


class MemoryWatch:
    """Calls `on_low` with what is left, once, when it falls under `reserve_bytes` of any limit.

    It is called from a thread of the watch. `low` is the room that it was called with.
    """

    def __init__(
        self,
        on_low: Callable[[MemoryRoom], None],
        reserve_bytes: int | None = None,
        poll_s: float = POLL_S,
        root: Path = Path("/"),
    ) -> None:
        """`reserve_bytes` is each room's own where it is None."""
        self.low: MemoryRoom | None = None
        self._on_low = on_low
        self._reserve_bytes = reserve_bytes
        self._poll_s = poll_s
        self._root = root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            room = memory_room(self._root)
            if room and room.left_bytes < (self._reserve_bytes or room.reserve_bytes):
                self.low = room
                self._on_low(room)
                return
            self._stop.wait(self._poll_s)


@dataclass(frozen=True, slots=True)
class _Files:
    """Where a version of control groups keeps a group's memory."""

    limit: str
    used: str
    reclaimable: str


_V2 = _Files("memory.max", "memory.current", "inactive_file")
_V1 = _Files("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def _groups(root: Path) -> Iterator[MemoryRoom]:
    for line in text_of(root / "proc/self/cgroup").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            yield from _limits(root / "sys/fs/cgroup", path, _V2)
        elif "memory" in controllers.split(","):
            yield from _limits(root / "sys/fs/cgroup/memory", path, _V1)


def _limits(mount: Path, path: str, files: _Files) -> Iterator[MemoryRoom]:
    """Limits of a group and of those around it; within a container only the mount is there."""
    group = mount / path.lstrip("/")
    for folder in (group, *group.parents):
        if not folder.is_relative_to(mount):
            return
        limit = _number(folder / files.limit)
        used = _number(folder / files.used)
        if limit is not None and used is not None and limit < 1 << 60:  # v1's word for no limit
            spare = _fields(folder / "memory.stat").get(files.reclaimable, 0)
            yield MemoryRoom(str(folder / files.limit), limit, limit - used + spare)


def _number(path: Path) -> int | None:
    text = text_of(path).strip()
    return int(text) if text.isdecimal() else None


def _fields(path: Path) -> dict[str, int]:
    """First number of each line, by the line's first word."""
    rows = (line.split() for line in text_of(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}
