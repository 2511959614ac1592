"""Communicators: rows of `nccl_comm` from the lines of their beginning and their end."""

import re
from collections import Counter
from dataclasses import dataclass, field

from tracekit.readers.nccl_log.facts import NEVER, Row
from tracekit.readers.nccl_log.text import Header
from tracekit.readers.nccl_log.trust import Comm, Process
from tracekit.readers.rows import Value

_ENDS = frozenset({"Finalize COMPLETE", "Destroy COMPLETE", "Abort COMPLETE"})
_NAMES = {
    "rank": "rank",
    "n_ranks": "n_ranks",
    "cuda": "cuda_device",
    "nvml": "nvml_device",
}
_BY_FAR = 2
"""Times the others' claims that the owner of a communicator has to have."""

Said = tuple[tuple[str, Value], ...]
"""What one line says of a communicator: columns with their values."""


@dataclass(slots=True)
class _Life:
    """One communicator in one process, from Init to Destroy."""

    header: Header
    comm: str
    said: Counter[Said] = field(default_factory=Counter)
    firm: set[Said] = field(default_factory=set)
    more: Row = field(default_factory=dict)
    destroyed_at_byte: int | None = None
    is_begun: bool = False

    def add(self, said: Said, is_doubtful: bool) -> None:
        self.said[said] += 1
        if not is_doubtful:
            self.firm.add(said)

    def columns(self, least: int) -> Row | None:
        """What its lines agree on; None where they do not, or fewer than `least` in doubt do."""
        (best, n), *others = self.said.most_common(2)
        if (others and others[0][1] == n) or (n < least and best not in self.firm):
            return None
        return dict(best)


_CLAIM = re.compile(
    r"(?:\[Rank \d+\] )?(?:ncclComm\w+ )?comm (0x[0-9a-f]+) rank \d+ n[rR]anks (\d{1,9})(?!\d)"
)
"""What even a torn line tells: it was in one piece up to there."""


class Communicators:
    """Collects what the lines of one file say.

    `rows` are those of communicators that are gone, to be taken out now and then: without version.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.n_lives = 0
        self._lives: dict[int, _Life] = {}
        self._alive: dict[tuple[Process, str], _Life] = {}
        self._of_thread: dict[tuple[Process, int], _Life] = {}
        self._versions: dict[Process, str] = {}
        self._claims: Counter[tuple[Comm, int]] = Counter()

    def version(self, process: Process, version: str) -> None:
        """NCCL's version in a process."""
        self._versions.setdefault(process, version)

    def claim(self, header: Header, text: str) -> None:
        """Take whose a communicator is from any of its lines, torn ones too."""
        if found := _CLAIM.match(text):
            self._claims[(*header.process, found[1]), int(found[2])] += 1

    def owners(self) -> dict[Comm, int]:
        """Number of ranks by communicator, of those that one process alone, or by far, claims."""
        totals: Counter[str] = Counter()
        for (comm, _), n in self._claims.items():
            totals[comm[2]] += n
        return {
            comm: n_ranks
            for (comm, n_ranks), n in self._claims.items()
            if n > _BY_FAR * (totals[comm[2]] - n)
        }

    def init(self, header: Header, found: re.Match[str], *, is_doubtful: bool) -> None:
        """Take a line of Init, Finalize, Destroy or Abort."""
        what = found["what"]
        if what in _ENDS or "START" in what and "Init" not in what:
            self._end(header, found["comm"])
            return
        life = self._life(header, found["comm"], begins=what == "Init START")
        life.add(_said(found), is_doubtful)
        if what == "Init COMPLETE" and not is_doubtful:
            life.more["initialised_at_byte"] = header.at_byte

    def nodes(self, header: Header, found: re.Match[str]) -> None:
        """Take the line that says how many hosts a communicator spans."""
        life = self._alive.get((header.process, found["comm"]))
        if life is not None:
            life.more["n_nodes"] = int(found["n_nodes"])

    def timings(self, header: Header, found: re.Match[str]) -> None:
        """Take the time that the thread's last Init took."""
        life = self._of_thread.get((header.process, header.tid))
        if life is not None and dict(next(iter(life.said))).get("rank") == int(found["rank"]):
            life.more["init_ns"] = round(float(found["seconds"]) * 1_000_000_000)

    def channels(self, header: Header, found: re.Match[str]) -> None:
        """Take the numbers of channels of the communicator that the thread initialises."""
        life = self._of_thread.get((header.process, header.tid))
        if life is not None:
            life.more["n_channels"] = int(found["coll"])
            life.more["n_nvls_channels"] = int(found["nvls"])
            life.more["n_p2p_channels"] = int(found["p2p"])

    def end(self, least: int) -> None:
        """Add to the rows those of all others; lines in doubt are believed where `least` agree."""
        self.rows += [row for life in self._lives.values() if (row := _row(life, least))]
        self._lives.clear()

    def versions(self) -> dict[str, list[Value]]:
        """Versions of NCCL by process, as columns."""
        return {
            "host": [host for host, _ in self._versions],
            "pid": [pid for _, pid in self._versions],
            "version": list(self._versions.values()),
        }

    def _life(self, header: Header, comm: str, *, begins: bool) -> _Life:
        life = self._alive.get((header.process, comm))
        if life is None or (begins and life.is_begun):
            self._finish(life)
            life = _Life(header, comm)
            self.n_lives += 1
            self._lives[id(life)] = life
            self._alive[header.process, comm] = life
        life.is_begun = True
        self._of_thread[header.process, header.tid] = life
        return life

    def _end(self, header: Header, comm: str) -> None:
        life = self._alive.pop((header.process, comm), None)
        if life is not None:
            life.destroyed_at_byte = header.at_byte
            self._finish(life)

    def _finish(self, life: _Life | None) -> None:
        """Let go of a communicator that is gone, and in no doubt."""
        if life is not None and (row := _row(life, NEVER)):
            self.rows.append(row)
            del self._lives[id(life)]


def _said(found: re.Match[str]) -> Said:
    said: Row = {}
    for group, column in _NAMES.items():
        said[column] = None if found[group] is None else int(found[group])
    said["bus_id"] = found["bus"]
    said["comm_id"] = found["id"] or found["late_id"]
    said["parent"] = found["parent"]
    return tuple(said.items())


def _row(life: _Life, least: int) -> Row | None:
    columns = life.columns(least)
    if columns is None:
        return None
    return {
        "at_byte": life.header.at_byte,
        "host": life.header.host,
        "pid": life.header.pid,
        "comm": life.comm,
        **columns,
        "n_nodes": life.more.get("n_nodes"),
        "n_channels": life.more.get("n_channels"),
        "n_nvls_channels": life.more.get("n_nvls_channels"),
        "n_p2p_channels": life.more.get("n_p2p_channels"),
        "init_ns": life.more.get("init_ns"),
        "destroyed_at_byte": life.destroyed_at_byte,
        "initialised_at_byte": life.more.get("initialised_at_byte"),
    }
