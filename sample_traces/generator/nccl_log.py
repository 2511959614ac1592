"""NCCL's debug log of one rank: start, topology, graph capture and what is called eagerly.

As NCCL 2.28 writes it with NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,COLL,TUNING and a
time on every line. vLLM runs the longest prefill once, then captures a graph for each batch
size, largest first, each after a warm-up; replays of the graphs log nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from generator.kernels import Work
from generator.model import ELEMENT_BYTES, HIDDEN, Model, target_pass
from generator.nccl_tuning import choice, table
from generator.rank import Rank, Row

PROFILED_TOKENS = 2048
START_NS = 40_000_000_000
"""From the first line to the first call that serves a request."""

CALLS = {"all_reduce": "AllReduce", "all_gather": "AllGather"}
COMM_ID = "0x5c1a90d2e4b7f613"
SETTINGS = {
    "NCCL_DEBUG_SUBSYS": "INIT,GRAPH,ENV,COLL,TUNING",
    "NCCL_DEBUG_TIMESTAMP_LEVELS": "ALL",
    "NCCL_CUMEM_ENABLE": "0",
}


@dataclass(frozen=True, slots=True)
class NcclLog:
    """What a run's NCCL logs tell.

    sizes: numbers of tokens that graphs are captured for, largest first. is_told_apart: the
    trace says which size a step has; without, only the number of channels does.
    """

    model: Model
    sizes: tuple[int, ...]
    is_told_apart: bool = True

    def tells(self, row: Row) -> bool:
        """Whether one size fits the call."""
        if row.impl != "nccl":
            return False
        if self.is_told_apart or not row.graph:
            return True
        sizes = [size * HIDDEN * ELEMENT_BYTES for size in self.sizes]
        channels = [choice("all_reduce", nbytes).channels for nbytes in sizes]
        return channels.count(row.item.grid) == 1


def lines(log: NcclLog, rank: Rank, ranks: Sequence[Rank]) -> list[str]:
    """The log of one rank."""
    writer = _Writer(rank, ranks)
    writer.info(*_start(rank, ranks))
    for tokens in (PROFILED_TOKENS, *(size for size in log.sizes for _ in range(2))):
        for item in target_pass(log.model, tokens):
            if item.kernel.category in CALLS:
                writer.call(item)
    for moment, item in rank.enqueued:
        writer.now = moment
        writer.call(item)
    return writer.lines


class _Writer:
    def __init__(self, rank: Rank, ranks: Sequence[Rank]) -> None:
        self.rank, self.n_ranks, self.is_first = rank, len(ranks), rank is ranks[0]
        self.now = rank.enqueued[0][0] - START_NS
        self.lines: list[str] = []

    def info(self, *texts: str) -> None:
        rank = self.rank
        for text in texts:
            seconds, ns = divmod(rank.epoch(self.now), 1_000_000_000)
            moment = datetime.fromtimestamp(seconds, UTC).strftime("%F %T")
            place = f"{rank.host_name}:{rank.pid}:{rank.pid} [{rank.device}]"
            self.lines.append(f"[{moment}.{ns // 1000:06d}] {place} NCCL INFO {text}")
            self.now += 4_000

    def call(self, item: Work) -> None:
        """A call's lines: COLL on every rank, TUNING on the first."""
        name, share = CALLS[item.kernel.category], item.bytes
        if name == "AllGather":
            share //= self.n_ranks
        # nothing counts opCount on one node without proxies
        self.info(
            f"{name}: opCount 0 sendbuff 0x7f1000000000 recvbuff 0x7f1200000000 "
            f"count {share // ELEMENT_BYTES} datatype 9 op 0 root 0 comm {_comm(self.rank)} "
            f"[nranks={self.n_ranks}] stream 0x55a0000c2000"
        )
        if self.is_first:
            tuned = choice(item.kernel.category, item.bytes)
            self.info(
                f"{name}: {share} Bytes -> Algo {tuned.algorithm} proto {tuned.protocol} "
                f"channel{{Lo..Hi}}={{0..{tuned.channels - 1}}}"
            )


def _comm(rank: Rank) -> str:
    return hex(0x55A0_0001_0000 + 4096 * rank.device)


def _bus(rank: Rank) -> str:
    return f"{16 * (rank.device + 1):x}000"


def _start(rank: Rank, ranks: Sequence[Rank]) -> Iterable[str]:
    n, device, is_first = len(ranks), rank.device, rank is ranks[0]
    about = (
        f"ncclCommInitRank comm {_comm(rank)} rank {rank.rank} nranks {n} cudaDev {device} "
        f"nvmlDev {device} busId {_bus(rank)} commId {COMM_ID} - Init"
    )
    if is_first:
        yield "NCCL version 2.28.9+cuda13.0"
    for name, value in SETTINGS.items():
        yield f"{name} set by environment to {value}."
    yield f"{about} START"
    yield from _topology(ranks)
    yield f"comm {_comm(rank)} rank {rank.rank} nRanks {n} nNodes 1 localRanks {n} localRank " + (
        f"{device} MNNVL 0"
    )
    if is_first:
        order = " ".join(str(r.rank) for r in ranks)
        yield from (f"Channel {channel:02d}/02 : {order}" for channel in range(2))
    yield "Trees " + " ".join(f"[{c}] {_tree(rank.rank, n)}" for c in range(2))
    yield "P2P Chunksize set to 131072"
    following = ranks[(rank.rank + 1) % n]
    for channel in range(2):
        here, there = f"{rank.rank}[{device}]", f"{following.rank}[{following.device}]"
        yield f"Channel {channel:02d} : {here} -> {there} via SHM/direct/direct"
    yield "Connected all rings, use ring PXN 0 GDR 0"
    yield "Connected all trees"
    if is_first:
        yield from table()
    yield "threadThresholds 8/8/64 | 64/8/64 | 512 | 512"
    yield "2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, " + (
        "2 p2p channels per peer"
    )
    yield f"{about} COMPLETE"


def _tree(rank: int, n: int) -> str:
    """A chain: child->self->parent."""
    child = rank + 1 if rank + 1 < n else -1
    return f"{child}/-1/-1->{rank}->{rank - 1}"


def _topology(ranks: Sequence[Rank]) -> Iterable[str]:
    """GPUs on PCIe behind one CPU."""
    nodes = [f"GPU/0-{_bus(rank)}" for rank in ranks]
    yield "=== System : maxBw 24.0 totalBw 48.0 ==="
    yield "CPU/0-0 (1/1/2)"
    yield from (f"+ PCI[48.0] - {node} ({i})" for i, node in enumerate(nodes))
    yield "=" * 42
    for own in nodes:
        cells = (
            f"{node} (0/5000.0/LOC)" if node == own else f"{node} (2/24.0/PHB)" for node in nodes
        )
        yield f"{own} :{' '.join(cells)} CPU/0-0 (1/48.0/PHB) "
    for pattern in (4, 1):
        yield (
            f"Pattern {pattern}, crossNic 0, nChannels 2, bw 24.0/24.0, type PHB/PIX, "
            "sameChannels 1"
        )
        yield from (f" {channel} : {' '.join(nodes)}" for channel in range(2))
