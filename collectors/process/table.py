"""Which processes belong to one that was started: its group, its session, its descendants."""

from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process; `started` (ticks since boot) tells it from a later one with its number."""

    pid: int
    parent: int
    group: int
    session: int
    started: int


def living() -> list[Process]:
    """All processes but zombies; nothing where there is no /proc."""
    entries = (path for path in _PROC.glob("[0-9]*"))
    return [found for path in entries if (found := _read(path)) is not None]


def family(root: int, known: frozenset[Process]) -> frozenset[Process]:
    """The living of `known`, of the group and session of `root`, and their descendants.

    `known` keeps those that left the group and lost their parent since, as torchrun's workers do.
    """
    processes = living()
    starts = {(process.pid, process.started) for process in known}
    members = {root}
    for process in sorted(processes, key=lambda process: process.started):
        is_known = (process.pid, process.started) in starts
        if is_known or root in (process.group, process.session) or process.parent in members:
            members.add(process.pid)
    return frozenset(process for process in processes if process.pid in members)


def _read(path: Path) -> Process | None:
    try:
        # Source: proc(5): the name in parentheses may hold anything, then come state, ppid, ...
        fields = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:  # it ended meanwhile
        return None
    if len(fields) < 20 or fields[0] in "ZX":
        return None
    parent, group, session = map(int, fields[1:4])
    return Process(int(path.name), parent, group, session, int(fields[19]))
