"""Times how NCCL's logs are read: seconds, and memory above that of a small log.

Usage: python benchmarks/nccl_log.py [--mb N ...] [--torn]

A log of N MB is made of calls of eight ranks, as NCCL 2.27 logs them with the stamps that
`tracekit capture --nccl-log` asks for; with --torn their blocks of 4,096 bytes lie one behind
the other, as stdio leaves them. Each is read by a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tracekit import store
from tracekit.readers.folder import InputFile
from tracekit.readers.nccl_log import read_logs

N_RANKS = 8
BLOCK_BYTES = 4096
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


def batches(*, torn: bool) -> Iterator[str]:
    """Stretches of a log without end: line by line in turn, or block by block."""
    left = [""] * N_RANKS
    first = 0
    while True:
        texts = [rest + lines(rank, first) for rank, rest in enumerate(left)]
        first += BATCH
        if torn:
            whole = min(len(text) for text in texts) // BLOCK_BYTES * BLOCK_BYTES
            starts = range(0, whole, BLOCK_BYTES)
            yield "".join(text[at : at + BLOCK_BYTES] for at in starts for text in texts)
            left = [text[whole:] for text in texts]
        else:
            split = [text.splitlines(keepends=True) for text in texts]
            yield "".join(line for row in zip(*split, strict=True) for line in row)


def write(path: Path, mb: float, *, torn: bool) -> None:
    """Make a log of about `mb` million bytes."""
    with path.open("w") as file:
        for text in batches(torn=torn):
            file.write(text)
            if file.tell() >= mb * 1e6:
                return


def read(path: Path) -> None:
    """Read a log and print what it took: seconds, peak in KiB, calls, lines lost."""
    with store.building(path.with_suffix(".duckdb"), "r", install_views=lambda _: None) as scratch:
        began = time.perf_counter()
        file = InputFile(path, path.name, "nccl_log", path.stat().st_size)
        read_logs(scratch.con, [(0, file)], run="r", scratch=scratch.folder)
        seconds = time.perf_counter() - began
        count = "SELECT (SELECT count(*) FROM nccl_call), (SELECT sum(skipped) FROM ledger)"
        calls, lost = scratch.con.execute(count).fetchone() or (0, 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(f"{seconds} {peak} {calls} {int(lost or 0)}\n")


def measured(folder: Path, mb: float, *, torn: bool) -> list[float]:
    """What `read` prints of a log of that size."""
    path = folder / "nccl.log"
    write(path, mb, torn=torn)
    command = [sys.executable, __file__, "--read", str(path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    path.unlink()
    path.with_suffix(".duckdb").unlink()
    return [float(word) for word in said.split()]


def main() -> None:
    """Print one row per size."""
    parser = argparse.ArgumentParser(description="Benchmark the reader of NCCL's logs.")
    parser.add_argument("--mb", type=float, nargs="+", default=[250.0, 1000.0])
    parser.add_argument("--torn", action="store_true", help="blocks of 4,096 bytes, not lines")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read(given.read)
        return
    with tempfile.TemporaryDirectory() as name:
        _, base, *_ = measured(Path(name), SMALL_MB, torn=given.torn)
        for mb in given.mb:
            seconds, peak, calls, lost = measured(Path(name), mb, torn=given.torn)
            sys.stdout.write(
                f"{mb:,.0f} MB: {seconds:.1f} s, {(peak - base) / 1024:.0f} MiB more than a log "
                f"of {SMALL_MB} MB; {calls:,.0f} calls, {lost:,.0f} lines not read\n"
            )


if __name__ == "__main__":
    main()
