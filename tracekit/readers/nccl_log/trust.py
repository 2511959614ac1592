"""Which calls of a log are to be believed, where lines may have been cut or joined.

A line that looks whole may be the head of one process's line and the tail of another's. That can
be only after a line was torn visibly, since each piece that was joined to a wrong one has left
its own other half; and it shows, for the pointers behind the joint are the other process's. A
line that was cut in its last word shows too: the word begins a longer one.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Process = tuple[str, int]
"""Host and process id."""

NOBODY: Process = ("", 0)
"""Stands for the process where a line does not name it."""

Comm = tuple[str, int, str]
"""Host, process id and pointer of a communicator."""

_Key = TypeVar("_Key", bound=Hashable)

_NAMED_STREAMS = frozenset({"(nil)", "0x1", "0x2", "0", "1", "2"})
"""The null stream and CUDA's two handles by name; all others are pointers."""

_FEW = 3
"""Lines of a process, or calls on a stream, from which on they are hardly chance."""

_BY_FAR = 4
"""Times the others' calls that the owner of a pointer has to have, where no other line tells."""

_TORN_SHARE = 0.2
"""Of all lines: where more are torn, most of those that look whole may be joined ones."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Calls by process, communicator, stream and rank: `n`, of them `n_sure` before any tear."""

    host: str
    pid: int
    comm: str
    n_ranks: int | None
    stream: str
    global_rank: int | None
    n: int
    n_sure: int

    @property
    def process(self) -> Process:
        """Process, within the file."""
        return self.host, self.pid

    @property
    def key(self) -> Comm:
        """Communicator, within the file."""
        return self.host, self.pid, self.comm


def strangers(lines: Mapping[Process, int], *, is_torn: bool) -> set[Process]:
    """Processes that may be none, given the lines of each: their host or number is a part of one.

    In a torn file that is any with few lines.
    """
    hosts = _sum((host, n) for (host, _), n in lines.items())
    cut_hosts = {
        host
        for host, n in hosts.items()
        for other, n_other in hosts.items()
        if host != other and n <= n_other and (host.endswith(other) or other.endswith(host))
    }
    return {one for one, n in lines.items() if one[0] in cut_hosts or (is_torn and n < _FEW)}


def cut(seen: Sequence[Seen]) -> list[Seen]:
    """Calls whose last word, a stream or a rank, may be a part of the real one."""
    streams, ranks = _bad_streams(seen), _bad_ranks(seen)
    return [
        one
        for one in seen
        if (one.process, one.stream) in streams or (one.key, one.global_rank) in ranks
    ]


def joined(
    seen: Sequence[Seen], owned: Mapping[Comm, int], *, n_torn: int, n_torn_in_stream: int
) -> list[Seen]:
    """Calls that may be of two processes, in a file of several.

    `owned` are the ranks of the communicators whose Init lines were read. Of the torn lines some
    end within the stream: only then may a stream be mixed of two.
    """
    owners = _owners(seen, owned, n_torn)
    streams = _own_streams(seen, n_torn_in_stream)
    return [
        one
        for one in seen
        if one.key not in owners
        or one.n_ranks not in (None, owners[one.key])
        or (one.stream not in _NAMED_STREAMS and (one.process, one.stream) not in streams)
    ]


def _bad_streams(seen: Sequence[Seen]) -> set[tuple[Process, str]]:
    calls = _sum(((one.process, one.stream), one.n) for one in seen)
    as_long = {(one.process, one.stream) for one in seen if len(one.stream) == len(one.comm)}
    of_process = defaultdict(set)
    for process, stream in calls:
        of_process[process].add(stream)
    return {
        (process, stream)
        for (process, stream), n in calls.items()
        if stream not in _NAMED_STREAMS
        and (
            any(begins(stream, other) for other in of_process[process])
            or (n < _FEW and (process, stream) not in as_long)
        )
    }


def _bad_ranks(seen: Sequence[Seen]) -> set[tuple[Comm, int | None]]:
    calls = _sum(((one.key, one.global_rank), one.n) for one in seen)
    is_told = any(one.global_rank is not None for one in seen)  # RCCL's lines all tell it
    bad: set[tuple[Comm, int | None]] = {key for key in calls if key[1] is None and is_told}
    for comm, rank in calls:
        for other, other_rank in calls:
            is_rarer = calls[comm, rank] <= calls[other, other_rank]
            if comm == other and is_rarer and begins(str(rank), str(other_rank)):
                bad.add((comm, rank))
    return bad


def _owners(seen: Sequence[Seen], owned: Mapping[Comm, int], n_torn: int) -> dict[Comm, int]:
    """Ranks of communicators by their one owner: best by Init lines, then by calls before any tear.

    Where neither tells, and few lines are torn, it is the one that nearly all calls are of.
    """
    sure = _ranks(one for one in seen if one.n_sure)
    owners = _single(owned)
    owners |= _single({key: n for key, n in sure.items() if key[2] not in _pointers(owners)})
    if n_torn < _TORN_SHARE * sum(one.n for one in seen):
        told = _pointers([*owned, *sure])
        calls = _sum((one.key, one.n) for one in seen if one.comm not in told)
        totals = _sum((key[2], n) for key, n in calls.items())
        most = [k for k, n in calls.items() if n >= max(_FEW, _BY_FAR * (totals[k[2]] - n))]
        owners |= {key: n for key, n in _ranks(seen).items() if key in most}
    return owners


def _own_streams(seen: Sequence[Seen], n_torn_in_stream: int) -> set[tuple[Process, str]]:
    calls = _sum(((one.process, one.stream), one.n) for one in seen)
    totals = _sum((stream, n) for (_, stream), n in calls.items())
    own = {(one.process, one.stream) for one in seen if one.n_sure}
    for (process, stream), n in calls.items():
        is_rare = n < _BY_FAR * n_torn_in_stream
        if n >= max(2, _BY_FAR * (totals[stream] - n)) and not (
            is_rare and _is_mixed(process, stream, calls)
        ):
            own.add((process, stream))
    return own


def _is_mixed(process: Process, stream: str, calls: Mapping[tuple[Process, str], int]) -> bool:
    """Whether it may be the head of a stream of the process and the tail of another one's."""
    heads = [one for owner, one in calls if owner == process and one != stream]
    tails = [one for owner, one in calls if owner != process and one != stream]
    return any(
        stream[:at] == head[:at] and stream[at:] == tail[-(len(stream) - at) :]
        for head in heads
        for tail in tails
        for at in range(3, len(stream))
    )


def _ranks(seen: Iterable[Seen]) -> dict[Comm, int]:
    """The most frequent number of ranks by communicator."""
    votes: dict[Comm, Counter[int]] = defaultdict(Counter)
    for one in seen:
        votes[one.key][one.n_ranks or 0] += one.n
    return {key: counter.most_common(1)[0][0] for key, counter in votes.items()}


def _single(ranks: Mapping[Comm, int]) -> dict[Comm, int]:
    """Communicators whose pointer only one process claims."""
    claims = Counter(pointer for _, _, pointer in ranks)
    return {key: n for key, n in ranks.items() if claims[key[2]] == 1}


def _pointers(comms: Iterable[Comm]) -> set[str]:
    return {pointer for _, _, pointer in comms}


def begins(short: str, long: str) -> bool:
    """Whether `long` is `short` and more."""
    return len(short) < len(long) and long.startswith(short)


def _sum(pairs: Iterable[tuple[_Key, int]]) -> Counter[_Key]:
    totals: Counter[_Key] = Counter()
    for key, n in pairs:
        totals[key] += n
    return totals
