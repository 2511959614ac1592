"""Times how NCCL's logs are read: seconds, and memory above that of a small log.

Usage: python benchmarks/nccl_log.py [--mb N ...] [--case NAME ...]

Logs of N MB are made of what eight ranks say, as NCCL 2.27 logs it with the stamps that
`tracekit capture --nccl-log` asks for. Each is read by a process of its own. The cases:

calls   calls alone
mixed   beside each call of rank 0 what NCCL chose for it, and many warnings, all different
init    communicators that are made and destroyed, one after the other
server  lines of a server, one of NCCL's among thousands
blocks  calls in blocks of 4,096 bytes, as stdio leaves them
pieces  calls in pieces of 128 bytes, as NCCL 2.29 writes them unbuffered: every line is torn
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from tracekit import store
from tracekit.readers.folder import InputFile
from tracekit.readers.nccl_log import read_logs

N_RANKS = 8
BLOCK_BYTES = 4096
PIECE_BYTES = 128
BATCH = 4000
SMALL_MB = 1


def lines(rank: int, first: int) -> str:
    """Calls `first` to `first` + BATCH of one rank."""
    made = []
    for i in range(first, first + BATCH):
        made.append(
            f"[2026-01-02 03:{i // 60000 % 60:02}:{i // 1000 % 60:02}.{i * 37 % 1000000:06} +0000] "
            f"gpu-box-7:{4100 + rank}:{4200 + rank} [{rank}] NCCL INFO AllReduce: opCount {i:x} "
            f"sendbuff 0x7f12{i * 512 % 0xFFFFFFFF:08x} recvbuff 0x7f12{i * 1024 % 0xFFFFFFFF:08x} "
            f"count {7168 * (1 + i % 64)} datatype 9 op 0 root 0 comm 0x55d{rank}c3a41100 "
            f"[nranks={N_RANKS}] stream 0x55d{rank}c3a52{rank}10\n"
        )
    return "".join(made)


def header(rank: int) -> str:
    """What stands before a message."""
    return f"[2026-01-02 03:04:05.000{rank} +0000] gpu-box-7:{4100 + rank}:{4200 + rank} [{rank}] "


def turns() -> Iterator[list[list[str]]]:
    """Calls without end: for each rank the lines of a stretch."""
    for first in count(0, BATCH):
        yield [lines(rank, first).splitlines(keepends=True) for rank in range(N_RANKS)]


def calls() -> Iterator[str]:
    """Calls, line by line in turn."""
    for ranks in turns():
        yield "".join(line for row in zip(*ranks, strict=True) for line in row)


def mixed() -> Iterator[str]:
    """The same with choices and warnings."""
    for ranks in turns():
        yield "".join(
            "".join(row) + choice(i) + (warning(i) if i % 4 == 0 else "")
            for i, row in enumerate(zip(*ranks, strict=True))
        )


def choice(i: int) -> str:
    """What rank 0 chose for the call of that number."""
    channels = f"channel{{Lo..Hi}}={{0..{i % 8}}}"
    what = f"AllReduce: {14336 * (1 + i % 64)} Bytes"
    return f"{header(0)}NCCL INFO {what} -> Algo RING proto LL {channels}\n"


def warning(i: int) -> str:
    """A warning that is like no other."""
    said = (
        f"NET/IB : Got completion from peer 10.0.0.{i % 256}<{i}> with status=12 opcode={i} len={i}"
    )
    return f"\n{header(i % N_RANKS)}transport/net_ib.cc:{i % 100} NCCL WARN {said}\n"


def init() -> Iterator[str]:
    """Communicators, of each rank from its beginning to its end."""
    for i in count():
        yield "".join(communicator(rank, i) for rank in range(N_RANKS))


def communicator(rank: int, i: int) -> str:
    """What a rank says of the communicator of that number."""
    comm = f"comm 0x55d{rank}{i:08x} rank {rank} nranks {N_RANKS} cudaDev {rank}"
    begin = (
        f"ncclCommInitRank {comm} nvmlDev {rank} busId {rank + 1}000 commId 0x9d3ac{i:011x} - Init"
    )
    following = (rank + 1) % N_RANKS
    paths = " ".join(f"GPU/0-{to + 1}000 (2/24.0/PHB)" for to in range(N_RANKS))
    said = [
        f"{begin} START",
        "=== System : maxBw 24.0 totalBw 24.0 ===",
        *(f"+ PCI[24.0] - GPU/0-{to + 1}000 ({to})" for to in range(N_RANKS)),
        *(f"GPU/0-{to + 1}000 :{paths} " for to in range(N_RANKS)),
        "Pattern 4, crossNic 0, nChannels 2, bw 24.0/24.0, type PHB/PIX, sameChannels 1",
        *(f" {channel} : GPU/0 GPU/1 GPU/2 GPU/3" for channel in range(2)),
        f"Trees [0] {following}/-1/-1->{rank}->-1 [1] {following}/-1/-1->{rank}->-1",
        *(
            f"Channel {n:02}/0 : {rank}[{rank}] -> {following}[{following}] via P2P/CUMEM"
            for n in range(8)
        ),
        "Connected all rings, use ring PXN 0 GDR 1",
        "4 coll channels, 0 nvls channels, 4 p2p channels, 2 p2p channels per peer",
        f"{begin} COMPLETE",
        f"{comm} busId {rank + 1}000 - Destroy COMPLETE",
    ]
    return "".join(f"{header(rank)}NCCL INFO {text}\n" for text in said)


def server() -> Iterator[str]:
    """Lines of an engine and of its front end, and few calls."""
    call = lines(0, 0).splitlines(keepends=True)[0]
    for first in count(0, BATCH):
        yield call + "".join(
            f"INFO 01-02 03:04:{i % 60:02} [loggers.py:123] Engine 000: Running: {i} reqs\n"
            f'INFO:     10.0.0.{i % 256}:{i} - "POST /v1/completions HTTP/1.1" 200 OK\n'
            for i in range(first, first + 20_000)
        )


def blocks() -> Iterator[str]:
    """Calls, block by block in turn."""
    left = [""] * N_RANKS
    for ranks in turns():
        texts = [rest + "".join(rank) for rest, rank in zip(left, ranks, strict=True)]
        whole = min(len(text) for text in texts) // BLOCK_BYTES * BLOCK_BYTES
        starts = range(0, whole, BLOCK_BYTES)
        yield "".join(text[at : at + BLOCK_BYTES] for at in starts for text in texts)
        left = [text[whole:] for text in texts]


def pieces() -> Iterator[str]:
    """Calls, piece by piece in turn."""
    for ranks in turns():
        cut = [
            [line[at : at + PIECE_BYTES] for line in of for at in range(0, len(line), PIECE_BYTES)]
            for of in ranks
        ]
        yield "".join(piece for row in zip(*cut, strict=False) for piece in row)


CASES = {one.__name__: one for one in (calls, mixed, init, server, blocks, pieces)}


def write(path: Path, mb: float, case: str) -> None:
    """Make a log of about `mb` million bytes."""
    with path.open("w") as file:
        for text in CASES[case]():
            file.write(text)
            if file.tell() >= mb * 1e6:
                return


def read(path: Path) -> None:
    """Read a log and print what it took: seconds, CPU seconds, peak in KiB, rows, lines lost."""
    with store.building(path.with_suffix(".duckdb"), "r", install_views=lambda _: None) as scratch:
        began = time.perf_counter()
        file = InputFile(path, path.name, "nccl_log", path.stat().st_size)
        read_logs(scratch.con, [(0, file)], run="r", scratch=scratch.folder)
        seconds = time.perf_counter() - began
        query = """
            SELECT
                (SELECT count(*) FROM nccl_call),
                (SELECT count(*) FROM nccl_tuning) + (SELECT count(*) FROM nccl_link)
                + (SELECT count(*) FROM nccl_note) + (SELECT count(*) FROM nccl_comm),
                (SELECT sum(skipped) FROM ledger)
        """
        calls, others, lost = scratch.con.execute(query).fetchone() or (0, 0, 0)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime
    sys.stdout.write(f"{seconds} {cpu} {used.ru_maxrss} {calls} {others} {int(lost or 0)}\n")


def measured(folder: Path, mb: float, case: str) -> list[float]:
    """What `read` prints of a log of that size."""
    path = folder / "nccl.log"
    write(path, mb, case)
    command = [sys.executable, __file__, "--read", str(path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    path.unlink()
    path.with_suffix(".duckdb").unlink()
    return [float(word) for word in said.split()]


def main() -> None:
    """Print one row per case and size."""
    parser = argparse.ArgumentParser(description="Benchmark the reader of NCCL's logs.")
    parser.add_argument("--mb", type=float, nargs="+", default=[100.0, 1000.0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=["calls", "mixed"])
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read(given.read)
        return
    with tempfile.TemporaryDirectory() as name:
        for case in given.case:
            base = measured(Path(name), SMALL_MB, case)[2]
            for mb in given.mb:
                seconds, cpu, peak, calls, others, lost = measured(Path(name), mb, case)
                sys.stdout.write(
                    f"{case}, {mb:,.0f} MB: {seconds:.1f} s ({cpu:.1f} s of CPU), peak "
                    f"{peak / 1024:.0f} MiB, {(peak - base) / 1024:.0f} more than {SMALL_MB} MB; "
                    f"{calls:,.0f} calls, {others:,.0f} other rows, {lost:,.0f} lines not read\n"
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
