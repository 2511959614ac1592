"""What NCCL's tuner chooses on eight PCIe GPUs: plain figures of its ideal-time model.

Latencies are the constants of NCCL 2.23 to 2.30 for PCIe, bandwidths those of two channels of
24 GB/s: Ring busbw B, 0.92 B and B / 2, times n / 2 (n - 1); Tree half of 0.92 B and less.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LATENCY_US = {
    ("all_reduce", "RING", "LL"): 20.6,
    ("all_reduce", "RING", "LL128"): 49.0,
    ("all_reduce", "RING", "SIMPLE"): 88.2,
    ("all_reduce", "TREE", "LL"): 20.8,
    ("all_reduce", "TREE", "LL128"): 40.6,
    ("all_reduce", "TREE", "SIMPLE"): 64.4,
    ("all_gather", "RING", "LL"): 13.6,
    ("all_gather", "RING", "LL128"): 31.5,
    ("all_gather", "RING", "SIMPLE"): 48.3,
}
ALGBW_GB_PER_S = {
    ("all_reduce", "RING", "LL"): 13.7,
    ("all_reduce", "RING", "LL128"): 25.2,
    ("all_reduce", "RING", "SIMPLE"): 27.4,
    ("all_reduce", "TREE", "LL"): 5.8,
    ("all_reduce", "TREE", "LL128"): 17.2,
    ("all_reduce", "TREE", "SIMPLE"): 22.1,
    ("all_gather", "RING", "LL"): 27.4,
    ("all_gather", "RING", "LL128"): 50.5,
    ("all_gather", "RING", "SIMPLE"): 54.9,
}


class Choice(NamedTuple):
    """How NCCL runs a message; `model_ns` is the time its model expects."""

    algorithm: str
    protocol: str
    channels: int
    model_ns: int


def choice(category: str, nbytes: int) -> Choice:
    """The fastest by the model; a message below 32 KiB takes one channel of the two."""
    times = {
        key: 1000 * us + nbytes / ALGBW_GB_PER_S[key]
        for key, us in LATENCY_US.items()
        if key[0] == category
    }
    best = min(times, key=lambda key: times[key])
    return Choice(best[1], best[2], 1 if nbytes < 32 << 10 else 2, round(times[best]))


ALGORITHMS = ["Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"]
COLLECTIVES = {"AllGather": "all_gather", "AllReduce": "all_reduce"}
MAX_THREADS = {"LL": 512, "LL128": 640, "SIMPLE": 512}


def table() -> Iterable[str]:
    """The model's figures as NCCL logs them: three algorithms a block, 0.0 where unusable."""
    for first in range(0, len(ALGORITHMS), 3):
        block = ALGORITHMS[first : first + 3]
        yield "  Algorithm   |" + "".join(f" {'':14}   {a:>14}   {'':14} |" for a in block)
        protocols = [name for _ in block for name in ("LL", "LL128", "Simple")]
        yield "  Protocol    |" + "".join(f" {name:>14} |" for name in protocols)
        threads = [MAX_THREADS[name.upper()] for name in protocols]
        yield " Max NThreads |" + "".join(f" {n:14d} |" for n in threads)
        for name, category in COLLECTIVES.items():
            keys = [(category, a.upper(), p) for a in block for p in MAX_THREADS]
            cells = (f"{LATENCY_US.get(k, 0):8.1f}/{ALGBW_GB_PER_S.get(k, 0):6.1f} |" for k in keys)
            yield f"{name:>13} |" + "".join(cells)
